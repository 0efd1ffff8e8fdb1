"""Engines: ways to run programs. `ct.use_engine` chooses one by its name, `register` adds one from outside.

docs/engine.md says what the engine of the CPU does, docs/extending.md writes one.

>>> import catad as ct
>>> ct.engine.Engine.automatic
False
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.engine.backend import Engine as Engine
    from catad.engine.choice import register as register

first_use(__name__)
