"""Pullbacks: the transposed derivative at a point, as a function of cotangents."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from catad import errors
from catad.category.spaces import Product, Result, Space, Tensor, Value, flatten, rebuild, tangent_space
from catad.category.terms import D
from catad.derivative.functors import ReverseDifferential
from catad.engine.program import run_structure
from catad.errors.traceback_filtering import boundary
from catad.front.calling import applied, stripped
from catad.jacobians.tangents import tangent_leaves
from catad.linear.structure import Structure
from catad.planner.many_cotangents import pulled_back
from catad.planner.reports.of_pullback import bytes_of, pullback_page
from catad.traced.signature import Form, tangent_tree
from catad.values.arrays import common_module, in_blocks
from catad.values.dask_collection import HoldsArrays
from catad.values.trees import Tree

if TYPE_CHECKING:
    from catad.chunks.parts import Parts
    from catad.front.calling import Point
    from catad.jacobians.residuals import Residuals


class Trees(NamedTuple):
    """The form of the primals, and the tree of the result, None where it is arrays in tuples."""

    form: Form
    result: Tree | None

    def plain(self, cotangent: Any) -> Any:
        """A cotangent in the tree of the result as arrays in tuples."""
        return cotangent if self.result is None else stripped(self.result, cotangent, "cotangent")

    def of_primals(self, whole: Any, dom: Space, many: bool) -> tuple[Any, ...]:
        """The cotangents of the primals, each in the tree of its primal; what is static stays."""
        form = self.form
        if not many and len(form.trees) != 1:
            return (tangent_tree(form.tree, dom).restore(whole),)
        where = form.dynamic
        spaces = (dom,) if len(where) == 1 else dom.factors  # type: ignore[attr-defined]
        parts = (whole,) if len(where) == 1 else whole
        made = [tree.restore(()) if tree.is_static else None for tree in form.trees]
        for k, space, part in zip(where, spaces, parts, strict=True):
            made[k] = tangent_tree(form.trees[k], space).restore(part)
        return tuple(made)


class Pullback(HoldsArrays):
    """A pullback at a point: a cotangent of the result to the cotangents of the primals, as a tuple.

    `arrays` are what it keeps: the slots of the structure, or what the residuals say. `parts` are those of primals in chunks.
    """

    __slots__ = ("arrays", "cod", "dom", "many_primals", "parts", "residuals", "structure", "trees", "xp")

    def __init__(
        self,
        structure: Structure,
        arrays: tuple[Any, ...],
        dom: Space,
        cod: Space,
        xp: Any,
        many: bool,
        trees: Trees | None = None,
        residuals: Residuals | None = None,
        parts: tuple[Parts, ...] = (),
    ) -> None:
        self.structure, self.arrays, self.dom, self.cod, self.xp = structure, arrays, dom, cod, xp
        self.many_primals, self.trees, self.residuals, self.parts = many, trees, residuals, parts

    @property
    def slots(self) -> tuple[Any, ...]:
        """The coefficients that fill the structure."""
        return self.arrays if self.residuals is None else tuple(self.residuals.slots(self.xp, self.arrays))

    def _of_primals(self, out: Any) -> tuple[Result, ...]:
        whole = rebuild(self.dom, [next(out) if leaf.is_float else () for leaf in self.dom.leaves])
        if self.trees is not None:
            return self.trees.of_primals(whole, self.dom, self.many_primals)
        return whole if self.many_primals else (whole,)

    @boundary
    def __call__(self, cotangent: Value) -> tuple[Result, ...]:
        if self.trees is not None:
            cotangent = self.trees.plain(cotangent)
        leaves = tangent_leaves(cotangent, self.cod, self.xp, "cotangent")
        common_module([*self.arrays, *leaves])
        with self.xp.cut_as(self.parts) if self.parts else nullcontext():
            if self.residuals is None:
                return self._of_primals(iter(run_structure(self.structure, self.xp, self.arrays, leaves)))
            return self._of_primals(iter(self.residuals.pulled(self.xp, self.arrays, leaves)))

    def many(self, cotangents: Value) -> tuple[Result, ...]:
        """Many cotangents at once: each leaf has one more axis, the first, and so have the results.

        They are pulled back together, or factors are multiplied first, as the plan for so many cotangents says.

        >>> import catad as ct, numpy as np
        >>> y, pullback = ct.vjp(ct.square, np.array([1.0, 2.0]))
        >>> pullback.many(np.eye(2))
        (array([[2., 0.],
               [0., 4.]]),)
        """
        if self.trees is not None:
            cotangents = self.trees.plain(cotangents)
        first = next((leaf for leaf in flatten(cotangents) if getattr(leaf, "ndim", 0)), None)
        count = -1 if first is None else first.shape[0]
        wide = rebuild(self.cod, [Tensor((max(count, 0), *s.shape), s.dtype) for s in self.cod.leaves], Product)
        leaves = tangent_leaves(cotangents, wide, self.xp, "cotangents, one for each index of a first axis")
        slots = self.slots
        common_module([*slots, *leaves])
        return self._of_primals(iter(pulled_back(self.structure.T, self.xp, slots, leaves, count)))

    def persist(self) -> Pullback:
        """The pullback with what it keeps in chunks held in memory, or on the workers, as by `dask.persist`.

        Without it each result that is computed computes these arrays, too. A pullback of other arrays is returned as it is.

        >>> import catad as ct, numpy as np
        >>> y, pullback = ct.vjp(ct.sin, ct.testing.in_chunks(np.zeros(5), 2))
        >>> pullback.persist()(np.ones(5))[0].numpy()
        array([1., 1., 1., 1., 1.])
        """
        if not in_blocks(self.xp):
            return self
        return self._holding(self.xp.persisted(self.arrays))

    def _held(self) -> Sequence[Any]:
        return self.arrays

    def _holding(self, arrays: Sequence[Any]) -> Pullback:
        own = self.many_primals, self.trees, self.residuals, self.parts
        return Pullback(self.structure, tuple(arrays), self.dom, self.cod, self.xp, *own)

    def __reduce__(self) -> tuple[Any, ...]:
        xp = self.xp if in_blocks(self.xp) else self.xp.__name__  # modules are not pickled
        return _unpickled, (self.structure, self.slots, self.dom, self.cod, xp, self.many_primals, self.trees, None, self.parts)

    def __repr__(self) -> str:
        kept = f"{bytes_of(self.arrays):,} bytes"
        return f"<pullback {tangent_space(self.cod)} -> {tangent_space(self.dom)}: {self.structure.kind}, keeps {kept}>"

    def _repr_html_(self) -> str:
        factors = self.dom.factors if self.many_primals and isinstance(self.dom, Product) else (self.dom,)
        return pullback_page(self.structure, self.arrays, self.cod, factors, self.residuals is not None)


def _unpickled(structure: Structure, slots: tuple[Any, ...], dom: Space, cod: Space, xp: Any, *rest: Any) -> Pullback:
    return Pullback(structure, slots, dom, cod, importlib.import_module(xp) if isinstance(xp, str) else xp, *rest)


class TracedPullback:
    """A pullback inside a traced function: each call is a line of its program."""

    __slots__ = ("at", "many_primals", "term", "trees")

    def __init__(self, term: D, at: Point, trees: Trees | None, many: bool) -> None:
        self.term, self.at, self.trees, self.many_primals = term, at, trees, many

    @boundary
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        w = cotangent if self.trees is None else self.trees.plain(cotangent)
        whole = applied(ReverseDifferential(self.term), (self.at.value, w))
        if self.trees is not None:
            return self.trees.of_primals(whole, self.at.dom, self.many_primals)
        return whole if self.many_primals else (whole,)

    def many(self, cotangents: Any) -> tuple[Any, ...]:
        """Many cotangents at once are not traced."""
        raise errors.TraceError(errors.no_linear_map("pullback.many", "ct.vmap(pullback)"))
