"""Every error catad raises, and the wording of every message, in one place.

`base` has the classes and the layout of a message; each other module has the messages of one part of the library, and is loaded
when a name is asked for that those before it do not have; every process asks for some of the first two.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from catad.errors.base import *  # noqa: F403

if TYPE_CHECKING:
    from catad.errors.calls import *  # noqa: F403
    from catad.errors.category import *  # noqa: F403
    from catad.errors.chunks import *  # noqa: F403
    from catad.errors.costs import *  # noqa: F403
    from catad.errors.engine import *  # noqa: F403
    from catad.errors.equations import *  # noqa: F403
    from catad.errors.extension import *  # noqa: F403
    from catad.errors.fft import *  # noqa: F403
    from catad.errors.functions import *  # noqa: F403
    from catad.errors.indexing import *  # noqa: F403
    from catad.errors.integrals import *  # noqa: F403
    from catad.errors.linear import *  # noqa: F403
    from catad.errors.planner import *  # noqa: F403
    from catad.errors.scalar import *  # noqa: F403
    from catad.errors.simt import *  # noqa: F403
    from catad.errors.solve import *  # noqa: F403
    from catad.errors.testing import *  # noqa: F403
    from catad.errors.traced import *  # noqa: F403
    from catad.errors.vector import *  # noqa: F403
else:

    def __getattr__(name):
        parts = "category scalar calls engine extension functions indexing linear planner simt solve testing"
        parts += " traced vector fft chunks equations integrals costs"
        is_none = name.startswith("_") or name in ("notices", "places")  # modules, for which their importer asks here first
        for part in () if is_none else parts.split():
            module = _import_module(f"{__name__}.{part}")
            if name in vars(module):
                return vars(module)[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
