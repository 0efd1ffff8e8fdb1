"""Functions inside terms: what a term becomes for the trees of its arguments.

A term *speaks trees* where Python functions (`ct.function`) in it see its arguments, or give its result: the function itself,
the factors of a chain, the children of a fork, what is differentiated, the body of a loop. `front_of` finds out once for each
term. `specialised` puts programs in the places of such functions, for one form of the arguments and one space, and says in which
tree the result comes. It is open: a rule for another class of terms is a function registered with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

from catad import errors
from catad.category.cartesian import Proj, Structural, compose, cross
from catad.category.constant import Const
from catad.category.points import with_integers
from catad.category.spaces import Product, Space, Tensor, of_parts, rebuild
from catad.category.terms import Compose, Cross, D, Fork, Id
from catad.derivative.functors import Differential, ReverseDifferential, Tangent
from catad.derivative.grad import Factors, Gradient
from catad.front.complex_arrays import has_complex_result
from catad.traced.function import Function
from catad.traced.open_terms import Open
from catad.traced.programs.program import Program
from catad.traced.recorder import current_trace
from catad.traced.signature import Form, tangent_tree, tree_of_space
from catad.values.arrays import weak_dtypes
from catad.values.trees import Tree
from catad.vector.loops.batching import BatchedMap, element_of
from catad.vector.pointwise.map import MapOf
from catad.vector.pointwise.operators import Leafwise, astype

Specialised = tuple[D, "Tree | None"]


class Front(NamedTuple):
    """How a term takes trees: the function by whose signature its arguments are sorted, if there is one.

    `places` and `names` are those of static parameters.
    """

    function: Function | None
    places: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    call: Any = None  # the function that calls such a term
    functions: tuple[Function, ...] = ()  # all in the term that speak trees
    program: Program | None = None  # that takes the arguments
    trees: tuple[Any, ...] = ()  # of programs in the term, which compare equal without them

    def check(self) -> None:
        """Raise `TraceError` where what a function reads from outside has become something else."""
        trace = current_trace() if self.functions else None
        for function in self.functions:
            if not function.captured.is_same:
                function.captured.check()
            if trace is not None:
                trace.inner.add(function.captured)


@singledispatch
def specialised(term: D, form: Form, dom: Space) -> Specialised:
    """The term with programs in place of its functions, for arguments of a form in a space, and the tree of its result.

    The tree is None where nothing but the space of the result is known. A morphism of arrays takes Python's numbers with the
    dtypes of the arrays beside them.
    """
    if has_rule(type(term)):  # it has been loaded now
        return specialised(term, form, dom)
    if form.tree.has_complex:
        return _at_complex(term, form, dom)
    return _of_arrays(term, form.tree.leaves, dom), None


def _at_complex(term: D, form: Form, dom: Space) -> Specialised:
    from catad.front.complex_terms import at_complex  # late: few morphisms are given complex arrays

    return at_complex(term, form, dom)


def _of_arrays(term: D, trees: Sequence[Tree], dom: Space) -> D:
    given = [tree.said(0) if tree.kind == "number" else None for tree in trees]
    numbers = [number for number in given if number is not None]
    if not numbers or len(given) != len(dom.leaves):
        return term
    pairs = list(zip(given, dom.leaves, strict=True))
    dtypes = iter(weak_dtypes(numbers, [space.dtype for number, space in pairs if number is None]))
    leaves = [space if number is None else Tensor((), next(dtypes)) for number, space in pairs]
    taken, _ = with_integers(term, rebuild(dom, leaves, Product), given)
    casts = [Id() if old == new else astype(new.dtype) for old, new in zip(dom.leaves, taken.leaves, strict=True)]
    return term if taken == dom else compose(rebuild(dom, casts, lambda parts: cross(*parts)), term)


def front_of(term: D) -> Front | None:
    """How the term takes trees; None for a term in which no function speaks them. Kept with the term."""
    try:
        known: Front | None = term._front
    except AttributeError:
        pass
    else:
        return known
    stack = [term]
    while stack:
        top = stack[-1]
        parts = top.children if has_rule(type(top)) else ()
        missing = [part for part in parts if not hasattr(part, "_front")]
        if missing:
            stack += missing
        else:
            top._front = _front(top, parts)
            stack.pop()
    found: Front | None = term._front
    return found


_OTHER = specialised.dispatch(D)
_LOOPS = {"catad.simt.kernel", *[f"catad.vector.loops.{name}" for name in ("checkpoint", "choose", "loop", "sweep")]}


def has_rule(kind: type[D]) -> bool:
    """True for classes of terms that may have functions in them. Rules of loops and kernels are loaded where there are such."""
    if any(base.__module__ in _LOOPS for base in kind.__mro__):
        from catad.front import specialise_loops  # noqa: F401
    return specialised.dispatch(kind) is not _OTHER


def _front(term: D, parts: Sequence[D]) -> Front | None:
    from catad.front.calling import call_term

    if isinstance(term, Function):
        return _of_function(term)
    if term.takes_numbers or has_complex_result(term):
        return Front(None, call=call_term)
    if isinstance(term, Program):
        form, tree = term.notes.form, term.notes.result_tree
        plain = form is None or tree is None or (tree.is_plain and all(one.is_plain for one in form.trees))
        return None if plain else Front(None, call=call_term, program=term, trees=((form, tree),))
    found = [part._front for part in parts]
    if not any(found):
        return None
    leading = found[:1] if isinstance(term, Compose) else () if isinstance(term, OF_PAIRS) else found
    named = [front for front in leading if front is not None and (front.function is not None or front.program is not None)]
    first = named[0] if named else Front(None, call=call_term)
    if isinstance(term, OwnArguments):
        first = Front(None, call=call_term) if first.function is None else _of_function(term.takes(first.function))
    functions = tuple(dict.fromkeys([function for front in found if front is not None for function in front.functions]))
    trees = tuple([one for front in found if front is not None for one in front.trees])
    return first._replace(functions=functions, trees=trees)


def _of_function(function: Function) -> Front:
    from catad.front.calling import call_term

    names = list(function.signature.parameters)
    places = frozenset([k for k, name in enumerate(names) if name in function.static])
    return Front(function, places, frozenset(function.static), call_term, (function,))


class OwnArguments(D):
    """Base of terms with a function in them whose arguments are not those of the function."""

    def takes(self, function: Function) -> Function:
        """A function by whose signature the arguments are sorted; nobody calls it."""
        raise NotImplementedError


def function_of(term: D) -> Function | None:
    """The Python function by whose signature the arguments of a term are sorted, if there is one."""
    front = front_of(term)
    return None if front is None else front.function


def argument_names(term: D) -> list[str]:
    """The names of the arguments that a term takes by position, where it has those of a Python function."""
    function = function_of(term)
    parameters = [] if function is None else [*function.signature.parameters.values()]
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def is_of_plain_function(term: D) -> bool:
    """True where the arguments are those of a plain Python function, which stood where a morphism is expected."""
    function = function_of(term)
    return function is not None and function.is_plain


OF_PAIRS = (Cross, Tangent, Differential, ReverseDifferential)  # their arguments are not those of their parts


def form_at(term: D, dom: Space, tree: Tree | None = None) -> Form:
    """The form of the arguments of a term that is given a value of a space."""
    function = function_of(term)
    if function is not None:
        found: Form = function.form_at(dom, tree)
        return found
    return Form((tree_of_space(dom) if tree is None else tree,))


def at_space(term: D, dom: Space) -> D:
    """The term with programs in place of its functions, for arguments that are arrays in tuples."""
    front = front_of(term)
    if dom.has_complex:
        return specialised(term, form_at(term, dom), of_parts(dom))[0]
    return term if front is None or not front.functions else specialised(term, form_at(term, dom), dom)[0]


def _of_tree(term: D, tree: Tree | None, dom: Space) -> Specialised:
    """A part of a term, which is given a value of a space in this tree."""
    if front_of(term) is None:
        return specialised(term, Form((tree_of_space(dom) if tree is None else tree,)), dom)
    return specialised(term, form_at(term, dom, tree), dom)


@specialised.register
def _(term: Function, form: Form, dom: Space) -> Specialised:
    positional, named = term.sorted_arguments(form.args, dict(form.kwargs))
    for name, tree in (*positional, *named):
        if name in term.static and tree.kind != "static":
            raise errors.ArgumentError(errors.static_elsewhere(name, term.fn))
    own = Form(tuple([tree for _, tree in positional]), tuple(named))
    made = term.traced(dom, own)
    return made, made.tree if isinstance(made, Open) else made.notes.result_tree


@specialised.register
def _(term: Program, form: Form, dom: Space) -> Specialised:
    own = term.notes.form
    fits = own is not None and own.tree.of_arrays() == form.tree.of_arrays()
    return term, term.notes.result_tree if fits else None


# -- the cartesian category


@specialised.register
def _(term: Compose, form: Form, dom: Space) -> Specialised:
    factors = term.factors
    last = max([k for k, factor in enumerate(factors) if front_of(factor) is not None], default=-1)
    made: list[D] = []
    tree: Tree | None = None
    for k, factor in enumerate(factors):
        part, tree = specialised(factor, form, dom) if k == 0 else _of_tree(factor, tree, dom)
        made.append(part)
        if k + 1 == len(factors):
            break
        if tree is None and k >= last:
            return compose(*made, *factors[k + 1 :]), None
        try:
            dom = part.spaces(dom)
        except errors.CatadError:  # it is met again where the whole is laid out
            return compose(*made, *factors[k + 1 :]), None
    return compose(*made), tree


@specialised.register
def _(term: Fork, form: Form, dom: Space) -> Specialised:
    return _together(term, [(*specialised(part, form, dom), dom) for part in term.children])


@specialised.register
def _(term: Cross, form: Form, dom: Space) -> Specialised:
    tree = form.tree
    if not isinstance(dom, Product) or len(dom.factors) != len(term.children) or len(tree.parts) != len(term.children):
        return term, None
    pairs = zip(term.children, tree.parts, dom.factors, strict=True)
    return _together(term, [(*_of_tree(part, own, space), space) for part, own, space in pairs])


def _together(term: Fork | Cross, parts: Sequence[tuple[D, Tree | None, Space]]) -> Specialised:
    """A fork or a product of morphisms, with the tuple of the trees of their results."""
    made = type(term)(tuple([part for part, _, _ in parts]), term._place)
    try:
        trees = [tree_of_space(part.spaces(dom)) if tree is None else tree for part, tree, dom in parts]
    except errors.CatadError:
        return made, None
    return made, tuple_tree(trees)


def tuple_tree(parts: Sequence[Tree]) -> Tree:
    """The form of a tuple."""
    return Tree(tuple, tuple(range(len(parts))), tuple(parts))


@specialised.register
def _(term: Id, form: Form, dom: Space) -> Specialised:
    return term, form.tree


@specialised.register
def _(term: Structural, form: Form, dom: Space) -> Specialised:
    nested = _as_tuples(form.tree)
    try:
        return term, _as_tree(term.move(nested))
    except (TypeError, IndexError, KeyError):
        return term, None


@specialised.register
def _(term: Proj, form: Form, dom: Space) -> Specialised:
    tree = form.tree
    return term, tree.parts[term.index] if tree.kind is tuple and term.index < len(tree.parts) else None


def _as_tuples(tree: Tree) -> Any:
    """The tuples of a tree, with functions that give the other parts."""
    return tuple(map(_as_tuples, tree.parts)) if tree.kind is tuple else lambda: tree


def _as_tree(nested: Any) -> Tree:
    return tuple_tree([_as_tree(part) for part in nested]) if isinstance(nested, tuple) else nested()


@specialised.register
def _(term: Const, form: Form, dom: Space) -> Specialised:
    return term, tree_of_space(term.space) if term.space.has_complex or form.tree.has_complex else None


@specialised.register
def _(term: MapOf, form: Form, dom: Space) -> Specialised:
    if form.tree.has_complex or has_complex_result(term):
        return _at_complex(term, form, dom)
    return _of_arrays(term, form.tree.leaves, dom), None


@specialised.register
def _(term: Leafwise, form: Form, dom: Space) -> Specialised:
    tree = form.tree
    if tree.has_complex:
        return _at_complex(term, form, dom)
    if term.function.arity == 1:
        return term, tree
    return _of_arrays(term, tree.leaves, dom), tree.parts[0] if tree.kind is tuple and len(set(tree.parts)) == 1 else None


@specialised.register
def _(term: BatchedMap, form: Form, dom: Space) -> Specialised:
    if not all(leaf.ndim for leaf in dom.leaves):
        return term, None
    inner, tree = specialised(term.children[0], form, element_of(dom))
    return BatchedMap(inner), tree


# -- derivatives


@specialised.register
def _(term: Gradient, form: Form, dom: Space) -> Specialised:
    inner, _ = specialised(term.children[0], form, dom)
    if function_of(term) is None:
        return Gradient(inner, term.argnums), _picked(tangent_tree(form.tree, dom), term.argnums)
    factors = Product((dom,)) if len(form.dynamic) == 1 else dom
    of_factors = tangent_tree(tuple_tree([form.trees[k] for k in form.dynamic]), factors)
    trees = dict(zip(form.dynamic, of_factors.parts, strict=True))
    if term.argnums is None:
        return Gradient(inner, None), tangent_tree(form.tree, dom)
    places = argument_numbers(term.argnums, form, term)
    tree = tuple_tree([trees[k] for k in places]) if isinstance(term.argnums, tuple) else trees[places[0]]
    return Gradient(inner, factor_numbers(term.argnums, places, form)), tree


def _picked(tree: Tree, argnums: Factors) -> Tree | None:
    if argnums is None:
        return tree
    if not tree.parts:
        return tree if isinstance(argnums, int) else tuple_tree([tree for _ in argnums])
    n = len(tree.parts)
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    chosen = [tree if i is None else tree.parts[i] for i in numbers if i is None or -n <= i < n]
    if len(chosen) != len(numbers):
        return None  # the error is that of the layout
    return chosen[0] if isinstance(argnums, int) else tuple_tree(chosen)


def argument_numbers(argnums: int | tuple[int | None, ...], form: Form, term: D) -> list[int]:
    """The arguments that are meant, each by its position; they must have something to differentiate."""
    found = []
    for i in (argnums,) if isinstance(argnums, int) else [i for i in argnums if i is not None]:
        k = i + len(form.args) if i < 0 else i
        if not 0 <= k < len(form.args):
            raise errors.DerivativeError(errors.no_such_argument(i, form.args, term))
        if k not in form.dynamic:
            raise errors.DerivativeError(errors.static_argument(i, form.args[k], term))
        found.append(k)
    return found


def factor_numbers(argnums: int | tuple[int | None, ...], places: Sequence[int], form: Form) -> Factors:
    """The factors of the domain that some arguments are; None where the one argument is the domain."""
    dynamic = form.dynamic
    if isinstance(argnums, int):
        return None if len(dynamic) == 1 else dynamic.index(places[0])
    return tuple([None if len(dynamic) == 1 else dynamic.index(k) for k in places])


@specialised.register
def _(term: Tangent | Differential | ReverseDifferential, form: Form, dom: Space) -> Specialised:
    """A tangent functor: of a point and a tangent or cotangent."""
    if not isinstance(dom, Product) or len(dom.factors) != 2:
        return term, None
    f, space = term.children[0], dom.factors[0]
    tree = form.tree
    point = tree.parts[0] if len(tree.parts) == 2 else None
    inner, result = _of_tree(f, point, space) if form.inner is None else specialised(f, form.inner, space)
    made = type(term)(inner, term.by, term.of)
    if term.by is not None or term.of is not None:
        return made, None
    if isinstance(term, ReverseDifferential):
        return made, None if point is None else tangent_tree(point, space)
    if result is None:
        return made, None
    moved = tangent_tree(result, inner.spaces(space))
    return made, tuple_tree([result, moved]) if isinstance(term, Tangent) else moved
