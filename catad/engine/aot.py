"""Compiling ahead of time, and seeing what is compiled."""

from __future__ import annotations

from typing import Any

from catad import errors, upward
from catad.category.spaces import Space
from catad.category.terms import D, MorphismLike, morphism
from catad.engine.choice import compiling, languages, use_engine
from catad.engine.program import program_of


def compile(f: MorphismLike, *at: Any, engine: str | None = None, **named: Any) -> D:
    """Compile `f` for contiguous NumPy arrays in a space, before the first call there; the result is `f` itself.

    Several spaces are the factors of the domain, as several arguments are. Example values may stand for their spaces: Python
    functions take them, and dicts and other trees, as in a call. Compiled code is kept on disk across processes, too.
    `engine` names the engine; without a name it is the one in force where `ct.use_engine` names one that compiles, else that of
    the CPU. For "cuda" no GPU is needed. The derivative is that of `f`.

    Raises `SpaceError` where `f` does not take such a value, `EngineError` where no engine has that name.

    >>> import catad as ct
    >>> f = ct.compile(ct.sin >> ct.exp, ct.f32[1000, 1000])
    >>> g = ct.compile(ct.sin >> ct.exp, ct.f32[1000, 1000], engine="cuda")
    >>> ".visible .entry kernel(" in g.source("ptx", ct.f32[1000, 1000])
    True
    """
    f = morphism(f, "ct.compile")
    _texts(*upward.at_domain(f, at, named), name=engine)
    return f


def source(f: D, language: str, *at: Any, **named: Any) -> str:
    """See `D.source`."""
    if language not in languages():
        raise errors.ArgumentError(errors.no_such("language to show code in", language, languages()))
    made = _texts(*upward.at_domain(f, at, named), None if language == "steps" else language)
    if language == "steps":
        return "\n".join(f"{k}: {name}, {'compiled' if done else 'array code'}" for k, (name, done, _) in enumerate(made))
    return "\n".join(f"; stage {k}: {name}\n{text}" for k, (name, _, text) in enumerate(made) if text)


def _texts(f: D, dom: Space, language: str | None = None, name: str | None = None) -> list[tuple[str, bool, str | None]]:
    """The steps of `f` at a space: what they are, whether they are compiled, and their text."""
    program, _ = program_of(f, dom)
    boxes = {box.outs: type(box.primitive).__name__ for box in program.wiring.boxes}
    engine = compiling(language, name)
    with use_engine(engine.name):  # it is named: code is compiled in full
        run = program.on(engine)
        found = [_described(step[0], boxes.get(tuple([run.wires[k] for k in step[2]]), "view")) for step in run.steps]
    return [one for own in found for one in own]


def _described(kernel: Any, box: str) -> list[tuple[str, bool, str | None]]:
    """What there is in a step: names, whether they are compiled, texts; a function without a name has that of the box with its
    results."""
    if hasattr(kernel, "described"):
        kernel.compile()
        made: list[tuple[str, bool, str | None]] = kernel.described()
        return made
    prepared = getattr(kernel, "prepared", None)
    if prepared is not None:
        text = prepared()
        return [(kernel.name, text is not None, text)]
    owner = getattr(kernel, "__self__", None)
    return [(getattr(kernel, "name", type(owner).__name__ if owner is not None else box), False, None)]
