"""Reading the bytecode of a function that has no source: what was typed at a prompt, made by `exec`, or came by cloudpickle.

An abstract machine executes the instructions on the values of the reader, so every operation, call and attribute has the
same meaning as in the source, and both readers reject the same constructs. At a condition on data both ways are followed,
each to its end, and the results are joined by selects; hence a loop whose end depends on data needs source. An instruction
that is not known (`instructions.py`) is refused: a new version of Python may bring errors, never other numbers.
"""

from __future__ import annotations

import dis
import inspect
import sys
from bisect import bisect_left
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.errors import ScalarError, text
from catad.scalar.ir import Node
from catad.scalar.reading.callables import select_values
from catad.scalar.reading.frames import Range, counted
from catad.scalar.reading.values import condition, parts
from catad.scalar.simplify import apply
from catad.support.lru import remembered

if TYPE_CHECKING:
    from catad.scalar.reading.reader import Reader

NEWEST = (3, 14)
"""The newest Python whose instructions are known."""

MAX_PATHS, MAX_DECISIONS, MAX_STEPS = 256, 64, 200_000
"""The numbers of paths of a function, decisions on a path, and instructions between two of them that are followed."""

_FLAGS = {
    inspect.CO_COROUTINE: "async function",
    inspect.CO_ASYNC_GENERATOR: "async function",
    inspect.CO_GENERATOR: "yield",
}
_NAMES = dict.fromkeys(("<listcomp>", "<setcomp>", "<dictcomp>"), "comprehension") | {"<genexpr>": "generator expression"}


@dataclass(frozen=True, slots=True)
class Iterator:
    """The items that a `for` has not taken yet."""

    items: tuple[Any, ...]
    done: int = 0


class Null:
    """The empty place beside a callable."""


NULL = Null()


@remembered
def _decoded(code: CodeType) -> tuple[list[dis.Instruction], list[int], list[tuple[int, int]]]:
    """The instructions, where each begins, and which stretches of them an exception handler guards."""
    listed = list(dis.get_instructions(code))
    guarded = [(one.start, one.end) for one in getattr(dis.Bytecode(code), "exception_entries", ())]
    if code.co_exceptiontable and not guarded:
        guarded = [(0, len(code.co_code))]
    return listed, [one.offset for one in listed], guarded


def refuse_kind(code: CodeType) -> None:
    """A generator, a coroutine or a comprehension is no function of numbers."""
    what = _NAMES.get(code.co_name) or next((what for flag, what in _FLAGS.items() if code.co_flags & flag), None)
    if what is not None:
        head, _, do = errors.construct(what).partition("\n  do:")
        error = ScalarError(text(head, where=f"{code.co_filename}:{code.co_firstlineno}", do=do.strip()))
        error.located = True
        raise error


class Machine:
    """Runs the call whose frame the reader has; `reader` makes the calls inside."""

    def __init__(self, reader: Reader, code: CodeType) -> None:
        self.reader, self.frame, self.code = reader, reader.frame, code
        self.listed, self.offsets, self.guarded = _decoded(code)
        self.paths = 1
        self.keywords: tuple[str, ...] = ()
        self.known: dict[Node, bool] = {}
        self.stack: list[Any] = []
        self.at = 0

    # -- paths

    def follow(self) -> Any:
        """The value that is returned from here on."""
        from catad.scalar.reading.instructions import SKIPPED, do

        for _ in range(MAX_STEPS):
            one = self.listed[self.at]
            self.at += 1
            if one.opname in SKIPPED:
                continue
            try:
                if any(start <= one.offset < end for start, end in self.guarded):
                    raise ScalarError(errors.construct("try"))
                result = do(self, one)
                if isinstance(result, Fork):
                    return self._both(result)
            except (ScalarError, RecursionError) as error:
                self.reader.place(one, error)
                raise
            if result is not None:
                return result[0]
        raise ScalarError(errors.too_many_paths(self.frame.name, MAX_PATHS))

    def _both(self, fork: Fork) -> Any:
        """The results of both ways at a condition on data, joined."""
        self.paths += 1
        if self.paths > MAX_PATHS or len(self.known) >= MAX_DECISIONS:
            raise ScalarError(errors.too_many_paths(self.frame.name, MAX_PATHS))
        env, known, test = self.frame.env, self.known, fork.condition
        results = []
        for answer, stack, at in ((True, *fork.yes), (False, *fork.no)):
            self.frame.env, self.known = dict(env), {**known, test: answer}
            self.stack, self.at = stack, at
            with self.reader.under(test if answer else apply("not", test)):
                results.append(self.follow())
        return select_values(test, *results)

    def branch(self, value: Any, yes: tuple[list[Any], int], no: tuple[list[Any], int]) -> Fork | None:
        """Go one way, where it is known which, else both; a way is the stack and the place where it goes on."""
        test = condition(value)
        if test.op == "const":
            answer = bool(test.value)
        elif test in self.known:
            answer = self.known[test]
        elif test.op == "not" and test.args[0] in self.known:
            answer = not self.known[test.args[0]]
        else:
            return Fork(test.args[0], no, yes) if test.op == "not" else Fork(test, yes, no)
        self.stack, self.at = yes if answer else no
        return None

    def place(self, offset: int) -> int:
        """The instruction that begins at an offset."""
        return bisect_left(self.offsets, offset)


@dataclass(slots=True)
class Fork:
    """A condition on data: (stack, place) of either way."""

    condition: Node
    yes: tuple[list[Any], int]
    no: tuple[list[Any], int]


def run_code(reader: Reader, code: CodeType) -> Any:
    """The value of the call whose frame the reader has."""
    name = reader.frame.name
    if sys.version_info[:2] > NEWEST:
        raise ScalarError(
            errors.unknown_bytecode(name, sys.version.split()[0])
        )
    value = Machine(reader, code).follow()
    if value is None:
        raise ScalarError(errors.returns_nothing(name))
    return value


def iterated(value: Any, machine: Machine) -> Iterator:
    """The items of a `for`: a tuple, or a range whose ends are known."""
    if isinstance(value, Range):
        return Iterator(counted(value))
    return Iterator(parts(value, machine.frame.name, machine.reader.open_params))
