"""`threadpoolctl`, where it is installed, limits catad's threads as it limits those of BLAS and OpenMP.

It knows threads by the shared libraries that run them, and catad's run compiled code that lies in no file. So they are registered
beside NumPy's extension module, which is always loaded, under the API "catad".
"""

from __future__ import annotations

import importlib
from typing import Any

from catad.version import __version__


def register() -> None:
    """Make catad's threads known to `threadpoolctl`, if there is one.

    >>> register()
    """
    try:
        threadpoolctl: Any = importlib.import_module("threadpoolctl")
        base = threadpoolctl.LibController
    except (ImportError, AttributeError):  # none, or one before 3.3, which takes no others
        return
    methods = {
        "user_api": "catad",
        "internal_api": "catad",
        "filename_prefixes": ("_multiarray_umath",),
        "get_num_threads": lambda self: _threads().get_num_threads(),
        "set_num_threads": lambda self, num_threads: _threads().set_num_threads(num_threads),
        "get_version": lambda self: __version__,
    }
    threadpoolctl.register(type("CatadController", (base,), methods))


def _threads() -> Any:
    from catad.engine.cpu.run import threads  # late: `import catad` registers them, and starts none

    return threads
