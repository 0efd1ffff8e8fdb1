"""Laws, checkers and Hypothesis strategies for your own primitives and `ct.D` morphisms.

`check_function` checks a plain Python function with the morphism that `ct.function` makes of it, `check_grads` compares
derivatives with central differences, `check_laws` checks the laws of derivatives on a morphism
at a point, `check_linear_map` those of a linear map, `check_monoid` those of an operator of `scan`; `threads` runs the Python of
a kernel by real threads, and `check_races` compares all accesses of a launch. All checks raise
`LawError` with the law, the term, the point, and what was got and expected. The strategies (`spaces`, `points`,
`terms`, `chains`, `linear_maps`) need Hypothesis, which is imported when one is first called.

>>> import catad as ct
>>> ct.testing.check_laws(ct.D(lambda x: (x * x, ct.scale(2 * x))), 3.0)
"""

from catad.testing import readings as _readings  # registers its law
from catad.testing.functions import check_function
from catad.testing.grads import check_grads
from catad.testing.laws import LAWS, Law, check_laws
from catad.testing.linear_maps import check_linear_map
from catad.testing.monoids import check_monoid
from catad.testing.races import check_races
from catad.testing.strategies import chains, linear_maps, points, spaces, terms
from catad.testing.threads import threads

__all__ = [
    "LAWS",
    "Law",
    "chains",
    "check_function",
    "check_grads",
    "check_laws",
    "check_linear_map",
    "check_monoid",
    "check_races",
    "linear_maps",
    "points",
    "spaces",
    "terms",
    "threads",
]
del _readings


def __dir__() -> list[str]:
    """The public names only."""
    return list(__all__)
