"""What loops, other combinators and kernels become for the trees of their arguments: rules of `specialised`, which loads them."""

from __future__ import annotations

from dataclasses import replace

from catad import errors
from catad.category.spaces import Product, Space
from catad.category.terms import D
from catad.front.specialise import Specialised, specialised, tuple_tree
from catad.simt.kernel import Launch
from catad.simt.python_numbers import WIDE
from catad.traced.signature import Form
from catad.values.complex_numbers import ComplexPair
from catad.values.trees import LEAF, PAIR, Tree
from catad.vector.loops.batching import element_of
from catad.vector.loops.checkpoint import Checkpoint
from catad.vector.loops.choose import Chosen
from catad.vector.loops.loop import Iterate, WhileLoop
from catad.vector.loops.sweep import Swept


@specialised.register
def _(term: Launch, form: Form, dom: Space) -> Specialised:
    parts = form.tree.parts if form.tree.kind is tuple else (form.tree,)
    pairs = [name for name, tree in zip(term.passed, parts, strict=False) if tree.kind is ComplexPair]
    term = term.with_pairs(*pairs) if pairs else term
    numbers = [name for name, tree in zip(term.passed, form.tree.leaves, strict=False) if tree.kind == "number"]
    narrow = any(leaf.dtype not in WIDE for leaf in dom.leaves)
    made = term.with_numbers(*numbers) if narrow and numbers else term
    if not pairs:
        return made, None
    trees = [PAIR if "." in name else LEAF for name in made.results(dom.leaves) if not name.endswith(".imag")]
    return made, trees[0] if len(trees) == 1 else tuple_tree(trees)


@specialised.register
def _(term: Checkpoint, form: Form, dom: Space) -> Specialised:
    inner, tree = specialised(term.children[0], form, dom)
    return Checkpoint(inner), tree


@specialised.register
def _(term: Chosen, form: Form, dom: Space) -> Specialised:
    made = [specialised(part, form, dom) for part in term.children]
    first, second = made[1][1], made[2][1]
    if first is not None and second is not None and first.of_arrays() != second.of_arrays():
        raise errors.SpaceError(errors.trees_differ("the two sides of ct.choose", first, second))
    return Chosen(*[part for part, _ in made]), first


@specialised.register
def _(term: Iterate, form: Form, dom: Space) -> Specialised:
    f = term.children[0]
    state, space = form.tree, dom
    if term.inputs:
        if len(state.parts) != 2 or not isinstance(dom, Product) or len(dom.factors) != 2:
            return term, None
        if not all(leaf.ndim for leaf in dom.factors[1].leaves):
            return term, None
        state, space = state.parts[0], Product((dom.factors[0], element_of(dom.factors[1])))
    inner, tree = specialised(f, form, space)
    check_state(state, tree, f)
    return replace(term, f=inner), state


@specialised.register
def _(term: WhileLoop, form: Form, dom: Space) -> Specialised:
    condition, (f, tree) = term.children[0], specialised(term.children[1], form, dom)
    check_state(form.tree, tree, term.children[1])
    return replace(term, condition=specialised(condition, form, dom)[0], f=f), form.tree


@specialised.register
def _(term: Swept, form: Form, dom: Space) -> Specialised:
    tree = form.tree
    if not isinstance(dom, Product) or len(dom.factors) != 3 or len(tree.parts) != 3:
        return term, None
    state, given, inputs = dom.factors
    if not all(leaf.ndim for leaf in inputs.leaves):
        return term, None
    inner, result = specialised(term.children[0], form, Product((state, given, element_of(inputs))))
    if result is not None and len(result.parts) == 2:
        check_state(tree.parts[0], result.parts[0], term.children[0])
        result = tuple_tree([tree.parts[0], result.parts[1]])
    return replace(term, f=inner), result


def check_state(state: Tree, result: Tree | None, f: D) -> None:
    """A step must give the tree that it takes: else the next step would read other names."""
    if result is not None and result.of_arrays() != state.of_arrays():
        where = f"the state before and after a step of {errors.abbreviated(f)}"
        raise errors.SpaceError(errors.trees_differ(where, state, result))
