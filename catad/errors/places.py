"""Places in the user's program: where a call was made, and where a term was composed.

A place is a code object and an offset in it, which costs nothing to note; file and line are looked up when a message is made.
"""

from __future__ import annotations

import linecache
import os
import sys
from dis import opmap
from itertools import islice
from types import CodeType, FrameType

import numpy

Place = tuple[CodeType, int]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OURS = (
    _PACKAGE,
    *[os.path.join(os.path.dirname(os.__file__), name) for name in ("functools.py", "contextlib.py")],
    os.path.dirname(numpy.__file__) + os.sep,
)
_STANDARD = os.path.dirname(os.__file__) + os.sep
_OPERATOR = opmap["BINARY_OP"]


def of_package(file: str) -> bool:
    """True for a file of this package."""
    return file.startswith(_PACKAGE)


def is_ours(file: str) -> bool:
    """True for a file of this package, or of NumPy and of Python's wrappers of functions, through which it is called."""
    return file.startswith(_OURS)


def here() -> Place:
    """The call of the function that asks: what a term notes when it is composed."""
    frame = sys._getframe(2)
    return frame.f_code, frame.f_lasti


def called() -> Place | None:
    """The call that led here, in the first frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS) and not is_generated(frame):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def frames_inside() -> int:
    """The number of frames of this package between the caller, which counts, and the first frame outside; 0 if there is none."""
    frame: FrameType | None = sys._getframe(1)
    count = 0
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_OURS) and not is_generated(frame):
            return count
        frame, count = frame.f_back, count + 1
    return 0


def of_user() -> Place | None:
    """The call that led here, in the first frame outside this package and outside of libraries."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith(_OURS) or is_of_library(file) or is_generated(frame)):
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


def users_call() -> tuple[str | None, str | None]:
    """The call in the user's code that led here: file and line, and that line with a caret."""
    place = of_user() or called()
    where = shown(place)
    return where, None if place is None or where is None else excerpt(place)


def is_generated(frame: FrameType) -> bool:
    """True where the frame is of code without a file that this package has written, or `dataclass` for a class of it."""
    return frame.f_code.co_filename.startswith("<") and str(frame.f_globals.get("__name__")).startswith("catad.")


def _span(where: Place) -> tuple[int | None, int | None, int | None, int | None]:
    """The first and the last line of the expression at a place, and its columns in bytes."""
    return next(islice(where[0].co_positions(), where[1] // 2, None), (None, None, None, None))


def shown(where: Place | None, last: bool = False) -> str | None:
    """A place as `file:line`, of an operator that spans lines the first or the last one.

    None for a place that is not known, or is none of the user's: in this package, or in Python's machinery of imports.
    """
    if where is None or where[0].co_filename.startswith((*_OURS, "<frozen ")):
        return None
    code, offset = where
    first, end, _, _ = _span(where)
    line = end if last and code.co_code[offset] == _OPERATOR and end is not None else first
    return f"{code.co_filename}:{code.co_firstlineno if line is None else line}"


def raised_in(error: BaseException, file: str) -> Place | None:
    """The innermost call in a file that an error came through."""
    found: Place | None = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            found = step.tb_frame.f_code, step.tb_lasti
        step = step.tb_next
    return found


def written(where: Place) -> str | None:
    """The expression at a place as it is written, where its source is there and it stands on one line."""
    first, end, start, stop = _span(where)
    if first is None or first != end:
        return None
    line = linecache.getline(where[0].co_filename, first).encode()  # columns count bytes
    return line[start:stop].decode() or None


def excerpt(where: Place) -> str | None:
    """The line of the source at a place, with a caret below the expression."""
    first, end, start, stop = _span(where)
    if first is None:
        return None
    line = linecache.getline(where[0].co_filename, first).rstrip("\n")
    if not line.strip():
        return None
    if start is None or stop is None:
        return f"    {line.strip()}"
    raw = line.encode()  # columns count bytes
    begin = len(raw[:start].decode(errors="replace"))
    width = len(raw[start : stop if end == first else len(raw)].decode(errors="replace"))
    indent = len(line) - len(line.lstrip())
    return f"    {line.strip()}\n    {' ' * (begin - indent)}{'^' * max(width, 1)}"


def source_line(where: Place) -> str:
    """The line of the source at a place; empty where it is not there."""
    first = _span(where)[0]
    return "" if first is None else linecache.getline(where[0].co_filename, first).strip()


def column(where: Place | None) -> str | None:
    """A place as `file:line:column`, columns counted from 1."""
    place = shown(where)
    if place is None or where is None:
        return place
    start = _span(where)[2]
    return place if start is None else f"{place}:{start + 1}"


def innermost(error: BaseException) -> Place | None:
    """The innermost frame outside this package that an error came through, outside of libraries if there is one."""
    found: Place | None = None
    own: Place | None = None
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith(_OURS):
            found = step.tb_frame.f_code, step.tb_lasti
            own = own if is_of_library(file) else found
        step = step.tb_next
    return own or found


def is_of_library(file: str) -> bool:
    """True for a file of Python's standard library, or of an installed package."""
    return is_of_python(file) or any(part in ("site-packages", "dist-packages") for part in file.split(os.sep))


def is_of_python(file: str) -> bool:
    """True for a file of Python's standard library, or of its machinery of imports."""
    return file.startswith((_STANDARD, "<frozen ")) and "site-packages" not in file
