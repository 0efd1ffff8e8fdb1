"""Ordinary Python functions on arrays as morphisms: see `ct.function`.

The names here are what the driver asks of control flow and of indices, which functions without them do not load.
"""

from typing import TYPE_CHECKING

from catad.first_use import first_use

if TYPE_CHECKING:
    from catad.traced.branch import Bound as Bound
    from catad.traced.branch import Branch as Branch
    from catad.traced.branch import choose_values as choose_values
    from catad.traced.comprehended import comprehended as comprehended
    from catad.traced.counted import CountedLoop as CountedLoop
    from catad.traced.indexing import getitem as getitem
    from catad.traced.joined_paths import joined_paths as joined_paths
    from catad.traced.loop import ForLoop as ForLoop
    from catad.traced.loop import Names as Names
    from catad.traced.loop import WhileLoop as WhileLoop
    from catad.traced.outputs import item as item
    from catad.traced.outputs import whole as whole
    from catad.traced.slicing import has_traced_bounds as has_traced_bounds
    from catad.traced.steps import TracedRange as TracedRange

first_use(__name__, {
    "traced.branch": "Bound Branch choose_values",
    "traced.comprehended": "comprehended",
    "traced.counted": "CountedLoop",
    "traced.indexing": "getitem",
    "traced.joined_paths": "joined_paths",
    "traced.loop": "ForLoop Names WhileLoop",
    "traced.outputs": "item whole",
    "traced.slicing": "has_traced_bounds",
    "traced.steps": "TracedRange",
})  # fmt: skip
