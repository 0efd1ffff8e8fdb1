"""What a plan tells about itself: text, tables and a picture; the methods of `ct.Plan` that choose nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catad import errors
from catad.category.spaces import Value
from catad.linear.structure import Structure
from catad.planner.chains.factors import Factors
from catad.planner.costs.measure import Measured, measured
from catad.planner.costs.what_if import Axes, WhatIf, axes_of, what_if
from catad.planner.planned_program import factors_of_list, lengths_of
from catad.planner.reports import report
from catad.planner.reports.compare import Comparison, comparison
from catad.support.late import late

if TYPE_CHECKING:
    from catad.planner.plan import Plan


class Reports:
    """The reports of a plan."""

    def table(self: Plan) -> str:  # type: ignore[misc]  # the only class that inherits it
        """The plan beside its rivals: operations, bytes, peak; then one line for each step."""
        return report.table(self)

    def explain(self: Plan) -> str:  # type: ignore[misc]
        """One line on the plan and its rivals, then the steps."""
        return report.explain(self)

    def compare(self: Plan) -> Comparison:  # type: ignore[misc]
        """What each way of making the same map costs: operations, seconds, bytes, and what storing and using the result takes.

        The ways are "planned", "forward", "reverse", "basis" (vectors pushed or pulled through all factors, by colours where the
        pattern is known), "bracketing" and "elimination". A way is left out where it does not fit the memory. The result prints
        as a table; it is a dict from ways to `Compared`. Raises `PlanError` for a plan of sizes alone.

        >>> import catad as ct
        >>> step = ct.stencil(lambda a, b, c: b + 0.1 * (a - 2.0 * b + c) * b, (-1, 0, 1))
        >>> found = ct.plan(ct.iterate(step, 2), ct.f64[100], explicit=True, cost="operations").compare()
        >>> found["basis"].colours, found["basis"].stored
        (5, 500)
        """
        return comparison(self._multiplied, self.structure, self.request)

    @property
    def sizes(self: Plan) -> dict[str, int]:  # type: ignore[misc]
        """The sizes that `what_if` takes, by their names: the lengths of the axes of the arguments, equal lengths being one size.

        For a list of sizes (rows, columns), those of the spaces between the matrices.

        >>> import catad as ct
        >>> ct.plan(ct.einsum("ij,j->i"), ct.f64[3, 4], ct.f64[4]).sizes
        {'n': 3, 'm': 4}
        """
        return self._axes(None).sizes

    def what_if(self: Plan, axes: str | None = None, **sizes: int | Sequence[int]) -> WhatIf:  # type: ignore[misc]
        """The cost of this plan's order at other sizes, that of the best order there, and where another order becomes the best.

        Sizes are named by keywords, each a length of at least 0 or a list of lengths; `plan.sizes` has the names: n, m, k, l, p
        and so on for the distinct lengths of the axes of the arguments, in the order in which they come. `axes` names them
        otherwise, as the subscripts of `einsum` do: with "mn,n", n is an axis of a matrix and of a vector, and m stays as it is
        unless it is named, too; "_" is an axis that always keeps its length. Several lists go together, one row each. Each size
        is planned by a search of its own. The result is a dict from sizes to costs, prints as a table, and has `changes`.
        Raises `PlanError` for a size that the program does not have, one that is no length, and one at which the program cannot
        be laid out, before anything is planned.

        >>> import catad as ct
        >>> shift = ct.stencil(lambda a, b: a * b, (0, 1))
        >>> plan = ct.plan(shift >> ct.sin >> ct.sum(), ct.f64[100], cost="operations")
        >>> plan.what_if(n=[10, 1000])
            n  this plan   best
           10         10     10
        1,000      1,000  1,000
        one order is the best at all of these
        """
        return what_if(self._multiplied, self._axes(axes), sizes, self.request, self._at_lengths)

    def _axes(self: Plan, axes: str | None) -> Axes:  # type: ignore[misc]
        if self.origin is not None and not self.runs_alone:
            return axes_of([leaf.shape for leaf in self.origin.dom.leaves], axes)
        own = self._multiplied
        lengths = lengths_of(own.chain) if self.structure is None else None
        if lengths is None or self.runs_alone:
            raise errors.PlanError(errors.no_other_sizes(own.subject))
        return axes_of([lengths], axes)

    def _at_lengths(self: Plan, lengths: Sequence[int]) -> Structure | Factors:  # type: ignore[misc]
        if self.origin is not None:
            return self.origin.at(lengths)
        return factors_of_list(list(zip(lengths[1:], lengths, strict=False)))

    def measure(self: Plan, *primals: Value) -> Measured:  # type: ignore[misc]
        """The seconds that the products of the plan take at a point, beside their estimate by the profile of the engine.

        A small program that runs often is compiled as one function. It runs until that has happened, and is then timed: the least
        of several runs. Linearizing is not among it. Raises `PlanError` for a plan without a morphism, for one that recomputes,
        and for arrays that are not of NumPy.

        >>> import catad as ct, numpy as np
        >>> shift = ct.stencil(lambda a, b: a * b, (0, 1))
        >>> found = ct.plan(shift >> shift, ct.f64[100], explicit=True).measure(np.ones(100))
        >>> found.seconds > 0 and found.estimate > 0
        True
        """
        if self.program is None:
            raise errors.PlanError(errors.plan_without_morphism())
        own = self._multiplied
        if self.runs_alone:
            raise errors.PlanError(errors.recomputed_not_measured(own.subject))
        linear = late().linearize(self.program.term, *primals)[1]
        self.multiply(linear)
        if not own.execution.wiring.boxes:
            return Measured(0.0, 0.0, False)
        return measured(own.execution.program, [linear.slots[k] for k in range(len(own.chain.slots))])

    def by_columns_and_rows(self: Plan) -> tuple[int, int]:  # type: ignore[misc]
        """The operations of the same map by pushing every column of a basis through all factors, and by pulling every row.

        These are forward and reverse mode without structure: one application for each column, or row, of the map.

        >>> import catad as ct
        >>> ct.plan(ct.sin, ct.f64[1000]).by_columns_and_rows()
        (1000000, 1000000)
        """
        return self._multiplied.by_columns_and_rows()

    def draw(self: Plan) -> str:  # type: ignore[misc]
        """A picture, SVG text: a bracketing as a tree; a graph with the numbers of elimination and the edges of fill dashed."""
        return self.strategy.draw(report.headline(self))

    def _repr_svg_(self) -> str:
        return self.draw()  # type: ignore[misc]

    def __repr__(self: Plan) -> str:  # type: ignore[misc]
        return f"<plan {report.headline(self)}>"
