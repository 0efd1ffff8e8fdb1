"""What a plan tells about itself: text, tables and a picture; the methods of `ct.Plan` that choose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catad.planner import report
from catad.planner.compare import Comparison, comparison

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
