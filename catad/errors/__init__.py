"""Every error catad raises, and the wording of every message, in one place.

`base` has the classes and the layout of a message; each other module has the messages of one part of the library.
"""

from catad.errors.base import *  # noqa: F403
from catad.errors.calls import *  # noqa: F403
from catad.errors.category import *  # noqa: F403
from catad.errors.engine import *  # noqa: F403
from catad.errors.extension import *  # noqa: F403
from catad.errors.functions import *  # noqa: F403
from catad.errors.indexing import *  # noqa: F403
from catad.errors.linear import *  # noqa: F403
from catad.errors.planner import *  # noqa: F403
from catad.errors.scalar import *  # noqa: F403
from catad.errors.simt import *  # noqa: F403
from catad.errors.solve import *  # noqa: F403
from catad.errors.testing import *  # noqa: F403
from catad.errors.traced import *  # noqa: F403
from catad.errors.vector import *  # noqa: F403
