"""What a user's mistake gets: the class of the error, and the words that say what was given, expected and to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

from ..strict_arrays import strict

X = np.arange(3.0)


def opaque(x: Any) -> Any:
    return np.asarray([float(v) ** 2 for v in x]), ct.scale(2 * np.asarray(x))


CASES: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "spaces that do not meet": (
        lambda: (ct.exp >> ct.sin >> ct.reshape((2, 2)) >> ct.sum())(X),
        ct.SpaceError,
        ["cannot reshape to (2, 2)", "given:    ct.f64[3]", "where:    ct.sin >> ct.reshape((2, 2))"],
    ),
    "spaces that are known to differ": (
        lambda: ct.lift(ct.scale(X)) >> ct.lift(ct.scale(np.ones(4))),
        ct.SpaceError,
        ["spaces do not meet", "gives ct.f64[3]", "takes ct.f64[4]"],
    ),
    "the boxes that meet, not the whole": (
        lambda: ct.compose(*[ct.sin] * 500, ct.matmul, *[ct.cos] * 500)(X),
        ct.SpaceError,
        ["where:    ct.sin >> ct.matmul"],
    ),
    "@ on morphisms": (lambda: ct.sin @ ct.cos, ct.SpaceError, ["f << g or g >> f", "ct.fork(f, g) >> ct.matmul"]),
    "@ of a linear map and a morphism": (lambda: ct.scale(X) @ ct.sin, ct.SpaceError, ["not defined on morphisms"]),
    "& binds looser": (
        lambda: (ct.sin & ct.cos >> ct.mul)(X),
        ct.SpaceError,
        ["`f & g >> h` means `f & (g >> h)`", "(f & g) >> h or ct.fork(f, g) >> h"],
    ),
    "& binds looser, with the identity": (
        lambda: (ct.id & ct.id >> ct.exl)(X),
        ct.SpaceError,
        ["`f & g >> h` means `f & (g >> h)`"],
    ),
    "two array libraries": (
        lambda: ct.add(strict.asarray(X), X),
        ct.DeviceError,
        ["leaf 0 is a cupy array, leaf 1 a numpy array", "cupy.asarray(x)"],
    ),
    "two array libraries in a tangent": (
        lambda: ct.jvp(ct.sin, (strict.asarray(X),), (X,)),
        ct.DeviceError,
        ["leaf 0 is a cupy array, leaf 1 a numpy array"],
    ),
    "two array libraries in a pullback": (
        lambda: ct.vjp(ct.sin, strict.asarray(X))[1](X),
        ct.DeviceError,
        ["two array libraries"],
    ),
    "too many arguments": (lambda: ct.sin(X, X), ct.SpaceError, ["wrong number of arguments: 1 expected", "ct.sin"]),
    "too few arguments": (lambda: ct.mul(X), ct.SpaceError, ["takes 2 parameters", "ct.fork(f, g)"]),
    "no argument": (lambda: ct.sin(), ct.SpaceError, ["a morphism is applied to a point"]),
    "not a morphism": (lambda: ct.sin >> 3, ct.SpaceError, ["given:    3 of type int", "ct.const(v)"]),
    "a number on the right": (lambda: ct.sin * 2.0, ct.SpaceError, ["write the number on the left, 2.0 * f"]),
    "a truth value as a factor": (lambda: True * ct.sin, ct.SpaceError, ["a real number on the left", "type bool"]),
    "an array as a factor": (lambda: X * ct.sin, ct.SpaceError, ["a real number on the left", "ct.fork(f, ct.const(a))"]),
    "a list": (lambda: ct.sin([1.0]), ct.SpaceError, ["given:    [1.0] of type list", "np.asarray(x)"]),
    "complex numbers": (lambda: ct.softmax()(np.array([1j])), ct.SpaceError, ["takes real arrays", "z.real and z.imag"]),
    "shapes that do not broadcast": (
        lambda: ct.add(np.zeros(3), np.zeros(4)),
        ct.SpaceError,
        ["do not broadcast", "(ct.f64[3], ct.f64[4])", "ct.add"],
    ),
    "an operator that is not closed": (
        lambda: ct.fold(lambda a, b: (a, b), 0.0),
        ct.MonoidError,
        ["not closed on its element", "gives (a number, a number)"],
    ),
    "an operator of another dtype": (
        lambda: ct.scan(lambda a, b: a > b, 0.0)(X),
        ct.MonoidError,
        ["not closed on its element", "gives dtypes bool", "expected: an element float64"],
    ),
    "a wrong neutral element": (
        lambda: ct.fold(lambda a, b: a * b, 0.0)(X + 1),
        ct.MonoidError,
        ["op(0.0, x) = 0.0 at x = 1.0", "e with op(e, x) = x = op(x, e)"],
    ),
    "a wrong neutral element of +": (lambda: ct.scan(lambda a, b: b + a, 1.0), ct.MonoidError, ["neutral element is wrong"]),
    "a wrong neutral element of max": (
        lambda: ct.scan(lambda a, b: max(a, b), 0.0)(-X - 1),
        ct.MonoidError,
        ["op(0.0, x) = 0.0 at x = -1.0"],
    ),
    "a wrong neutral element of affine maps": (
        lambda: ct.scan(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (0.0, 0.0))(X + 1, X + 1),
        ct.MonoidError,
        ["op((0.0, 0.0), x) ="],
    ),
    "an operator that is not associative": (
        lambda: ct.fold(lambda a, b: a + b - 0.5 * a * b * b, 0.0)(X + 1),
        ct.MonoidError,
        ["not associative", "a = 1.0, b = "],
    ),
    "a neutral element that is no number": (lambda: ct.fold(lambda a, b: a, "e"), ct.MonoidError, ["of type str"]),
    "elements nested otherwise": (
        lambda: ct.scan(lambda f, g: (f[0] + g[0], f[1] + g[1]), (0.0, 0.0))(X),
        ct.SpaceError,
        ["not nested as the neutral element is", "(0.0, 0.0)"],
    ),
    "grad of a non-scalar": (
        lambda: ct.grad(ct.sin)(X),
        ct.DerivativeError,
        ["given:    ct.f64[3]", "f >> ct.sum()", "ct.jacobian or ct.vjp"],
    ),
    "grad of integers": (
        lambda: ct.grad(ct.sum())(np.arange(3)),
        ct.DerivativeError,
        ["nothing to differentiate", "ct.i64[3]"],
    ),
    "jacobian of integers": (lambda: ct.jacobian(ct.sum())(np.arange(3)), ct.DerivativeError, ["nothing to differentiate"]),
    "grad with respect to an integer factor": (
        lambda: ct.grad(ct.gather >> ct.sum(), argnums=1)(X, np.array([0])),
        ct.DerivativeError,
        ["nothing to differentiate", "ct.i64[1]"],
    ),
    "argnums too large": (lambda: ct.grad(ct.mul, argnums=3)(1.0, 2.0), ct.DerivativeError, ["argnums names factor 3"]),
    "a tangent of another shape": (
        lambda: ct.jvp(ct.sin, (X,), (np.zeros(4),)),
        ct.SpaceError,
        ["the tangent does not lie", "given:    ct.f64[4]", "expected: ct.f64[3]"],
    ),
    "a tangent of another dtype": (
        lambda: ct.jvp(ct.sin, (X,), (np.zeros(3, np.float32),)),
        ct.SpaceError,
        ["given:    ct.f32[3]", "match shape and dtype"],
    ),
    "a cotangent of another shape": (lambda: ct.vjp(ct.sum(), X)[1](X), ct.SpaceError, ["the cotangent", "ct.f64[()]"]),
    "a second derivative of opaque code": (
        lambda: ct.hessian(ct.D(opaque) >> ct.sum())(X),
        ct.DerivativeError,
        ["could not be traced", "write it with operations of catad"],
    ),
    "a morphism by hand that returns no pair": (lambda: ct.D(lambda x: x * x)(X), ct.SpaceError, ["a pair (y, linear map)"]),
    "a morphism by hand with a wrong map": (
        lambda: ct.D(lambda x: (x * x, ct.scale(np.ones(7))))(X),
        ct.SpaceError,
        ["does not fit its value", "ct.f64[3]"],
    ),
    "ct.D of no function": (lambda: ct.D(3), ct.ArgumentError, ["ct.D(lambda x: (x * x, ct.scale(2 * x)))"]),
    "an index out of range": (
        lambda: ct.gather(X, np.array([4, 0, 3])),
        ct.IndexRangeError,
        ["indices from 3 to 4", "0 <= index < 3", "do not wrap"],
    ),
    "a negative index": (lambda: ct.gather(X, np.array([-1])), ct.IndexRangeError, ["index -1"]),
    "indices that are floats": (lambda: ct.gather(X, X), ct.SpaceError, ["indices are integers", "ct.f64[3]"]),
    "bins that are floats": (lambda: ct.histogram(ct.mul, 1.0, 3)(X, X), ct.SpaceError, ["indices are integers"]),
    "a negative number of bins": (lambda: ct.histogram(ct.mul, 1.0, -1), ct.ArgumentError, ["given:    -1"]),
    "indices that do not fit the values": (
        lambda: ct.histogram(ct.mul, 1.0, 3)(np.array([0, 1]), X),
        ct.SpaceError,
        ["one index for each value"],
    ),
    "a dense matrix above the limit": (
        lambda: ct.jacobian(ct.sin)(np.zeros(10_000)).todense(),
        ct.DenseLimitError,
        ["10,000 x 10,000 = 100,000,000 numbers, 0.75 GiB", "todense(force=True)"],
    ),
    "a linear map outside its domain": (lambda: ct.scale(X)(np.ones(4)), ct.SpaceError, ["given:    ct.f64[4]", "diagonal"]),
    "a sum of maps between other spaces": (lambda: ct.scale(X) + ct.scale(np.ones(4)), ct.SpaceError, ["different spaces"]),
    "linear maps that do not meet": (lambda: ct.scale(X) >> ct.scale(np.ones(4)), ct.SpaceError, ["spaces do not meet"]),
    "a train of something else": (lambda: ct.compForward("J"), ct.SpaceError, ["a ct.LinearMap, a 2-D", "type str"]),
    "an unknown mode": (lambda: ct.jacobian(ct.sin, "sideways"), ct.PlanError, ["sideways", "forward"]),
    "an unknown engine": (lambda: ct.use_engine("abacus"), ct.EngineError, ["abacus", "reference"]),
    "an axis that is not there": (lambda: ct.sum(axis=2)(X), ct.SpaceError, ["no such axis: 2", "ct.f64[3]"]),
    "subscripts that do not fit": (lambda: ct.einsum("ij->i")(X), ct.SpaceError, ["2 labels for an array with 1 axes"]),
    "matrices that do not meet": (
        lambda: ct.matmul(np.ones((2, 3)), np.ones((2, 3))),
        ct.SpaceError,
        ["ct.f64[2, 3] @ ct.f64[2, 3]"],
    ),
    "a projection that is not there": (lambda: ct.proj(5)(1.0, 2.0), ct.SpaceError, ["there is no factor 5"]),
    "a batch of unequal lengths": (
        lambda: ct.map(ct.einsum("i,i->"))(np.ones((2, 3)), np.ones((3, 3))),
        ct.SpaceError,
        ["one leading axis that all leaves have"],
    ),
    "flags of another length": (
        lambda: ct.segmented_scan(ct.mul, 1.0)(np.array([True, False]), X),
        ct.SpaceError,
        ["one flag for each element", "flags ct.bool_[2], values ct.f64[3]"],
    ),
    "flags that are floats": (
        lambda: ct.segmented_scan(ct.mul, 1.0)(X, X),
        ct.SpaceError,
        ["flags are one array of booleans"],
    ),
    "a fold by flags without the number of segments": (
        lambda: ct.segmented_fold(ct.mul, 1.0),
        ct.ArgumentError,
        ["needs the number of segments", 'by="lengths"'],
    ),
    "another number of segments": (
        lambda: ct.segmented_fold(ct.mul, 1.0, segments=3)(np.array([True, False, True]), X),
        ct.ArgumentError,
        ["the flags start 2 segments", "given:    segments=3"],
    ),
    "a negative length": (
        lambda: ct.segmented_fold(ct.mul, 1.0, by="lengths")(np.array([4, -1]), X),
        ct.ArgumentError,
        ["a length of at least 0", "given:    length -1"],
    ),
    "lengths that do not add up": (
        lambda: ct.segmented_scan(ct.mul, 1.0, by="lengths")(np.array([1, 1]), X),
        ct.ArgumentError,
        ["do not add up", "lengths with the sum 2", "expected: the sum 3"],
    ),
    "a sort along no axis": (lambda: ct.sort(1)(X), ct.SpaceError, ["no such axis: 1", "ct.f64[3]"]),
    "a sort of a pair": (lambda: ct.sort()(X, X), ct.SpaceError, ["one array is expected, not a product"]),
    "a stencil with too few parameters": (
        lambda: ct.stencil(ct.mul, (-1, 0, 1)),
        ct.SpaceError,
        ["takes 2 parameters", "3 offsets", "one parameter for each offset"],
    ),
    "a boundary that is not there": (lambda: ct.stencil(ct.mul, (0, 1), "edge"), ct.ArgumentError, ["'edge'", "'reflect'"]),
    "an offset beyond the reflection": (
        lambda: ct.stencil(ct.mul, (0, 3), "reflect")(X),
        ct.SpaceError,
        ["offset 3 reaches beyond the reflection", "given:    ct.f64[3]", 'boundary="wrap"'],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    call, kind, words = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert isinstance(caught.value, ct.CatadError)


def test_an_unreadable_function_points_at_its_place() -> None:
    with pytest.raises(ct.ScalarError) as caught:
        ct.map(lambda a: [a for _ in range(3)])
    message = str(caught.value)
    assert "test_errors.py:" in message and "a comprehension" in message and "write a for loop over range" in message


def test_nothing_is_half_done() -> None:
    """A call that failed leaves the morphism usable, and inputs as they were."""
    f = ct.sin >> ct.reshape((2, 2))
    x = np.arange(3.0)
    with pytest.raises(ct.SpaceError):
        f(x)
    assert np.array_equal(x, [0, 1, 2])
    assert f(np.zeros(4)).shape == (2, 2)
    product = ct.fold(lambda a, b: a * b, 1.0)
    with pytest.raises(ct.MonoidError):
        ct.fold(lambda a, b: a * b, 0.0)(x)
    assert product(x + 1) == 6.0


def test_arrays_that_cannot_be_joined_name_the_constructor() -> None:
    for make in (ct.concatenate, ct.stack):
        with pytest.raises(ct.SpaceError, match="where all other sizes are equal") as caught:
            make(axis=0)(np.ones((2, 3)), np.ones((2, 2)))
        assert "given:    (ct.f64[2, 3], ct.f64[2, 2])\n" in str(caught.value)
        assert f"where:    ct.{make.__name__}(" in str(caught.value), str(caught.value)
