"""`sweep`: the general loop, with a state, values that every step reads, and inputs and outputs at each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cartesian import exl, exr, fork, it
from catad.category.constructors import constructor, integer
from catad.category.spaces import Product, flatten, rebuild
from catad.category.terms import D, MorphismLike, morphism
from catad.category.text import call
from catad.category.wiring import at_point, share
from catad.support.options import truth_value
from catad.vector.loops.batching import element_of, first_step, with_inputs
from catad.vector.loops.hoisting import looped
from catad.vector.loops.progress import counted

if TYPE_CHECKING:
    from catad.category.wiring import Builder


@share
@of_fields
class Swept(D):
    """`ct.sweep(...)`."""

    f: D
    n: int
    reverse: bool
    progress: bool = False

    def lay_out(self, b: Builder, x: Any) -> Any:
        state, given, inputs = with_inputs(b, x, "(state, given, inputs)", self.n, self)
        f, space = self.f, b.space(state)
        dom = Product((space, b.space(given), element_of(b.space(inputs))))
        with at_point(dom, lambda: first_step(b, flatten((state, given)), flatten(inputs))):
            made = f.spaces(dom)
            if not isinstance(made, Product) or len(made.factors) != 2:
                raise errors.SpaceError(errors.step_gives_no_pair(made, f))
            if made.factors[0] != space:
                raise errors.SpaceError(errors.loop_changes_space(space, made.factors[0], f))
            if self.progress:
                return counted(b, x, "sweep", f, dom, space, self.n, lambda g: replace(self, f=g, progress=False))
            body, wires = fork(f >> exl, it, f >> exr), (flatten(state), flatten(given), flatten(inputs))
            end, _, outputs = looped(b, body, self.n, wires, self.reverse, dom)
        return rebuild(space, end), rebuild(made.factors[1], outputs)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return call(sweep, name, part(self.f), n=self.n, reverse=self.reverse, progress=self.progress)


@constructor(morphisms="f")
def sweep(f: MorphismLike, n: int, reverse: bool = False, progress: bool = False) -> D:
    """The loop of n steps of `f : (state, given, input) -> (state, output)`, `(state, given, inputs) -> (state, outputs)`.

    The state goes from step to step. `given` is what every step reads, such as weights: the derivative keeps it once, and adds up
    what the steps give it. Inputs and outputs are products whose arrays have one leading axis of length n, for the steps. Each of
    the parts may be `()`. With `reverse=True` the last input comes first; an output stays beside its input. Differentiates to
    any order. Without steps the state is returned as it is, with outputs of length 0. With `progress=True` a bar counts the steps
    (`ct.progress`). Raises `SpaceError` where f changes the space of the state or gives no pair, and for inputs that are not n.
    Raises `ArgumentError` where n is no such integer.

    >>> import catad as ct, numpy as np
    >>> decay = ct.map(lambda s, k, u: (k * s + u, s))
    >>> ct.sweep(decay, 3)(1.0, 0.5, np.array([0.0, 1.0, 2.0]))
    (np.float64(2.625), array([1.  , 0.5 , 1.25]))
    >>> ct.grad(ct.sweep(decay, 3) >> ct.exl)(1.0, 0.5, np.zeros(3))
    (np.float64(0.125), np.float64(0.75), array([0.25, 0.5 , 1.  ]))
    """
    reverse, progress = truth_value(reverse, "reverse"), truth_value(progress, "progress")
    return Swept(morphism(f, "ct.sweep"), integer(n, "a number of steps", 0), reverse, progress)
