"""`Program`: a morphism written with variables, as lines `term applied to variables`.

The variables 0 .. k - 1 are the leaves of the domain; each line adds those of its result. The lines are in normal form: what
the result needs and no more, in the order in which a reader of the result meets it, depth first and from left to right. So two
functions that compute the same from the same in different order are one program. Names of variables and places of lines in the
user's source are kept for texts and messages, and take no part in comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, NamedTuple

from catad import errors
from catad.category.spaces import Space, flatten, mapped
from catad.category.terms import D
from catad.category.trip_counts import reading
from catad.category.wiring import Builder, share
from catad.errors.places import Place
from catad.values.trees import Tree

if TYPE_CHECKING:
    from catad.category.spaces import Tensor
    from catad.category.wiring import Wires


class Line(NamedTuple):
    """A term applied to variables: `args` are their numbers, nested as the domain of the term; `outs` those of the results.

    A line of `p.lines` also has names: `name` is that of the results, `text` what is computed, and `source` the file and line
    of the user's program.
    """

    term: D
    args: Any
    outs: Any
    name: str = ""
    text: str = ""
    source: str | None = None

    def __repr__(self) -> str:
        said = self.text if self.name in ("", self.text) else f"{self.name} = {self.text}"
        return said + (f"  # {self.source}" if self.source else "")


Calls = tuple[tuple[str, Any], ...]  # from outside to inside: the name of a function, and a number for the call


class Notes(NamedTuple):
    """What a program knows for texts and messages alone: names of variables by number, places of lines, trees."""

    names: dict[int, str] = {}  # noqa: RUF012  nobody writes into it
    places: tuple[Place | None, ...] = ()
    calls: tuple[Calls, ...] = ()  # for each line the calls that it comes from
    arguments: tuple[str, ...] = ()
    tree: Tree | None = None  # of the argument
    result_tree: Tree | None = None
    form: Any = None  # of the call for which it was made: the trees of its arguments
    title: str = "program"

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: places refer to code that runs here, and are left out."""
        return Notes, tuple(self._replace(places=()))


@share
class Program(D):
    """A morphism written with variables: what `f.at(...)` gives of a traced function.

    `repr(p)` is an expression, `ct.function(lambda ...).at(dom)`, and `str(p)` are definitions, the last one under `p.title`;
    what they name stands in `p.names`. Tracing either gives the program: `eval(repr(p), {"ct": catad, **p.names}) == p`, and
    after `exec(str(p), scope)` in the same names `ct.function(scope[p.title]).at(p.dom) == p`. These give results in the same
    trees, and take arguments as tuples. `p.lines` are the lines, and
    `p.point_free()` the same program without variables. `result` nests numbers of variables as the codomain is nested.

    >>> import catad as ct, numpy as np
    >>> def f(x, y):
    ...     h = np.tanh(x)
    ...     return h * h + y
    >>> p = ct.function(f).at(ct.f64[3] * ct.f64[3])
    >>> print(p)
    def f(x, y):
        h = ct.tanh(x)
        return h * h + y
    <BLANKLINE>
    >>> eval(repr(p), {"ct": ct, **p.names}) == p
    True
    >>> p.point_free()
    ct.fork(ct.exl >> ct.tanh >> ct.dup >> ct.mul, ct.exr) >> ct.add
    """

    __slots__ = ("args", "children", "dom", "notes", "outs", "result")
    children: tuple[D, ...]

    def __init__(self, dom: Space, lines: Sequence[Line], result: Any, notes: Notes | None = None) -> None:
        self.dom = dom
        self.children = tuple([line.term for line in lines])
        self.args = tuple([line.args for line in lines])
        self.outs = tuple([line.outs for line in lines])
        self.result = result
        self.notes = Notes() if notes is None else notes

    def data(self) -> Hashable:
        return (self.dom, self.args, self.outs, self.result)

    @property
    def known_dom(self) -> Space:
        return self.dom

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines, each with its term, the numbers of variables, their names, and where it stands in the user's source."""
        from catad.traced.programs.text import program_lines

        return program_lines(self)

    @property
    def inputs(self) -> int:
        """How many variables are leaves of the domain."""
        return len(self.dom.leaves)

    def spaces_of_variables(self) -> list[Tensor]:
        """The spaces of the variables, by their numbers."""
        b = Builder()
        at = dict(enumerate(flatten(b.inputs(self.dom))))
        with reading():
            for term, args, outs in zip(self.children, self.args, self.outs, strict=True):
                at.update(zip(flatten(outs), flatten(b.apply(term, substituted(args, at))), strict=True))
        return [at[k].space for k in range(len(at))]

    def lay_out(self, b: Builder, x: Wires) -> Any:
        if b.space(x) != self.dom:
            raise errors.SpaceError(errors.not_in_domain(b.space(x), self.dom, self))
        at = dict(enumerate(flatten(x)))
        for k, (term, args, outs) in enumerate(zip(self.children, self.args, self.outs, strict=True)):
            try:
                made = yield term, substituted(args, at)
            except errors.CatadError as error:
                if error.composed is None and k < len(self.notes.places):
                    errors.at_line(error, self.notes.places[k])
                raise
            at.update(zip(flatten(outs), flatten(made), strict=True))
        return substituted(self.result, at)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        from catad.traced.programs.text import program_code

        return program_code(self, name)

    @property
    def title(self) -> str:
        """The name of the function, as a name of Python."""
        return identifier(self.notes.title)

    def bound_names(self) -> set[str]:
        """The names that the text of the program binds."""
        from catad.traced.programs.text import bound_names

        return bound_names(self)

    def __str__(self) -> str:
        from catad.traced.programs.text import program_text

        return program_text(self)

    def draw(self, *at: Any, open: bool | str | Collection[str] = False, **named: Any) -> str:
        """A string diagram as SVG text, with the names of the user's program on the wires.

        A program that is called inside is one box, whose text the tooltip shows; so is, in a long program, each call of a helper
        function with all that it calls, and if that is not enough, each line of the source. Many arrays of one tree are one wide
        wire. With `open=True` all lines are drawn, with `open="name"` or a list of names those of some functions. Raises
        `SpaceError` for another domain.

        >>> import catad as ct, numpy as np
        >>> f = ct.function(lambda x: np.exp(2 * x))
        >>> "x: f64[3]" in f.at(ct.f64[3]).draw()
        True
        """
        return super().draw(*at, open=open, **named)

    def point_free(self) -> D:
        """The same program as a term without variables: compositions, forks and projections, in loops and branches, too."""
        from catad.traced.programs.point_free import point_free

        return point_free(self)


def identifier(text: str) -> str:
    """A name of Python from a name with a path, `params["w"]`, or from a title."""
    words = re.findall(r"[A-Za-z_]\w*", text, re.ASCII)
    has_path = "[" in text or "." in text
    found = "f" if not words or text == "<lambda>" else words[-1] if has_path else "_".join(words)
    found = found if found.strip("_") else "i"  # "_" is what nobody reads
    return f"{found}_" if iskeyword(found) or found in ("ct", "np") else found


def substituted(nested: Any, at: Any) -> Any:
    """The numbers of a nested tuple, replaced by what stands at them."""
    return mapped(nested, at.__getitem__)


def in_normal_form(lines: Sequence[Line], inputs: int, result: Any) -> tuple[list[Line], Any, dict[int, int], list[int]]:
    """The needed lines in the order in which the result reads them, renumbered, with the new numbers of variables and the
    old positions of the lines."""
    writer: dict[int, int] = {}
    for k, line in enumerate(lines):
        writer.update(dict.fromkeys(flatten(line.outs), k))
    number = {k: k for k in range(inputs)}
    order: list[int] = []
    state: dict[int, bool] = {}
    stack: list[tuple[int, bool]] = [(v, False) for v in reversed(flatten(result))]
    following = inputs
    while stack:
        var, ready = stack.pop()
        at = writer.get(var)
        if at is None or (at in state and not ready):
            continue
        if not ready:
            state[at] = True
            stack.append((var, True))
            stack += [(v, False) for v in reversed(flatten(lines[at].args))]
        else:
            order.append(at)
            for out in flatten(lines[at].outs):
                number[out] = following
                following += 1
    made = [Line(lines[k].term, substituted(lines[k].args, number), substituted(lines[k].outs, number)) for k in order]
    return made, substituted(result, number), number, order
