"""`vmap`: a function mapped over an axis of its arguments, by JAX's name. `ct.map` maps over the leading axis of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constructors import constructor
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D, MorphismLike, morphism
from catad.category.text import call
from catad.category.trip_counts import with_trip_counts
from catad.category.wiring import at_point, share, wire
from catad.front.closure_conversion import Given, closed, of_both
from catad.front.specialise import at_space, function_of, specialised, tuple_tree
from catad.linear.batch import depending, partly
from catad.linear.families.gather import spread_over
from catad.traced.signature import Form, tree_of_space
from catad.values.trees import Tree, entries_of, put_together
from catad.vector.loops.batching import BatchedMap, element_of
from catad.vector.shapes.axes import moveaxis

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


def axes_tree(axes: Any, what: str) -> Tree:
    """Axes as users give them: an integer, None, or trees of those."""
    if axes is None or (hasattr(axes, "__index__") and not isinstance(axes, bool)):
        return Tree("axis", None if axes is None else axes.__index__())
    entries = entries_of(axes)
    if entries is None:
        raise errors.ArgumentError(errors.not_axes(what, axes))
    return Tree(type(axes), entries[0], tuple([axes_tree(part, what) for part in entries[1]]))


def as_given(axes: Tree) -> Any:
    """Axes as users give them."""
    return axes.said if axes.kind == "axis" else put_together(axes.kind, axes.said, list(map(as_given, axes.parts)))


def of_leaves(axes: Tree, tree: Tree, what: str) -> Tree:
    """The axes of each leaf of a tree, nested as its plain form; one axis stands for all leaves below it."""
    if tree.kind in ("leaf", "number"):
        if axes.kind != "axis":
            raise errors.ArgumentError(errors.axes_do_not_fit(what, as_given(axes), tree))
        return axes
    if tree.kind == "static":
        return Tree(tuple, (), ())
    if axes.kind == "axis":
        parts = [of_leaves(axes, part, what) for part in tree.parts]
    elif axes.said != tree.said:
        raise errors.ArgumentError(errors.axes_do_not_fit(what, as_given(axes), tree))
    else:
        parts = [of_leaves(one, part, what) for one, part in zip(axes.parts, tree.parts, strict=True)]
    return tuple_tree(parts)


def _flat(axes: Tree) -> list[int | None]:
    return [axes.said] if axes.kind == "axis" else [k for part in axes.parts for k in _flat(part)]


def of_arguments(axes: Tree, form: Form) -> Tree:
    """The axes of the leaves of a domain; those of a tuple belong to the arguments by position, arguments by name have axis 0."""
    if axes.kind in (tuple, list) and len(axes.parts) != len(form.args):
        raise errors.ArgumentError(errors.axes_do_not_fit("in_axes", as_given(axes), form.args))
    first = Tree("axis", 0)
    own = [axes.parts[k] if axes.kind in (tuple, list) else axes for k in range(len(form.args))]
    own += [first] * len(form.kwargs)
    parts = [of_leaves(own[k], form.trees[k], "in_axes") for k in form.dynamic]
    return parts[0] if len(parts) == 1 else tuple_tree(parts)


@share
@of_fields
class Vmapped(D):
    """`ct.vmap(f, in_axes, out_axes)`."""

    drawn_as = "functor"
    f: D
    ins: Tree
    outs: Tree

    def lay_out(self, b: Builder, x: Wires) -> Any:
        dom, f = b.space(x), self.f
        settled = at_space(self, dom)
        if settled is not self:
            return (yield settled, x)
        ins, element, size = self._mapped(dom)
        leaves = [wire if k is None else b.apply(moveaxis(k, 0), wire) for wire, k in zip(flatten(x), ins, strict=True)]

        def laid_out() -> Any:
            with at_point(element, lambda: None):
                wiring = wire(f, element)
            flags = [k is not None for k in ins]
            outs, reached = partly(b, wiring, leaves, flags, size), depending(wiring, flags)
            mapped = [k in reached for k in wiring.outputs]
            axes = _flat(of_leaves(self.outs, tree_of_space(wiring.cod), "out_axes"))
            done = [self._placed(b, *one, size) for one in zip(outs, mapped, axes, strict=True)]
            return rebuild(wiring.cod, done)

        return with_trip_counts(laid_out)  # a while loop within is laid out in another way when it is mapped

    def _mapped(self, dom: Space) -> tuple[list[int | None], Space, int]:
        """The axis of each leaf, the space of one entry, and how many there are."""
        axes = self.ins.parts[0] if len(self.ins.parts) == 1 and not isinstance(dom, Product) else self.ins
        given = _flat(of_leaves(axes, tree_of_space(dom), "in_axes"))
        ins: list[int | None] = []
        sizes = set()
        element: list[Space] = []
        for leaf, k in zip(dom.leaves, given, strict=True):
            if k is not None and not -leaf.ndim <= k < leaf.ndim:
                raise errors.SpaceError(errors.no_axis_to_map(k, leaf, self))
            k = k + leaf.ndim if k is not None and k < 0 else k
            ins.append(k)
            sizes |= set() if k is None else {leaf.shape[k]}
            shape = leaf.shape if k is None else (*leaf.shape[:k], *leaf.shape[k + 1 :])
            element.append(Tensor(shape, leaf.dtype))
        if len(sizes) != 1:
            raise errors.SpaceError(errors.no_common_size(sorted(sizes), dom, self))
        return ins, rebuild(dom, element, Product), sizes.pop()

    def _placed(self, b: Builder, wire: Wire, mapped: bool, axis: int | None, size: int) -> Wire:
        """A result with its axis where it belongs."""
        if axis is None:
            if mapped:
                raise errors.SpaceError(errors.result_is_mapped(wire.space, self))
            return wire
        if not mapped:
            wire = spread_over(b, wire, size)
        if not -wire.ndim <= axis < wire.ndim:
            raise errors.SpaceError(errors.no_axis_to_map(axis, wire.space, self))
        placed: Wire = b.apply(moveaxis(0, axis), wire)
        return placed

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        axes = {"in_axes": as_given(self.ins), "out_axes": as_given(self.outs)}
        return call(vmap, name, part(self.f), **axes)


@specialised.register
def _(term: Vmapped, form: Form, dom: Space) -> tuple[D, Tree | None]:
    f = term.children[0]
    ins = term.ins if function_of(f) is None else of_arguments(term.ins, form)
    _, element, _ = Vmapped(f, ins, term.outs)._mapped(dom)
    inner, tree = specialised(f, form, element)
    outs = term.outs if tree is None else of_leaves(term.outs, tree, "out_axes")
    return Vmapped(inner, ins, outs), tree


@closed.register
def _(term: Vmapped, dom: Space, given: Given) -> D:
    _, element, _ = term._mapped(dom)
    ins = term.ins.parts[0] if len(term.ins.parts) == 1 and not isinstance(dom, Product) else term.ins
    return Vmapped(of_both(term.children[0], element, given), tuple_tree([Tree("axis", None), ins]), term.outs)


@closed.register
def _(term: BatchedMap, dom: Space, given: Given) -> D:
    axes = tuple_tree([Tree("axis", None), Tree("axis", 0)])
    return Vmapped(of_both(term.children[0], element_of(dom), given), axes, Tree("axis", 0))


@constructor(morphisms="f")
def vmap(f: MorphismLike, in_axes: Any = 0, out_axes: Any = 0) -> D:
    """A function or morphism mapped over an axis of its arguments: one program for all entries, without a loop.

    `in_axes` is the axis of each argument that is mapped over: an integer, from the end where negative, None for an argument that
    every entry reads, or a tuple with one of these for each argument, or a tree of them for an argument that is a tree. The
    mapped axes have one size, and their shapes lose it. `out_axes` says where the axis stands in the results, likewise; None for
    a result that depends on no mapped argument. Arguments by name are mapped over axis 0. Derivatives are those of the
    entries. With the defaults it is `ct.map(f)` of a morphism. Raises `SpaceError` for an argument that is no morphism and for
    arrays without the axis, `ArgumentError` for axes that do not fit the arguments.

    >>> import catad as ct, numpy as np
    >>> ct.vmap(lambda a, b: a @ b, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    >>> ct.vmap(lambda p, x: {"y": p["w"] * x}, in_axes=({"w": None}, 1), out_axes=1)({"w": 2.0}, np.ones((2, 3)))["y"].shape
    (2, 3)
    """
    term = morphism(f, "ct.vmap")
    ins, outs = axes_tree(in_axes, "in_axes"), axes_tree(out_axes, "out_axes")
    if ins == outs == Tree("axis", 0):
        return BatchedMap(term)
    return Vmapped(term, ins, outs)
