"""Engines: ways to run programs. `ct.use_engine` chooses one by its name, `register` adds one from outside.

docs/engine.md says what the engine of the CPU does, docs/extending.md writes one.

>>> import catad as ct
>>> ct.engine.Engine.automatic
False
"""

from catad.engine.backend import Engine
from catad.engine.choice import register

__all__ = ["Engine", "register"]


def __dir__() -> list[str]:
    """The public names only."""
    return list(__all__)
