"""Ordinary Python functions on arrays as morphisms: see `ct.function`.

The names here are what the driver asks of control flow and of indices, which functions without them do not load.
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.traced.arrays.indexing import getitem as getitem
    from catad.traced.arrays.slicing import has_traced_bounds as has_traced_bounds
    from catad.traced.control.branch import Bound as Bound
    from catad.traced.control.branch import Branch as Branch
    from catad.traced.control.branch import choose_values as choose_values
    from catad.traced.control.comprehensions import comprehended as comprehended
    from catad.traced.control.counted_loops import CountedLoop as CountedLoop
    from catad.traced.control.join_paths import joined_paths as joined_paths
    from catad.traced.control.loop import ForLoop as ForLoop
    from catad.traced.control.loop import Names as Names
    from catad.traced.control.loop import WhileLoop as WhileLoop
    from catad.traced.control.loop_items import TracedRange as TracedRange
    from catad.traced.control.loop_outputs import item as item
    from catad.traced.control.loop_outputs import whole as whole

first_use(__name__)
