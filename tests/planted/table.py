"""The bugs: a line of the package, what stands there with the bug, and the tests that are run first."""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """One wrong line: `old` stands once in the file, and `new` in its place is silent where no test looks."""

    name: str
    file: str
    old: str
    new: str
    tests: str


BUGS = [
    Bug(
        "the derivative of a cosine has the other sign",
        "scalar/rules.py",
        '"cos": (lambda y, x: neg(apply("sin", x)),)',
        '"cos": (lambda y, x: apply("sin", x),)',
        "scalar/test_scalar_partials.py",
    ),
    Bug(
        "a polygamma's derivative has its own order",
        "scalar/rules.py",
        'return apply("polygamma", x, value=y.value + 1)',
        'return apply("polygamma", x, value=y.value)',
        "scalar/test_scalar_partials.py",
    ),
    Bug(
        "of two equal numbers the second is the larger one",
        "scalar/rules.py",
        '"maximum": lambda a, b: apply("or", apply("ge", a, b)',
        '"maximum": lambda a, b: apply("or", apply("gt", a, b)',
        "vector/test_rules.py",
    ),
    Bug(
        "a delta transposes to one without its factor",
        "linear/delta.py",
        "self.cod_dtype, self.dom_dtype, self.slot_dtype, self.factor)",
        "self.cod_dtype, self.dom_dtype, self.slot_dtype, 1.0)",
        "linear/test_constructors.py",
    ),
    Bug(
        "what a gather adds back loses its weight",
        "linear/gather.py",
        "(x,) = b.add(ScatterAdded(self.how), slots[0], self.weighted(v, slots))",
        "(x,) = b.add(ScatterAdded(self.how), slots[0], v)",
        "linear/test_constructors.py",
    ),
    Bug(
        "links of a recurrence from behind are one step off",
        "linear/recurrence.py",
        "slots = [xp.concatenate([a[:1], a[:-1]]) for a in slots]",
        "slots = list(slots)",
        "vector/test_combinators.py",
    ),
    Bug(
        "a run with a negative step begins one too far",
        "linear/clear.py",
        "start, step = start + step * (count - 1), -step",
        "start, step = start + step * count, -step",
        "vector/test_index_and_at.py",
    ),
    Bug(
        "a chain of one factor asks itself",
        "linear/by_parts.py",
        "    if len(parts) == 1:\n",
        "    if not parts:\n",
        "linear/test_diagonal.py",
    ),
    Bug(
        "joined pairs that overflow stay joined",
        "linear/prefixes.py",
        "lost = _sound(xp, first) & _sound(xp, second) & ~_sound(xp, joined)",
        "lost = _sound(xp, first) & ~_sound(xp, first)",
        "vector/test_not_finite.py",
    ),
    Bug(
        "a contraction's coefficient has the labels of its own operand",
        "linear/contract.py",
        "kept = set(self.out) | set(self.operands[k])",
        "kept = set(self.out)",
        "vector/test_rules.py",
    ),
    Bug(
        "equal primitives on other wires are one box",
        "wiring.py",
        "key = (primitive, tuple([wire.number for wire in ins]))",
        "key = (primitive, tuple([wire.number for wire in ins[:1]]))",
        "core/test_terms.py",
    ),
    Bug(
        "a program for another number of steps is taken",
        "term_cache.py",
        "                if not entry.loops or trip_counts.hold(entry.loops):",
        "                if True:",
        "engine/test_while_counts.py",
    ),
    Bug(
        "functions that assign globals work on a copy of them",
        "frozen.py",
        'return any(step.opname == "STORE_GLOBAL" for one',
        'return any(step.opname == "STORE_NOTHING" for one',
        "core/test_frozen.py",
    ),
    Bug(
        "what nothing reaches is multiplied all the same",
        "functors.py",
        "        if not live.isdisjoint(node.ins):\n            live.update",
        "        if node:\n            live.update",
        "core/test_derivatives.py",
    ),
    Bug(
        "a gradient with respect to the last of several arguments is the first",
        "gradients.py",
        "i + len(factors) if i < 0 else i",
        "i + len(factors) - 1 if i < 0 else i",
        "core/test_derivatives.py",
    ),
    Bug(
        "a view is taken for memory of its own",
        "buffers.py",
        "return array.base is None or type(array.base) is _Block",
        "return True",
        "core/test_ownership.py",
    ),
    Bug(
        "negative indices reach the last bin",
        "vector/bins.py",
        "return xp.where((index >= 0) & (index < bins), index, bins)",
        "return xp.where(index < bins, index % (bins + 1), bins)",
        "vector/test_combinators.py",
    ),
    Bug(
        "sorting does not keep the order of equal numbers",
        "vector/sort.py",
        'return xp.argsort(arrays[0], axis=self.axis, kind="stable")',
        "return xp.argsort(-arrays[0], axis=self.axis)[..., ::-1]",
        "vector/test_sort.py",
    ),
    Bug(
        "an overwritten place still passes its tangent on",
        "vector/overwrite.py",
        "run(ax.n_out, ax.c, ax.t, ax.m) for ax in axes",
        "run(ax.n_out, ax.c, ax.t, 0) for ax in axes",
        "vector/test_index_and_at.py",
    ),
    Bug(
        "Revolve takes the steps of a segment once too often",
        "vector/revolve.py",
        "return r * n - before * (kept + r) // (kept + 1), min(before, n - after)",
        "return r * n, max(1, min(before, n - after) - 1)",
        "vector/test_loops.py",
    ),
    Bug(
        "the estimate of memory forgets what a loop holds",
        "planner/live.py",
        "return most + primitive.held()",
        "return most",
        "planner/test_plan_memory.py",
    ),
    Bug(
        "arrays that may be one are taken as apart",
        "traced/aliases.py",
        "if any(other is not buffer and other.has_changed(var, region)",
        "if any(other is buffer and other.has_changed(var, region)",
        "traced/test_aliases.py",
    ),
    Bug(
        "a branch restores nothing for its second side",
        "traced/branch.py",
        "self.taken, self.again = False, True",
        "self.taken, self.again = True, True",
        "traced/test_control.py",
    ),
    Bug(
        "slices with a step start one place late",
        "traced/slicing.py",
        "return value_of(x.trace_, extent.start + form * extent.step)",
        "return value_of(x.trace_, extent.start + form)",
        "traced/test_ragged.py",
    ),
    Bug(
        "trips that touch the same cells are done at once",
        "simt/trips.py",
        "    if not _alone([node for part",
        "    if False and not _alone([node for part",
        "simt/test_trips.py",
    ),
    Bug(
        "some threads of a warp may pass its barrier",
        "simt/barriers.py",
        "(rows[:, k : k + team] == rows[:, k : k + 1]).all()",
        "(rows[:, k : k + team] == rows[:, k : k + team]).all()",
        "simt/test_misuse_of_kernels.py",
    ),
    Bug(
        "a stage reads a producer by another access",
        "engine/stages/fuse_producers.py",
        "if load.wire < 0 or load.by >= 0 or load.access != straight(rank):",
        "if load.wire < 0 or load.by >= 0:",
        "engine/test_cpu_fuse_producers.py",
    ),
    Bug(
        "a reset keeps the state before it",
        "engine/stages/resets.py",
        'scalar.apply("select", scalar.param(0), zero, scalar.param(1))',
        'scalar.apply("select", scalar.param(0), scalar.param(1), scalar.param(1))',
        "engine/test_resets.py",
    ),
    Bug(
        "the last piece of a divided stage is left out",
        "engine/cpu/run/threads.py",
        "return list(zip(bounds, [*bounds[1:], n], strict=True))",
        "return list(zip(bounds, [*bounds[1:], units * multiple], strict=True))",
        "engine/test_cpu_threads.py",
    ),
    Bug(
        "tiles of a fold leave their totals in one place",
        "engine/cpu/nests/folds.py",
        'place = w.set(f"mul i64 {unit}, {8 * len(self.states)}")',
        'place = w.set(f"mul i64 {unit}, 8")',
        "engine/test_cpu_programs.py",
    ),
    Bug(
        "the last lanes of a loop are those of the block before",
        "engine/cpu/whole/lanes.py",
        "start = text.w.least(first, str(self.size - LANES))",
        "start = text.w.least(first, str(max(0, self.size - LANES - 1)))",
        "engine/test_whole_lanes.py",
    ),
    Bug(
        "code of another file is run",
        "engine/store.py",
        "    if content[:_HEAD] != _head(name, payload):",
        "    if content[: len(_MAGIC)] != _MAGIC:",
        "engine/test_store.py",
    ),
    Bug(
        "full folders lose their profiles of costs",
        "engine/store.py",
        'if entry.is_file() and not entry.name.endswith(".json")]',
        "if entry.is_file()]",
        "engine/test_store.py",
    ),
    Bug(
        "warps of a block wait for each other one lane short",
        "engine/cuda/folds.py",
        'w.when(w.set(f"icmp slt i64 {lane}, {last}"), self._join_two)',
        'w.when(w.set(f"icmp sle i64 {lane}, {last}"), self._join_two)',
        "cuda/test_folds.py",
    ),
    Bug(
        "a scan's threads trust sums that an infinity is in",
        "engine/cuda/scans.py",
        'self._doubt(self.w.set(f"fcmp uge {kind}',
        'self._doubt(self.w.set(f"fcmp ugt {kind}',
        "cuda/test_scans.py",
    ),
    Bug(
        "Python integers are floats",
        "calling.py",
        "_NUMBERS = {float: np.float64, int: np.int64, bool: np.bool_}",
        "_NUMBERS = {float: np.float64, int: np.float64, bool: np.bool_}",
        "core/test_numbers.py",
    ),
    Bug(
        "what a mask reads is not changed in place",
        "traced/operators.py",
        'assign(target.full, made.full, "same_kind")\n        return target',
        "return made",
        "traced/test_aliases.py",
    ),
    Bug(
        "differences are trusted at kinks",
        "testing/drawn/slopes.py",
        "return value, bool(meets and",
        "return value, bool(",
        "drawn/test_drawn_functions.py",
    ),
]
