"""Terms as text and as records: `repr` as Python that rebuilds the term, and pickling.

Both walk the term without recursion and visit a shared part once, so that they grow with the number of distinct boxes. In
the text a part that occurs again is named where it first stands, `(t1 := ...)`.
"""

from __future__ import annotations

from typing import Any

from catad.terms import Compose, D, compose


def ordered(term: D) -> list[D]:
    """The distinct parts of a term, by identity, each after its own parts."""
    out: list[D] = []
    state: dict[int, bool] = {}
    stack: list[tuple[D, bool]] = [(term, False)]
    while stack:
        top, ready = stack.pop()
        if ready:
            out.append(top)
        elif id(top) not in state:
            state[id(top)] = True
            stack.append((top, True))
            stack.extend((child, False) for child in reversed(top.children) if id(child) not in state)
    return out


def code_of(term: D) -> tuple[str, dict[str, Any]]:
    """Python that rebuilds the term, and what its names stand for."""
    parts = ordered(term)
    uses: dict[int, int] = {}
    for part in parts:
        for child in part.children:
            uses[id(child)] = uses.get(id(child), 0) + 1
    names: dict[str, Any] = {}
    given: dict[int, str] = {}

    def name(value: Any, wish: str) -> str:
        if id(value) in given:
            return given[id(value)]
        base = wish if wish.isidentifier() and wish not in ("ct", "np") else "fn" if callable(value) else "value"
        found, k = base, 1
        while found in names and names[found] is not value:
            k += 1
            found = f"{base}_{k}"
        names[found] = value
        given[id(value)] = found
        return found

    label: dict[int, str] = {}
    for part in parts:
        if uses.get(id(part), 0) > 1 and part.children:
            label[id(part)] = f"t{len(label) + 1}"
    return _assembled(term, label, name), names


def _assembled(term: D, label: dict[int, str], name: Any) -> str:
    """The text of a term; of a labelled part only the first occurrence is written out."""
    holes: dict[str, D] = {}

    def hole(child: D) -> str:
        key = f"\0{len(holes)}\0"
        holes[key] = child
        return key

    pieces: list[str] = []
    seen: set[int] = set()
    stack: list[Any] = [(term, False)]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            pieces.append(top)
            continue
        part, inside = top
        if id(part) in label and id(part) in seen:
            pieces.append(label[id(part)])
            continue
        template = part.code(hole, name)
        before, after = "", ""
        if id(part) in label:
            seen.add(id(part))
            before, after = f"({label[id(part)]} := ", ")"
        elif isinstance(part, Compose) and inside and not template.startswith("ct.compose"):
            before, after = "(", ")"
        bits = template.split("\0")
        out: list[Any] = [before]
        for i, bit in enumerate(bits):
            if i % 2:
                child = holes.pop(f"\0{bit}\0")
                out.append((child, isinstance(part, Compose)))
            else:
                out.append(bit)
        out.append(after)
        stack.extend(reversed(out))
    return "".join(pieces)


# -- pickling

_CACHES = {"_data", "_hash", "_kept", "_place", "__weakref__", "children", "_factors", "_length", "_shift"}


def packed(term: D) -> tuple[Any, ...]:
    """What pickle keeps: one flat record for each distinct part."""
    parts = ordered(term)
    number = {id(part): k for k, part in enumerate(parts)}
    return unpacked, (tuple([_record(part, [number[id(c)] for c in part.children]) for part in parts]),)


def _record(part: D, children: list[int]) -> tuple[Any, ...]:
    own = part.recipe()
    if own is not None:
        return "call", *own
    if isinstance(part, Compose):
        return "state", Compose, {}, tuple(children)
    state = {}
    for cls in type(part).__mro__:
        for slot in cls.__dict__.get("__slots__", ()):
            if slot not in _CACHES and hasattr(part, slot):
                state[slot] = getattr(part, slot)
    state.update({k: v for k, v in getattr(part, "__dict__", {}).items() if k not in _CACHES})
    return "state", type(part), state, tuple(children)


def unpacked(records: tuple[Any, ...]) -> D:
    """Rebuild a term from its records."""
    parts: list[D] = []
    for kind, cls, *rest in records:
        if kind == "call":
            parts.append(cls(*rest[0]))
            continue
        state, children = rest
        below = tuple([parts[k] for k in children])
        if cls is Compose:
            parts.append(compose(*below))
        else:
            part = object.__new__(cls)
            for key, value in state.items():
                setattr(part, key, value)
            if any("children" in base.__dict__.get("__slots__", ()) for base in cls.__mro__):
                part.children = below
            parts.append(part)
    return parts[-1]
