"""What docstrings of public names lack: shapes, dtypes, the derivative, errors, an example; and members without any text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from .names import Kind, Name, public
from .pages import all_errors, parts_of

STATES = {
    "shapes": r"[Ss]hape|[Ss]pace|\(n,|\(\.\.\.",
    "dtypes": r"[Dd]type|[Ss]pace|floating|float64|int64|floats",
    "derivative": r"[Dd]erivative|[Dd]ifferentiat|[Jj]acobian|[Tt]ranspose|[Ll]inear|gradient|tangent",
}
"""How a text that states something of shapes, dtypes and the derivative is known."""


WITHOUT_ERRORS = ("debug_print", "info.report", "info.show", "progress", "linear.left", "linear.right")
"""Functions that take anything and raise nothing."""


def lacking(name: Name) -> list[str]:
    """What the docstring of a name does not say, of what is expected of its kind."""
    if name.same_as:
        return []
    text = " ".join([name.text.split(">>>")[0], *parts_of(name).values()])
    wanted = list(STATES) if name.makes == "D" else ["shapes", "dtypes"] if name.makes else []
    found = [what for what in wanted if not re.search(STATES[what], text)]
    raises = name.kind is Kind.FUNCTION and inspect.signature(name.value).parameters
    if (raises or name.makes) and name.key not in WITHOUT_ERRORS and not all_errors(name):
        found.append("errors")
    if name.text.count(">>>") < 2:
        found.append("an example")
    return found


def members_without_text() -> Iterator[str]:
    """Public methods and properties of public classes that have no docstring."""
    for name in public():
        if name.kind is Kind.CLASS and not name.same_as:
            for base in name.value.__mro__:
                for member, thing in vars(base).items() if base.__module__.startswith("catad") else ():
                    plain = getattr(thing, "__func__", getattr(thing, "fget", None) or thing)
                    own = inspect.isfunction(plain) and plain.__name__ == member  # not a default value of a field
                    if own and not member.startswith("_") and not inspect.getdoc(getattr(name.value, member)):
                        yield f"{name.short}.{member}"
