"""Messages of the planner."""

from __future__ import annotations

from collections.abc import Sequence

from catad.errors.base import abbreviated, text


def unknown_result(result: object, names: Sequence[str]) -> str:
    return text(
        "there is no such form of a Jacobian",
        given=abbreviated(result),
        expected=", ".join([f'"{name}"' for name in names]),
        do='"array" gives what `todense` gives, "sparse" what `tocsr` gives, "structured" a `LinearMap`',
    )


def unknown_mode(mode: object, where: str | None = None) -> str:
    return text(
        "there is no such mode",
        given=abbreviated(mode),
        expected='"auto", "forward", "reverse", "elimination", a bracketing such as [[0, 1], 2], or a plan',
        where=where,
    )


def unknown_want(want: object) -> str:
    return text("the planner plans derivatives only", given=f"want={want!r}", expected='"jacobian" or "hessian"')


def unknown_cost(cost: object) -> str:
    return text(
        "there is no such cost",
        given=f"cost={abbreviated(cost)}",
        expected='"operations", "time", a profile, or a function from two structures to a number',
    )


def bad_stage(k: int, name: str, value: object) -> str:
    return text(
        "the size of a stage is not valid",
        given=f"{name}={abbreviated(value)}",
        expected="a finite number, at least 0",
        where=f"stage {k}",
    )


def bad_limit(name: str, value: object, positive: bool = False) -> str:
    bound = "above 0" if positive else "at least 0"
    return text("the limit is not valid", given=f"{name}={abbreviated(value)}", expected=f"None, or a number, {bound}")


def bad_size(size: object, k: int) -> str:
    return text(
        "the size of a matrix is not valid",
        given=abbreviated(size),
        expected="(rows, columns), whole numbers, at least 0",
        where=f"factor {k}",
    )


def bad_factor(factor: object, k: int) -> str:
    return text(
        "this is not a factor of a chain",
        given=f"{abbreviated(factor)} of type {type(factor).__name__}",
        expected="a linear map, a structure, or a size (rows, columns)",
        where=f"factor {k}",
    )


def not_multiplied(thing: object) -> str:
    given, expected = f"{abbreviated(thing)} of type {type(thing).__name__}", "a linear map, or a list of them"
    return text("a plan multiplies linear maps", given=given, expected=expected)


def not_plannable(thing: object) -> str:
    return text(
        "this cannot be planned",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a morphism, a linear map, or a list of factors, the first applied first",
    )


def not_for_a_chain(thing: object) -> str:
    return text(
        "points and want= go with a morphism only",
        given=abbreviated(thing),
        do="plan a list of factors, or a linear map, by itself",
    )


def plan_without_point(term: object) -> str:
    return text(
        "a plan for a morphism needs its domain",
        given=abbreviated(term),
        do="add the space of its argument, e.g. ct.plan(f, ct.f64[3]), or a value",
    )


def plan_without_morphism() -> str:
    return text("the plan was not made for a morphism", do="use plan.multiply(linear map or list of factors)")


def factors_do_not_meet(i: int, cod: str, k: int, dom: str) -> str:
    return text(
        "neighbouring factors do not meet",
        given=f"factor {i} gives {cod}, factor {k} takes {dom}",
        where=f"between factor {i} and factor {k}",
        do="list the factors in the order in which they are applied: a matrix product A @ B @ C is [C, B, A]",
    )


def too_little_memory(limit: object, least: int, exact: bool) -> str:
    known = "this is enough" if exact else "the least among the plans that were tried"
    return text("no plan fits into the memory", given=f"memory={limit} bytes", expected=f"at least {least}: {known}")


def no_such_step(step: object, count: int) -> str:
    return text("the plan has no such step", given=abbreviated(step), expected=f"0 to {count - 1}")


def other_kind_of_plan(wanted: str, kind: str) -> str:
    return text("the plan is of another kind", given=f'kind "{kind}"', expected=f'kind "{wanted}"')


def plan_of_sizes(subject: str) -> str:
    return text("a plan for sizes has no maps", given=subject, do="plan a program, a linear map or a list of factors")


def no_picture(subject: str) -> str:
    return text("this plan has no picture", given=subject, do="see `explain()`")


def too_many_bracketings(n: int, most: int) -> str:
    return text("too many bracketings to list", given=f"{n} factors", expected=f"at most {most}", do="use plan.why(step)")


def no_pair(value: object, place: str) -> str:
    return text(
        "a bracketing is made of pairs",
        given=abbreviated(value),
        expected="two factors, each a number or a pair again",
        where=f"bracketing{place}",
    )


def no_factor_number(value: object, where: str) -> str:
    return text("a factor is named by its number", given=abbreviated(value), expected="a whole number", where=where)


def unknown_factor(k: int, n: int, where: str) -> str:
    return text("a plan names a factor that does not exist", given=f"factor {k}", expected=f"0 to {n - 1}", where=where)


def repeated_factor(k: int, expected: int, where: str) -> str:
    return text(
        "a plan uses a factor twice, or out of order",
        given=f"factor {k}",
        expected=f"factor {expected} next",
        where=where,
        do="name each factor once, in order: only the brackets may move",
    )


def skipped_factor(expected: int, n: int, where: str) -> str:
    return text(
        "a plan leaves out a factor",
        expected=f"factor {expected} here, as all of 0 to {n - 1} in order",
        where=where if where.startswith("bracketing") else f"bracketing, {where}",
    )


def malformed_plan(what: str, line: int, column: int) -> str:
    place = f"line {line}, column {column}"
    return text("the text of a plan is not JSON", given=what, where=place, do="edit only the bracketing, or the order")


def no_plan_text(thing: object) -> str:
    return text(
        "a plan is read from JSON text", given=f"{abbreviated(thing)} of type {type(thing).__name__}", expected="a string"
    )


def missing_field(key: str) -> str:
    return text("a plan lacks a field", given=f'no "{key}"', expected="the text that to_json() gave")


def bad_field(key: str, value: object, expected: str) -> str:
    return text("a field cannot be read", given=abbreviated(value), expected=expected, where=key)


def unwritten_cost(name: str) -> str:
    return text(
        "the text of a plan cannot tell its cost",
        given=f'"{name}"',
        expected="cost=, which prices the plan, or the plan itself as second argument",
        where="request.cost",
        do="ct.Plan.from_json(text, f, x, cost=...)",
    )


def text_recomputes() -> str:
    return text(
        "the plan recomputes parts of a program",
        expected="this program, and the space of its point",
        where="request.recomputed",
        do="ct.Plan.from_json(text, f, x)",
    )


def no_cost_for_sizes(cost: object) -> str:
    return text(
        "a plan of sizes has one cost only",
        given=f"cost={abbreviated(cost)}",
        expected='no cost=, or "operations"',
    )


def other_program(difference: str) -> str:
    return text("the plan is for another program", given=difference, do="plan this one: ct.plan(f, x), and edit that plan")


def bad_edge(k: int, edge: object) -> str:
    return text("an edge is not valid", given=abbreviated(edge), expected="a pair (source, target)", where=f"edge {k}")


def missing_vertex(v: object, n: int, where: str) -> str:
    there = f"a vertex, 0 to {n - 1}" if n else "no vertex: the graph has none"
    return text("there is no such vertex", given=abbreviated(v), expected=there, where=where)


def bad_vertex_size(v: int, size: object) -> str:
    expected = "a whole number, at least 1"
    return text("the size of a vertex is not valid", given=abbreviated(size), expected=expected, where=f"vertex {v}")


def cyclic_graph(cycle: list[int]) -> str:
    path = [str(v) for v in cycle]
    shown = path if len(path) <= 12 else [*path[:8], "...", *path[-3:]]
    return text("the graph has a cycle", given=" -> ".join(shown), expected="a graph in which no vertex depends on itself")


def no_order(order: object) -> str:
    return text("an order of elimination is a list of vertices", given=abbreviated(order), expected="a list of numbers")


def not_eliminable(v: object, k: int) -> str:
    return text(
        "a plan eliminates a vertex that has to stay",
        given=abbreviated(v),
        expected="a vertex that is neither an input nor an output",
        where=f"step {k}",
    )


def eliminated_twice(v: int, k: int) -> str:
    return text("a plan eliminates a vertex twice", given=f"vertex {v}", expected="each vertex once", where=f"step {k}")


def skipped_vertices(skipped: list[int], steps: int) -> str:
    shown = ", ".join(str(v) for v in skipped[:8]) + (", ..." if len(skipped) > 8 else "")
    word = "a vertex" if len(skipped) == 1 else f"{len(skipped)} vertices"
    expected = "every vertex that is neither an input nor an output"
    return text(f"a plan skips {word}", given=shown, expected=expected, where=f"after {steps} step{'' if steps == 1 else 's'}")


def bad_budget(budget: object) -> str:
    return text("the budget is not valid", given=f"budget={abbreviated(budget)}", expected="seconds, more than 0 and finite")


def bad_seed(seed: object) -> str:
    return text("the seed is not valid", given=f"seed={abbreviated(seed)}", expected="a whole number")


def no_chain(thing: object) -> str:
    return text(
        "a chain cannot be read",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a list of factors (rows, columns, edges), in the order in which they are applied",
    )


def no_graph(thing: object) -> str:
    return text(
        "ct.plan_graph takes a graph",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a ct.Graph",
        do="write ct.Graph(edges, inputs, outputs); for a program or a chain of maps, ct.plan",
    )


def bad_bare_factor(factor: object, k: int) -> str:
    return text(
        "a factor of a chain cannot be read",
        given=abbreviated(factor),
        expected="(rows, columns, edges): rows and columns at least 1, edges (the cost of one tangent or adjoint) at least 0",
        where=f"factor {k}",
    )


def bad_count(name: str, value: object) -> str:
    return text(
        "the number of steps or checkpoints is not valid", given=f"{name}={abbreviated(value)}", expected="0, 1, 2, ..."
    )


def no_checkpoint(steps: int) -> str:
    return text(
        "no plan fits into the memory",
        given=f"0 checkpoints for {steps} steps",
        expected="at least 1, for the initial state",
    )


def bad_tape(memory: object) -> str:
    return text(
        "the memory limit is not valid",
        given=f"memory={abbreviated(memory)}",
        expected="edges on the tape of an adjoint, at least 0; 0 is no limit",
    )


def unreadable_file(path: str, reason: str) -> str:
    return text("a file of problems cannot be read", given=reason, where=path)


def malformed_problems(what: str, where: str) -> str:
    return text("a file of problems is not JSON", given=what, where=where)


def no_problems(path: str, sections: tuple[str, ...]) -> str:
    return text("a file has no problems", expected=f"an object with one of {', '.join(sections)}", where=path)


def no_such_problem(prefix: str, names: list[str]) -> str:
    shown = ", ".join(names[:6]) + (f", ... ({len(names)} in all)" if len(names) > 6 else "")
    return text("no problem has such a name", given=repr(prefix), expected=f"the start of one of {shown}" if names else None)


def no_problem(name: str, problem: object) -> str:
    return text("a problem is not valid", given=abbreviated(problem), expected="an object", where=name)


def missing_problem_field(name: str, key: str, expected: str) -> str:
    return text("a problem lacks a field", given=f'no "{key}"', expected=expected, where=name)


def unknown_edge_type(name: str, kind: int, first: int, last: int) -> str:
    return text("the tables do not have this edge type", given=kind, expected=f"{first} to {last}", where=name)


def in_problem(message: str, name: str) -> str:
    """A message about a part of a problem, with the problem's name."""
    return f"{message}\n  {'problem:':<10}{name}"


def no_program(thing: object) -> str:
    return text(
        "only a program has a linear graph to plan",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a morphism, and the values or the spaces of its arguments",
    )


def no_size_named(known: dict[str, int]) -> str:
    return text("what_if needs a size", expected=_sizes(known), do="name it with the lengths to try: plan.what_if(n=[10, 100])")


def no_such_size(name: str, known: dict[str, int]) -> str:
    return text(
        "the program has no such size",
        given=name,
        expected=_sizes(known),
        do='sizes are lengths of axes of the arguments; axes="mn,n" names them otherwise',
    )


def _sizes(known: dict[str, int]) -> str:
    if not known:
        return "nothing: no argument has an axis"
    return "one of " + ", ".join([f"{name} (now {n})" for name, n in known.items()])


def bad_length(name: str, value: object) -> str:
    return text(
        "the size is not valid", given=f"{name}={abbreviated(value)}", expected="a whole number, at least 0, or a list of such"
    )


def uneven_sizes(counts: dict[str, int]) -> str:
    given = ", ".join([f"{n} of {name}" for name, n in counts.items()])
    return text("the lists of sizes differ in length", given=given, expected="one length, or single numbers beside one list")


def bad_axes(subscripts: object, shapes: list[tuple[int, ...]]) -> str:
    return text(
        "the axes of the arguments cannot be named so",
        given=f"axes={abbreviated(subscripts)}",
        expected=f"a letter (or _) for each axis of the shapes {', '.join(map(str, shapes)) or '(none)'}, with commas between",
        do='write axes="mn,n" for a matrix and a vector',
    )


def two_lengths(name: str, first: int, second: int) -> str:
    return text("one name stands for two lengths", given=f"{name}: {first} and {second}", expected="axes of equal length")


def no_program_of_size(sizes: dict[str, int], error: Exception) -> str:
    lines = str(error).splitlines()
    return text(
        "the program does not exist at this size",
        given=", ".join([f"{name}={n}" for name, n in sizes.items()]),
        expected="a size at which the program can be laid out, with its constants as they are",
        where=lines[0] if lines else type(error).__name__,
    )


def no_other_sizes(subject: str) -> str:
    expected = "the plan of a morphism, or of a list of sizes, that recomputes nothing"
    return text("this plan is for one size only", given=subject, expected=expected, do="plan again at the other size")


def recomputed_not_measured(subject: str) -> str:
    return text("no plan that recomputes is measured", given=subject, do="time a call: ct.jacobian(f, mode=plan)(x)")


def bad_rates(rates: object, others: str) -> str:
    return text(
        "the rates of a profile are not valid",
        given=abbreviated(rates),
        expected=f'a tuple of (kind, (launch, byte, operation)), seconds, finite and at least 0, one for "{others}" among them',
    )


def cost_without_hash(cost: object) -> str:
    return text(
        "a cost function needs a hash, by which plans are kept",
        given=abbreviated(cost),
        expected="a function, or an object with __call__ and __hash__",
    )


def every_plan_is_forbidden() -> str:
    return text(
        "the cost forbids every plan",
        given="infinity for some product of each plan that was tried",
        expected="a finite cost for the products of one plan at least",
    )


def no_finite_pattern(structure: str, rows: int, columns: int, limit: int) -> str:
    return text(
        "the map has no sparse form",
        given=f"{structure}, {rows} x {columns}, in which every entry can differ from zero",
        expected=f"a map whose pattern is known, or one of at most {limit} numbers",
        do='take result="structured", and apply the map',
    )


def not_measured(library: str) -> str:
    return text("only arrays of NumPy are measured", given=f"arrays of {library}", expected="a point of NumPy arrays")
