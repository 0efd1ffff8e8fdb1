"""All bugs that are planted."""

from __future__ import annotations

from .bug import Bug as Bug
from .chunks import BUGS as _OF_CHUNKS
from .engine import BUGS as _OF_ENGINES
from .equations import BUGS as _OF_EQUATIONS
from .integrals import BUGS as _OF_INTEGRALS
from .linalg import BUGS as _OF_LINEAR_ALGEBRA
from .others import BUGS as _OTHERS

BUGS = [*_OTHERS, *_OF_LINEAR_ALGEBRA, *_OF_ENGINES, *_OF_CHUNKS, *_OF_EQUATIONS, *_OF_INTEGRALS]
