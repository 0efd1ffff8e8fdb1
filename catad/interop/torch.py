"""Morphisms as functions of PyTorch, whose gradients autograd asks of catad.

PyTorch is imported when `as_function` is called. Tensors on a GPU need CuPy as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from catad import errors
from catad.category.terms import MorphismLike, morphism
from catad.engine import choice
from catad.interop.trees import Apart, gradients, library, real_result
from catad.jacobians.at_point import vjp
from catad.values.device_views import shown


def as_function(f: MorphismLike) -> Callable[..., Any]:
    """A function of PyTorch tensors that runs a morphism, or a Python function that `ct.function` can read.

    Arguments and results have the trees of f, with tensors for arrays. All tensors of a call lie on one device: those of the
    CPU run as arrays of NumPy, those of a GPU as arrays of CuPy, on PyTorch's current stream. Their memory is shared, not
    copied. `loss.backward()` and `torch.autograd.grad` call the pullback of f, on the engine that was in force when f was called.
    Second derivatives are not recorded, so `create_graph=True` raises `DerivativeError`; `as_function(ct.grad(f))` is the first
    derivative as a function. Integer tensors have no gradient, and dtypes are those of f.

    Raises `EngineError` where PyTorch, or CuPy for tensors on a GPU, is missing, `DeviceError` for tensors of several devices,
    and `SpaceError` for an argument that is no morphism, for tensors that are sparse, quantized, complex or of other dtypes, and
    for complex results. `torch.compile` takes the function as `torch.compiler.disable(g)`.

    >>> import catad as ct, catad.torch
    >>> g = catad.torch.as_function(ct.square >> ct.sum())  # doctest: +SKIP
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)  # doctest: +SKIP
    >>> g(x).backward(); x.grad  # doctest: +SKIP
    tensor([2., 4.])
    """
    torch = library("torch", "catad.torch.as_function", "torch")
    term = morphism(f, "catad.torch.as_function")
    function = _function(torch, term)

    def call(*args: Any) -> Any:
        given, made = Apart(args), list[Apart]()
        leaves = function.apply(given, made, *given.leaves)
        return made[0].filled(leaves)[0]

    return call


def _function(torch: Any, term: Any) -> Any:
    """A subclass of `torch.autograd.Function`; results are taken apart into the list `made`."""

    class Morphism(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, given: Apart, made: list[Apart], *leaves: Any) -> tuple[Any, ...]:
            ctx.engine = choice.in_force()  # PyTorch may call `backward` in a thread of its own
            with _beside(torch, leaves):
                args = given.filled([_array(torch, leaf) for leaf in leaves])
                y, ctx.pullback = vjp(term, *args) if any(ctx.needs_input_grad) else (term(*args), None)
            made.append(real_result(y))
            outs = [_tensor(torch, leaf) for leaf in made[0].leaves]
            ctx.mark_non_differentiable(*[out for out in outs if not out.is_floating_point()])
            ctx.made, ctx.floats = made[0], [_is_float(leaf) for leaf in leaves]
            ctx.of_result = [out.is_floating_point() for out in outs]
            return tuple(outs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            if torch.is_grad_enabled():  # what is asked for would be taken as a constant
                raise errors.DerivativeError(errors.second_derivative_in_torch(term))
            with choice.use_engine(*ctx.engine), _beside(torch, cotangents):
                pairs = zip(cotangents, ctx.of_result, strict=True)
                given = [_array(torch, v.contiguous()) if is_float else () for v, is_float in pairs]
                found = gradients(ctx.floats, ctx.floats, ctx.pullback(ctx.made.filled(given)[0]))
                moved = [_tensor(torch, v) if asked else None for v, asked in zip(found, ctx.needs_input_grad[2:], strict=True)]
            return None, None, *moved

    return Morphism


def _is_float(leaf: Any) -> bool:
    """True where a leaf has a cotangent; a Python number is one that nobody differentiates by, but the pullback may."""
    return isinstance(leaf, float) or bool(getattr(getattr(leaf, "dtype", None), "is_floating_point", False))


def _array(torch: Any, leaf: Any) -> Any:
    """The numbers of a tensor, in its memory."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if getattr(leaf.dtype, "is_complex", False):
        raise errors.SpaceError(errors.no_plain_array(leaf, "complex numbers"))
    leaf = leaf.detach()
    try:
        found = leaf.resolve_conj().resolve_neg().numpy() if leaf.device.type == "cpu" else shown(leaf)
    except (TypeError, RuntimeError) as error:  # sparse, quantized, of a dtype that NumPy lacks
        raise errors.SpaceError(errors.no_plain_array(leaf, error)) from None
    if found is None:
        raise errors.SpaceError(errors.no_plain_array(leaf, f"a tensor on {leaf.device}"))
    return found


def _tensor(torch: Any, leaf: Any) -> Any:
    """An array as a tensor in its memory, or of a copy: PyTorch has no negative strides, and may write into what it gets."""
    if hasattr(leaf, "__cuda_array_interface__"):
        return torch.from_dlpack(leaf)
    array = np.asarray(leaf)
    return torch.from_numpy(array if array.flags.writeable and array.flags.forc else array.copy())


@contextmanager
def _beside(torch: Any, leaves: Sequence[Any]) -> Iterator[None]:
    """CuPy on the device and the stream of PyTorch. Raises `DeviceError` for tensors of several devices."""
    devices = list(dict.fromkeys([leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)]))
    if len(devices) > 1:
        raise errors.DeviceError(errors.tensors_apart(devices))
    if not devices or devices[0].type != "cuda":
        yield
        return
    cupy = library("cupy", "a tensor on a GPU", '"catad[cuda12]"')
    stream, number = torch.cuda.current_stream(devices[0]).cuda_stream, devices[0].index
    with cupy.cuda.Device(number), cupy.cuda.ExternalStream(stream, number):
        yield
