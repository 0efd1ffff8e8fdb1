"""Types that signatures name and that are no public names, with what they stand for."""

from __future__ import annotations

ALIASES = {
    "MorphismLike": "A morphism (`ct.D`), or a Python function on arrays, which `ct.function` makes one.",
    "Value": "An array, a number, or a tuple of values.",
    "Result": "What a morphism gives: an array or a tuple of results. As the parameter `result`: "
    '"structured", "array" or "sparse", the form of a Jacobian.',
    "Array": "An array of NumPy, or of another library with its functions, such as CuPy.",
    "Jacobian": "A function from points to the Jacobian there, a `ct.LinearMap`; `plan` is its plan.",
    "Axes": "`int | Sequence[int] | None`",
    "Several": "`int | Sequence[int] | None`",
    "Order": "`float | str | None`, the order of a norm.",
    "Elements": "A number, or a tuple of elements: the neutral element of an operator on several numbers.",
    "Function": "A function of numbers, as `ct.map` reads it from its source.",
    "End": "`str | tuple[int, float]`, a condition at an end of a spline.",
    "Mode": '"auto", "forward", "reverse" or "elimination".',
    "Want": '"jacobian" or "hessian".',
    "Nested": "`int | Sequence[Nested]`, such as `[[0, 1], 2]`: which factors are multiplied first.",
    "CostGiven": '"operations", "time", a `ct.CostProfile`, or a function from two structures to the cost of their product.',
    "Strategy": "The steps of a plan.",
    "Request": "The arguments of `ct.plan`.",
    "Origin": "The plan that another one was edited from.",
    "PlannedMorphism": "A morphism laid out at a space, with its linear graph.",
    "Rates": "Three numbers: the seconds of a launch, for a byte, and for a scalar operation.",
    "Profile": "What `ct.profile` records, with `table()`, `to_json()` and `stages`.",
    "Train": "`Callable[[LinearMap], LinearMap]`",
    "Source": "Where a slot of a product comes from: `ct.linear.left(i)`, `ct.linear.right(j)`, or a function.",
    "Leaves": "A list of arrays, one for each leaf of a space.",
    "Values": "A function that gives the arrays of a wiring's inputs, where they are known.",
    "Launch": "A launch of a kernel, `k[blocks, threads]`.",
    "BlockArray": "An array in chunks in memory.",
    "Check": "A function that raises `LawError` where a law does not hold.",
    "Cut": "A function from an array of NumPy to one in chunks.",
    "SearchStrategy": "A strategy of Hypothesis.",
}  # fmt: skip
