"""What a plan tells about itself: text, tables and a picture; the methods of `ct.Plan` that choose nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from catad import errors, upward
from catad.category.spaces import Value
from catad.drawing.render import render
from catad.linear.structure import Structure
from catad.planner.chains.factors import Factors
from catad.planner.costs.cost import Cost, Model, amount
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.costs.measure import Measured, measured
from catad.planner.costs.what_if import Axes, WhatIf, axes_of, what_if
from catad.planner.memory.loop_snapshots import lines, loops_in
from catad.planner.memory.recompute import parts_of
from catad.planner.planned_program import factors_of_list, lengths_of
from catad.planner.reports.compare import Comparison, comparison, notes
from catad.planner.reports.pictures import drawn_bars, page_of
from catad.planner.strategy import Runnable, Strategy
from catad.support.tables import aligned

if TYPE_CHECKING:
    from catad.planner.plan import Plan


SHOWN = 40  # steps that are printed; of more, the first and the last


class Reports:
    """The reports of a plan."""

    def table(self: Plan) -> str:  # type: ignore[misc]  # the only class that inherits it
        """The plan beside its rivals: operations, bytes, peak; then one line for each step."""
        return "\n".join([*_rows(self.rows, self.strategy.columns, self.request.model), *_step_lines(self.strategy)])

    def explain(self: Plan) -> str:  # type: ignore[misc]
        """One line on the plan and its rivals, the steps, and what applying all factors to a basis, unmultiplied, would take."""
        own = self.strategy
        return "\n".join([_headline(self), *_step_lines(own), *own.ending(), *_notes(self)])

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
        linear = upward.linearize(self.program.term, *primals)[1]
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
        """A picture, SVG text: a bracketing as a tree; a graph with the numbers of elimination and the edges of fill dashed.

        Of more than 60 vertices, and of long chains, the middle is left out; the picture says so. Raises `PlanError` for a plan
        of `ct.plan_chain`, which has no picture.

        >>> import catad as ct
        >>> ct.plan([(80, 100), (50, 80), (3, 50)]).draw().count("<rect")
        5
        """
        headline = _headline(self)
        return render(self.strategy.drawn(), headline, headline)

    def draw_bars(self: Plan) -> str:  # type: ignore[misc]
        """Bars, SVG text: the cost of forward mode, of reverse mode and of the plan, and the peak of memory of each.

        A dashed line shows a bound below all orders, where the plan is not known to be optimal. Rivals are planned for it.

        >>> import catad as ct
        >>> ct.plan([(80, 100), (50, 80), (3, 50)]).draw_bars().count("<rect")
        6
        """
        return drawn_bars(self, _headline(self))

    def animate(self: Plan) -> str:  # type: ignore[misc]
        """The steps one after the other, SVG text that moves by itself: vertices that go and their fill, products that come.

        It needs no script, and stands still where the reader prefers reduced motion. A plan with more than 40 vertices, 40
        factors and products, or 200 edges, is the picture of `draw`. Raises `PlanError` for a plan of `ct.plan_chain`.

        >>> import catad as ct
        >>> graph = ct.Graph([(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)], inputs=[0, 1], outputs=[4, 5])
        >>> "@keyframes" in ct.plan_graph(graph).animate()
        True
        """
        headline = _headline(self)
        return render(self.strategy.drawn(moving=True), headline, headline)

    def _repr_html_(self: Plan) -> str:  # type: ignore[misc]
        return page_of(self, _headline(self), [*self.strategy.ending(), *_notes(self)])

    def _repr_svg_(self: Plan) -> str | None:  # type: ignore[misc]
        with suppress(errors.PlanError):
            return self.draw()
        return None

    def __repr__(self: Plan) -> str:  # type: ignore[misc]
        return f"<plan {_headline(self)}>"


# -- plans for people: one line, a table, the steps


def _headline(plan: Plan) -> str:
    """`R^403 -> R^329, 3 factors: 20,262,754 operations (reverse 37,150,022, forward 45,505,954), optimal`."""
    own, model = plan.strategy, plan.request.model
    spent = ([] if model is None else [amount(own.cost.value, model)]) + [f"{own.cost.operations:,} {own.unit}"]
    names = [name for name in own.compared(plan.request) if name != own.mode]
    rows = plan.rows if names else {}
    rivals = [f"{name} {amount(rows[name].value, model)}" for name in names]
    beside = f" ({', '.join(rivals)})" if rivals else ""
    return f"{own.subject}: {', '.join(spent)}{beside}, {_proof(plan)}"


def _proof(plan: Plan) -> str:
    """The bound on how far a plan is from the best, in words."""
    if plan.exact:
        return ", ".join(["optimal", *plan.strategy.but])
    if plan.mode not in ("auto", "elimination"):
        return plan.mode
    proof = f"the best order is at most {plan.gap:.1%} cheaper" if plan.bound else "not known to be optimal"
    return f"{proof}: {plan.strategy.stopped}" if plan.strategy.stopped else proof


def _notes(plan: Plan) -> list[str]:
    own = plan.program
    loops = []
    if own is not None and own.rooms:
        most = f"value and pullback: at most {plan.cost.peak:,} bytes alive at a time"
        loops = [most, *lines(loops_in(parts_of(own.source), own.dom), own.rooms)]
    return [*loops, *(notes(plan.strategy, plan.request) if isinstance(plan.strategy, Runnable) else [])]


def _rows(named: Mapping[str, Cost], fields: Sequence[str], model: Model) -> list[str]:
    """Named costs: operations, bytes and peak, and what was made small."""
    columns = [("", *named), ("operations", *[f"{cost.operations:,}" for cost in named.values()])]
    columns += [(field, *[f"{getattr(cost, field):,}" for cost in named.values()]) for field in fields]
    if model is not None:
        name = "time" if isinstance(model, CostProfile) else "cost"
        columns.append((name, *[amount(cost.value, model) for cost in named.values()]))
    return aligned(list(zip(*columns, strict=True)))


def _step_lines(strategy: Strategy) -> list[str]:
    """One line for each step; the middle of a long list is left out."""
    lines = strategy.lines()
    if len(lines) <= SHOWN:
        return lines
    return [*lines[: SHOWN // 2], f"  ... {len(lines) - SHOWN} more steps ...", *lines[-SHOWN // 2 :]]
