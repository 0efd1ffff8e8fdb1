"""The intermediate representation of scalar functions: a graph of hash-consed, immutable nodes.

A node is an operation, its arguments and a static value:

    param   value = index of the argument of the function (or of the loop body)
    const   value = a Python number (weak in the sense of NEP 50) or a NumPy scalar (typed)
    loop    args = initial states, then invariants; value = a `Loop`; only `proj` nodes refer to it
    proj    args = (loop,); value = which final state
    others  an operation of the table in `ops.py`; value is None but for `cast` (a dtype name), `polygamma` (its order)

Nodes with equal parts are one object, so `is` is equality and a shared subexpression is stored once. Branches are
`select` nodes whose meaning is lazy: an operand counts only where it is chosen. Every traversal here is iterative:
a chain of 100,000 nodes is fine.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from catad import errors
from catad.errors import ScalarError

if TYPE_CHECKING:
    from catad.scalar.reading.source import Source

Tree = Any
"""The nesting of leaves: `None` is a leaf, a tuple of trees is a tuple."""

Number = bool | int | float | np.generic
"""The values that a constant may hold."""


class Node:
    """One operation of a scalar function; made by `param`, `const` and `apply`, never directly.

    `kind` is what is known without knowing dtypes: "b" truth value, "i" integer, "f" float, "n" integer or float,
    "?" anything.
    """

    __slots__ = ("__weakref__", "args", "kind", "op", "value")

    op: str
    args: tuple[Node, ...]
    value: Any
    kind: str

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(errors.immutable("nodes", name))

    def __repr__(self) -> str:
        return show(self)

    def __reduce__(self) -> tuple[Callable[..., Node], tuple[Any, ...]]:
        return _unpickle_node, (flatten((self,)),)


_table: WeakValueDictionary[tuple[Hashable, ...], Node] = WeakValueDictionary()
_lock = threading.Lock()
_locals = count()


def _key(value: Any) -> Hashable:
    """A key under which equal constants, and only those, meet: -0.0 is not 0.0, 1 is not True, NaN is NaN."""
    if isinstance(value, np.generic):
        return (value.dtype.str, value.tobytes())
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    return (type(value).__name__, value)


def make_node(op: str, args: tuple[Node, ...], value: Any, kind: str) -> Node:
    """The node with these parts: the existing one if there is one. No simplification happens here."""
    key = (op, args, _key(value))
    with _lock:
        node = _table.get(key)
        if node is None:
            node = object.__new__(Node)
            for name, part in (("op", op), ("args", args), ("value", value), ("kind", kind)):
                object.__setattr__(node, name, part)
            _table[key] = node
    return node


@lru_cache(256, typed=True)
def param(index: int) -> Node:
    """The argument number `index` of the function.

    >>> param(0) is param(0)
    True
    """
    return make_node("param", (), index, "?")


def local() -> Node:
    """A fresh stand-in for a loop state while the loop's body is being read."""
    return make_node("local", (), next(_locals), "?")


def const(value: Any) -> Node:
    """A constant: a Python number is weak (it takes its dtype from what it meets), a NumPy scalar keeps its dtype.

    >>> const(0.0) is const(-0.0), const(1) is const(True), const(float("nan")) is const(float("nan"))
    (False, False, True)
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        if value.dtype.kind not in "biuf":
            raise ScalarError(errors.no_real_constant(value))
        value = bool(value) if value.dtype.kind == "b" else value
    if isinstance(value, bool):
        return make_node("const", (), value, "b")
    if isinstance(value, np.generic):
        return make_node("const", (), value, "f" if value.dtype.kind == "f" else "i")
    if isinstance(value, int):
        return make_node("const", (), int(value), "i")
    if isinstance(value, float):
        value = float("nan") if value != value else float(value)
        return make_node("const", (), value, "f")
    raise ScalarError(errors.no_real_constant(value))


def constant(node: Node | None) -> Any:
    """The number a constant node holds (a Python number for a weak one), else None.

    >>> constant(const(2.5)), constant(param(0))
    (2.5, None)
    """
    return node.value if node is not None and node.op == "const" else None


@dataclass(frozen=True, slots=True)
class Loop:
    """The body of a loop: params are the `states` loop states, then the invariants.

    `condition` has one result, a truth value; `step` has one result for each state. While the condition holds, all
    states are replaced at once.
    """

    states: int
    condition: Function
    step: Function


class Function:
    """A scalar function: `outputs` over `arity` params; equal iff the same IR (name and `source` are for display only).

    `tree` is the nesting of the outputs and `param_trees` that of the params, one tree a parameter: `None` for a
    leaf, a tuple of trees for a tuple.

    >>> f = Function.make(1, [param(0)])
    >>> f == Function.make(1, [param(0)], name="identity"), f.tree, f.param_trees
    (True, None, (None,))
    """

    __slots__ = ("__weakref__", "_hash", "arity", "name", "outputs", "param_trees", "source", "tree")

    arity: int
    outputs: tuple[Node, ...]
    tree: Tree
    param_trees: tuple[Tree, ...]
    name: str
    source: Source | None

    def __init__(
        self,
        arity: int,
        outputs: tuple[Node, ...],
        tree: Tree,
        param_trees: tuple[Tree, ...],
        name: str,
        source: Source | None = None,
    ) -> None:
        for key, part in (
            ("arity", arity), ("outputs", outputs), ("tree", tree), ("param_trees", param_trees), ("name", name),
            ("source", source),
        ):  # fmt: skip
            object.__setattr__(self, key, part)
        object.__setattr__(self, "_hash", hash((arity, outputs, tree, param_trees)))

    @staticmethod
    def make(
        arity: int,
        outputs: Iterable[Node],
        tree: Tree = ...,
        param_trees: Sequence[Tree] | None = None,
        name: str | None = None,
    ) -> Function:
        """A function from its outputs; by default one output is a leaf, several are a flat tuple.

        Raises ScalarError where the trees do not have as many leaves as there are outputs or params.
        """
        outputs = tuple(outputs)
        if tree is ... or (tree is None and len(outputs) != 1):
            tree = None if len(outputs) == 1 else (None,) * len(outputs)
        trees = (None,) * arity if param_trees is None else tuple(param_trees)
        for what, one, have in (("outputs", tree, len(outputs)), ("params", trees, arity)):
            if leaf_count(one) != have:
                raise ScalarError(
                    errors.no_tree_of(what, have, one)
                )
        return Function(arity, outputs, tree, trees, name or "scalar function")

    def renamed(self, name: str) -> Function:
        """The same function under another name."""
        return Function(self.arity, self.outputs, self.tree, self.param_trees, name, self.source)

    def read_from(self, source: Source | None) -> Function:
        """The same function, with the Python that it was read from."""
        return Function(self.arity, self.outputs, self.tree, self.param_trees, self.name, source)

    @property
    def has_loop(self) -> bool:
        """True where a loop is among its nodes."""
        return any(node.op == "loop" for node in postorder(self.outputs))

    def as_code(self, name: Callable[[Any, str], str]) -> str | None:
        """A lambda that `read` takes as this function; None where it has no text and goes by a name."""
        from catad.scalar.printing.text import written

        return written(self, name)

    def as_field(self, text: str) -> str:
        """Python for the function itself, where `text` is a lambda that reads as it."""
        nested = any(tree is not None for tree in self.param_trees)
        return f"ct.scalar.read({text}{f', {self.param_trees!r}' if nested else ''})" if text.startswith("lambda") else text

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(errors.immutable("scalar functions", name))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Function) or self._hash != other._hash:
            return False
        mine = (self.arity, self.outputs, self.tree, self.param_trees)
        return mine == (other.arity, other.outputs, other.tree, other.param_trees)

    def __hash__(self) -> int:
        return int(self._hash)

    def __repr__(self) -> str:
        shown = ", ".join(show(output) for output in self.outputs)
        return f"<{self.name}/{self.arity}: {shown}>"

    def __reduce__(self) -> tuple[Callable[..., Function], tuple[Any, ...]]:
        table = flatten(self.outputs)
        source = self.source if self.source is not None and _plain(self.source.values) else None
        return _unpickle_function, (self.arity, table, self.tree, self.param_trees, self.name, source)

    _hash: int


# -- trees


class Pair(tuple[Any, ...]):
    """A complex number: its real and its imaginary part, as nodes; or the tree of one, which prints as `complex`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Pair, *self))

    def __repr__(self) -> str:
        return "complex" if self[0] is None else f"complex({self[0]!r}, {self[1]!r})"


COMPLEX = Pair((None, None))
"""The tree of a complex number."""


def as_tree(said: Any) -> Tree:
    """A tree as it is written, in which `complex` is that of a complex number."""
    if said is complex:
        return COMPLEX
    return tuple(map(as_tree, said)) if isinstance(said, (tuple, list)) and not isinstance(said, Pair) else said


def of_reals(tree: Tree) -> Tree:
    """The tree with pairs of real numbers in the places of complex ones."""
    return None if tree is None else tuple(map(of_reals, tree))


def leaf_count(tree: Tree) -> int:
    """The number of leaves of a tree.

    >>> leaf_count((None, (None, None)))
    3
    """
    return 1 if tree is None else sum(leaf_count(part) for part in tree)


def tree_of(value: Any) -> Tree:
    """The tree of a value: tuples are tuples, anything else is a leaf."""
    if isinstance(value, Pair):
        return COMPLEX
    return tuple(tree_of(part) for part in value) if isinstance(value, tuple) else None


def leaves(value: Any) -> list[Any]:
    """The leaves of nested tuples, from left to right."""
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def unflatten(tree: Tree, flat: Iterable[Any]) -> Any:
    """Nested tuples with this tree, filled from left to right."""
    source = iter(flat)

    def build(part: Tree) -> Any:
        if part is None:
            return next(source)
        made = [build(one) for one in part]
        return Pair(made) if isinstance(part, Pair) else tuple(made)

    return build(tree)


# -- walking


def postorder(roots: Iterable[Node]) -> list[Node]:
    """All nodes that the roots need, arguments before users, each once; the bodies of loops are not entered.

    >>> [node.op for node in postorder([param(0)])]
    ['param']
    """
    order: list[Node] = []
    seen: set[Node] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(root.args))]
        while stack:
            node, rest = stack[-1]
            for arg in rest:
                if arg not in seen:
                    seen.add(arg)
                    stack.append((arg, iter(arg.args)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def depends(roots: Iterable[Node], sources: Iterable[Node]) -> set[Node]:
    """The nodes among those the roots need whose value involves one of the sources."""
    found = set(sources)
    for node in postorder(roots):
        if any(arg in found for arg in node.args):
            found.add(node)
    return found


# -- pickling: a flat table, so that depth does not matter


def flatten(outputs: tuple[Node, ...]) -> tuple[Any, ...]:
    """A flat, picklable picture of the nodes behind the outputs."""
    order = postorder(outputs)
    place = {node: i for i, node in enumerate(order)}
    rows = [(node.op, tuple(place[arg] for arg in node.args), node.value, node.kind) for node in order]
    return rows, tuple(place[output] for output in outputs)


def unflatten_nodes(table: tuple[Any, ...]) -> tuple[Node, ...]:
    """The nodes of a picture made by `flatten`."""
    rows, outputs = table
    nodes: list[Node] = []
    for op, args, value, kind in rows:
        nodes.append(make_node(op, tuple(nodes[i] for i in args), value, kind))
    return tuple(nodes[i] for i in outputs)


def _unpickle_node(table: tuple[Any, ...]) -> Node:
    return unflatten_nodes(table)[0]


def _unpickle_function(
    arity: int, table: Any, tree: Tree, trees: tuple[Tree, ...], name: str, source: Source | None = None
) -> Function:
    return Function(arity, unflatten_nodes(table), tree, trees, name, source)


def _plain(values: Mapping[str, Any]) -> bool:
    """True where these are numbers and tuples of numbers, which any process can take."""
    flat = [leaf for value in values.values() for leaf in leaves(value)]
    return all(isinstance(leaf, (bool, int, float, np.generic)) for leaf in flat)


# -- display


def show(node: Node, limit: int = 40) -> str:
    """A short text of an expression; large ones are cut, since this is for messages."""
    order = postorder((node,))
    if len(order) > limit:
        return f"<{node.op} over {len(order)} nodes>"
    shown: dict[Node, str] = {}
    for one in order:
        shown[one] = _show_one(one, shown)
        if len(shown[one]) > 400:
            return f"<{node.op} over {len(order)} nodes>"
    return shown[node]


def _show_one(node: Node, shown: Mapping[Node, str]) -> str:
    if node.op == "const":
        return repr(node.value)
    if node.op in ("param", "local"):
        return f"{'x' if node.op == 'param' else 's'}{node.value}"
    extra = [] if node.value is None or node.op == "loop" else [repr(node.value)]
    return f"{node.op}({', '.join([shown[arg] for arg in node.args] + extra)})"
