"""Compiling ahead of time, and seeing what is compiled."""

from __future__ import annotations

from catad import errors
from catad.engine.program import program_of
from catad.spaces import Space, product
from catad.terms import D, morphism

LANGUAGES = ("llvm", "steps")


def compile(f: D, *spaces: Space) -> D:
    """Compile the stages of `f` on contiguous NumPy arrays in these spaces; `f` itself, whose calls there then need not.

    Several spaces are the factors of the domain, as several arguments are. Compiled code is kept on disk across processes, too.
    Raises `SpaceError` where `f` does not take such a value.

    >>> import catad as ct
    >>> f = ct.compile(ct.sin >> ct.exp, ct.f32[1000, 1000])
    """
    morphism(f, "ct.compile")
    _check(spaces, "ct.compile")
    _texts(f, spaces)
    return f


def _check(spaces: tuple[Space, ...], who: str) -> None:
    for space in spaces:
        if not isinstance(space, Space):
            raise errors.SpaceError(errors.not_spaces(who, space))


def source(f: D, language: str, *spaces: Space) -> str:
    """See `D.source`."""
    if language not in LANGUAGES:
        raise errors.ArgumentError(errors.no_such_language(language, LANGUAGES))
    _check(spaces, "f.source")
    made = _texts(f, spaces)
    if language == "steps":
        return "\n".join(
            f"{k}: {name}, {'array code' if text is None else 'compiled'}" for k, (name, text) in enumerate(made)
        )
    return "\n".join(f"; stage {k}: {name}\n{text}" for k, (name, text) in enumerate(made) if text is not None)


def _texts(f: D, spaces: tuple[Space, ...]) -> list[tuple[str, str | None]]:
    """The steps of `f` at some spaces: what they are, and their LLVM text where they are compiled."""
    from catad.engine.cpu.launch import StageKernel
    from catad.engine.cpu.standalone import Standalone

    program, _ = program_of(f, spaces[0] if len(spaces) == 1 else product(*spaces))
    found: list[tuple[str, str | None]] = []
    for kernel, ins, _ in program.cpu_steps:
        if isinstance(kernel, StageKernel):
            found.append((kernel.name, kernel.prepared(program.cpu_wiring.spaces(ins))))
        elif isinstance(kernel, Standalone):
            found.append((kernel.name, kernel.prepared()))
        else:
            owner = getattr(kernel, "__self__", None)
            found.append((type(owner).__name__ if owner is not None else "view", None))
    return found
