"""Laws, checkers and Hypothesis strategies for your own primitives and `ct.D` morphisms.

`check_function` checks a plain Python function with the morphism that `ct.function` makes of it, `check_grads` compares
derivatives with central differences, `check_laws` checks the laws of derivatives on a morphism
at a point, `check_linear_map` those of a linear map, `check_monoid` those of an operator of `scan`; `threads` runs the Python of
a kernel by real threads, and `check_races` compares all accesses of a launch. `check_chunks` compares a program on arrays in
chunks, such as `in_chunks` makes them, with the same on whole arrays. All checks raise
`LawError` with the law, the term, the point, and what was got and expected. The strategies (`spaces`, `points`,
`terms`, `chains`, `linear_maps`, `matrices`) need Hypothesis, which is imported when one is first called.

>>> import catad as ct
>>> ct.testing.check_laws(ct.D(lambda x: (x * x, ct.scale(2 * x))), 3.0)
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use
from catad.testing import readings as _readings  # noqa: F401, it registers its law

if TYPE_CHECKING:
    from catad.testing.chunks import check_chunks as check_chunks
    from catad.testing.chunks import in_chunks as in_chunks
    from catad.testing.functions import check_function as check_function
    from catad.testing.grads import check_grads as check_grads
    from catad.testing.laws import LAWS as LAWS
    from catad.testing.laws import Law as Law
    from catad.testing.laws import check_laws as check_laws
    from catad.testing.linear_maps import check_linear_map as check_linear_map
    from catad.testing.matrices import matrices as matrices
    from catad.testing.monoids import check_monoid as check_monoid
    from catad.testing.races import check_races as check_races
    from catad.testing.strategies import chains as chains
    from catad.testing.strategies import linear_maps as linear_maps
    from catad.testing.strategies import points as points
    from catad.testing.strategies import spaces as spaces
    from catad.testing.strategies import terms as terms
    from catad.testing.threads import threads as threads

first_use(__name__)
