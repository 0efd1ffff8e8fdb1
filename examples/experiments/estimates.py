"""How near the seconds that a profile estimates are to those that Jacobians take.

For the families of `planning.py`, the programs of `jacobians.py` and the products of small matrices of `small_matrices.py`: each
Jacobian runs until its program has been compiled as one function, if it is to be; then the least of several calls is compared
with the estimate for the boxes of its program. Prints a line for each, and how many are within a factor of two:

    python examples/experiments/estimates.py [--only NAME ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import jacobians
import numpy as np
import planning
import small_matrices

import catad as ct
from catad.jacobians import jacobian_programs
from catad.planner.costs.measure import Measured, measured

Case = tuple[Any, Any, str]  # a program, its point, the form of the Jacobian
SIZES = 2  # of each family, the smaller ones


def cases() -> dict[str, Callable[[], Case]]:
    made: dict[str, Callable[[], Case]] = {}
    for name, make in jacobians.CASES.items():
        made[name] = lambda make=make: (lambda case: (case.f, case.x, case.result))(make())  # type: ignore[misc]
    for name, (family, sizes) in planning.FAMILIES.items():
        for n in sizes[:SIZES]:
            made[f"{name}, {n}"] = lambda family=family, n=n: (*family(n), "structured")  # type: ignore[misc]
    for n in (4, 8, 12):
        made[f"{n} rotations"] = lambda n=n: (*small_matrices.prefixes(n), "array")  # type: ignore[misc]
    return made


def compared(case: Case) -> Measured:
    """The estimate and the seconds of one Jacobian."""
    f, x, result = case
    primals = x if isinstance(x, tuple) else (x,)
    made: list[Any] = []
    plain = jacobian_programs._made

    def noted(*given: Any) -> Any:
        made.append(plain(*given))
        return made[-1]

    jacobian_programs._made = noted
    try:
        jacobian = ct.jacobian(f, result=result)  # type: ignore[arg-type]
        jacobian(*primals)
    finally:
        jacobian_programs._made = plain
    return measured(made[-1].program, [np.asarray(part) for part in primals], lambda: jacobian(*primals))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=list(cases()), help="programs")
    given = parser.parse_args()
    ct.set_num_threads(1)
    ratios = []
    for name, make in cases().items():
        if given.only is None or name in given.only:
            found = compared(make())
            ratios.append(found.ratio)
            print(f"{name:32s} {found.ratio:6.2f}  {found}")
    within = sum([0.5 <= ratio <= 2.0 for ratio in ratios])
    print(f"{within} of {len(ratios)} estimates are within 0.5 and 2 of what was measured; median {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
