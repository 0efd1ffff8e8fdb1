"""The cell update of an HM-LSTM and its gradients in one pass, beside reverse mode box by box, beside JAX, and beside PyTorch.

The cell (J. Revels et al., Dynamic automatic differentiation of GPU broadcast kernels, 2018, section 3.1) takes one of three
branches, as the gates z and zb say. Wanted are its value and the cotangents of c, f, i and g for a given cotangent, float32,
n x n; the gates have shape (n, 1) or (n, n), and are random or all alike. Measured are

- fused: the function with its `if`s, forward mode inside reverse, one pass over memory;
- where: the same in one term of `ct.where`s, whose boxes catad fuses before it differentiates them;
- boxes: those boxes one by one, each a stage of its own with its pullback, both sides of each branch: as a tape has it;
- jax.jit and torch.compile, where they are installed: value and pullback in one compiled function, on arrays that are theirs;
- copy: `np.copyto` of five of the arrays to five others, the traffic of the cell with (n, 1) gates, on one thread or all.

Prints a table, draws it, and writes it as JSON too:

    python examples/experiments/hm_lstm.py [--sizes N ...] [--json FILE] [--out DIR] [--rounds N] [--no-peers]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import measuring
import numpy as np

import catad as ct

WANTED = ct.fork(ct.proj(2), ct.proj(3), ct.proj(4), ct.proj(5))
GATES = {"random rows": ("(n, 1)", True), "uniform rows": ("(n, 1)", False),
         "random": ("(n, n)", True), "uniform": ("(n, n)", False)}  # fmt: skip
BOUNDED = 1024  # n from which on the bounds hold
Runs = dict[str, Callable[[], Any]]

# -- the cell, five times


def cell(z: Any, zb: Any, c: Any, f: Any, i: Any, g: Any) -> Any:
    if z == 1:
        return ct.sigmoid(i) * ct.tanh(g)
    elif zb == 0:  # noqa: RET505 (the three branches as the paper has them)
        return c
    else:
        return ct.sigmoid(f) * c + ct.sigmoid(i) * ct.tanh(g)


def with_cotangents(f: ct.D) -> ct.D:
    """((z, zb, c, f, i, g), w) to the value and the cotangents of c, f, i and g."""
    return ct.fork(ct.exl >> f, ct.reverse_differential(f) >> WANTED)


def fused() -> ct.D:
    return with_cotangents(ct.map(cell))


def by_where() -> ct.D:
    """Both sides of each branch, chosen from afterwards."""
    flush = ct.fork(ct.proj(4) >> ct.sigmoid, ct.proj(5) >> ct.tanh) >> ct.mul
    update = ct.fork(ct.fork(ct.proj(3) >> ct.sigmoid, ct.proj(2)) >> ct.mul, flush) >> ct.add
    flushed, copied = ct.proj(0) >> ct.map(lambda z: z == 1), ct.proj(1) >> ct.map(lambda zb: zb == 0)
    return with_cotangents(ct.fork(flushed, flush, ct.fork(copied, ct.proj(2), update) >> ct.where) >> ct.where)


def by_boxes(x: tuple[np.ndarray, ...], w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Reverse mode, a box at a time: each gives its value and a pullback, and the pullbacks run in the opposite order."""
    z, zb, c, f, i, g = x
    si, back_si = ct.vjp(ct.sigmoid, i)
    tg, back_tg = ct.vjp(ct.tanh, g)
    sf, back_sf = ct.vjp(ct.sigmoid, f)
    flush, back_flush = ct.vjp(ct.mul, si, tg)
    kept, back_kept = ct.vjp(ct.mul, sf, c)
    update, back_update = ct.vjp(ct.add, kept, flush)
    inner, back_inner = ct.vjp(ct.where, zb == 0, c, update)
    value, back_value = ct.vjp(ct.where, z == 1, flush, inner)
    _, dflush, dinner = back_value(w)
    _, dc, dupdate = back_inner(dinner)
    dkept, dflush2 = back_update(dupdate)
    dsf, dc2 = back_kept(dkept)
    dsi, dtg = back_flush(ct.add(dflush, dflush2))
    return value, ct.add(dc, dc2), *back_sf(dsf), *back_si(dsi), *back_tg(dtg)


def by_jax(x: tuple[np.ndarray, ...], w: np.ndarray) -> tuple[str, Callable[[], Any]]:
    """JAX's name and version, and a call that ends when the arrays are there."""
    import jax
    import jax.numpy as jnp

    def whole(z: Any, zb: Any, w: Any, *rest: Any) -> Any:
        def own(c: Any, f: Any, i: Any, g: Any) -> Any:
            flush = jax.nn.sigmoid(i) * jnp.tanh(g)
            return jnp.where(z == 1, flush, jnp.where(zb == 0, c, jax.nn.sigmoid(f) * c + flush))

        value, pullback = jax.vjp(own, *rest)
        return (value, *pullback(w))

    jitted = jax.jit(whole)
    args = [jax.device_put(a) for a in (x[0], x[1], w, *x[2:])]
    return f"jax.jit {jax.__version__}", lambda: jax.block_until_ready(jitted(*args))


def by_torch(x: tuple[np.ndarray, ...], w: np.ndarray, device: str = "cpu") -> tuple[str, Callable[[], Any]]:
    """PyTorch's name and version, and a call: one graph with `func.vjp`, faster than `autograd.grad` of a compiled cell."""
    import torch

    torch.set_num_threads(ct.get_num_threads())

    @torch.compile(fullgraph=True, dynamic=False)
    def whole(z: Any, zb: Any, w: Any, *rest: Any) -> Any:
        def own(c: Any, f: Any, i: Any, g: Any) -> Any:
            flush = torch.sigmoid(i) * torch.tanh(g)
            return torch.where(z == 1, flush, torch.where(zb == 0, c, torch.sigmoid(f) * c + flush))

        value, pullback = torch.func.vjp(own, *rest)
        return (value, *pullback(w))

    args = [torch.from_numpy(a).to(device) for a in (x[0], x[1], w, *x[2:])]
    return f"torch.compile {torch.__version__}", lambda: whole(*args)


# -- measuring


def arguments(n: int, gates: str) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The point and the cotangent. Gates that are all alike take the branch that costs most."""
    shape, random = GATES[gates]
    rng = np.random.default_rng(n)
    size = (n, 1) if shape == "(n, 1)" else (n, n)
    z, zb = (rng.integers(0, 2, size) for _ in range(2)) if random else (np.zeros(size), np.ones(size))
    c, f, i, g, w = (rng.standard_normal((n, n), dtype=np.float32) for _ in range(5))
    return (z.astype(np.float32), zb.astype(np.float32), c, f, i, g), w


def copying(x: tuple[np.ndarray, ...], w: np.ndarray) -> Runs:
    """Copying five arrays to five others, by one thread and by one a core."""
    sources = [*x[2:], w]
    targets = [np.zeros_like(a) for a in sources]
    threads = ct.get_num_threads()
    pool = ThreadPoolExecutor(threads)

    def piece(k: int) -> None:
        for source, target in zip(sources, targets, strict=True):
            rows = slice(len(source) * k // threads, len(source) * (k + 1) // threads)
            np.copyto(target[rows], source[rows])

    def alone() -> None:
        for source, target in zip(sources, targets, strict=True):
            np.copyto(target, source)

    return {"copy, one thread": alone, "copy, all threads": lambda: list(pool.map(piece, range(threads)))}


def runs_of(x: tuple[np.ndarray, ...], w: np.ndarray, peers: bool) -> tuple[Runs, dict[str, str]]:
    """What there is to run, by name, and why a peer is missing."""
    one, other = fused(), by_where()
    runs: Runs = {"fused": lambda: one(x, w), "where": lambda: other(x, w), "boxes": lambda: by_boxes(x, w)}
    missing: dict[str, str] = {}
    for name, peer in (("jax.jit", by_jax), ("torch.compile", by_torch)) if peers else ():
        try:
            title, run = peer(x, w)
            run()
        except Exception as error:  # not installed, or no compiler for it: the row says so
            missing[name] = f"{name} is not here: {type(error).__name__}: {str(error).splitlines()[0][:80]}"
        else:
            runs[title] = run
    return runs, missing


def agree(runs: Runs) -> None:
    """All compute the same, or their times mean nothing."""
    expected = None
    for name, run in runs.items():
        found = [np.asarray(a) for a in _flat(run())]
        expected = expected or found
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6, err_msg=name)


def _flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _flat(part)] if isinstance(value, tuple | list) else [value]


def measure(n: int, gates: str, rounds: int, peers: bool) -> dict[str, Any]:
    """One size with one kind of gates."""
    x, w = arguments(n, gates)
    runs, missing = runs_of(x, w, peers)
    agree(runs)
    everything = measuring.side_by_side({**runs, **copying(x, w)}, rounds, settled=True)
    taken = {name: everything[name] for name in runs}
    copied = min(s for name, s in everything.items() if name not in runs)
    moved = sum(a.nbytes for a in (*x, w)) + 5 * w.nbytes
    bandwidth = 10 * w.nbytes / copied
    begun = time.process_time()
    for _ in range(rounds):
        runs["fused"]()
    processor = (time.process_time() - begun) / rounds
    return {
        "n": n, "gates": gates, "processor": processor,
        "shape": GATES[gates][0], "seconds": taken, "missing": missing, "copy": copied, "bytes": moved,
        "bandwidth": moved / taken["fused"], "of copy": moved / taken["fused"] / bandwidth,
    }  # fmt: skip


def bounds(rows: list[dict[str, Any]]) -> list[measuring.Bound]:
    """What the fused form should reach with random gates, where the arrays are larger than the caches."""
    out = []
    for row in rows:
        if not row["gates"].startswith("random") or row["n"] < BOUNDED:
            continue
        theirs = {name: s for name, s in row["seconds"].items() if name.startswith(("jax", "torch"))}
        work = f"HM-LSTM value + 4 cotangents, {row['n']}^2, z {row['shape']}"
        reached = (
            f"{row['of copy']:.0%} of what copying reaches, {row['bytes'] / 1e6:.0f} MB in "
            f"{1e3 * row['seconds']['fused']:.1f} ms ({1e3 * row['processor']:.1f} ms of processors)"
        )
        if theirs:
            name = min(theirs, key=lambda name: theirs[name])
            ceiling = theirs[name] / (row["bytes"] / (10 * 4 * row["n"] ** 2 / row["copy"]))
            ratio = theirs[name] / row["seconds"]["fused"]
            why = f"{reached}; {name} takes {ceiling:.2f} times as long as copying"
            out.append(measuring.Bound(work, name, ratio, 3.0 if row["shape"] == "(n, 1)" else 2.0, True, why))
        if row["shape"] == "(n, 1)":
            out.append(measuring.Bound(work, "bytes / copy bandwidth", row["of copy"], 0.75, True, reached))
    return out


def races(rows: list[dict[str, Any]]) -> list[measuring.Race]:
    """The fused form with random gates, beside each other form and library, and beside copying."""
    out = []
    for row in rows:
        mine = row["seconds"]["fused"]
        if row["gates"].startswith("random"):
            work = f"value and 4 cotangents, {row['n']}^2, gates {row['shape']}"
            for name, seconds in row["seconds"].items():
                if name not in ("fused", "where"):
                    note = f"{1e3 * mine:.2f} ms against {1e3 * seconds:.2f} ms"
                    out.append(measuring.Race(work, "reverse mode box by box" if name == "boxes" else name, mine / seconds, note))
            note = f"{row['of copy']:.0%} of the bandwidth of copying"
            out.append(measuring.Race(work, "copying as many bytes", 1.0 / row["of copy"], note))
    return out


def main() -> None:
    found = measuring.options(
        __doc__,
        sizes={"type": int, "nargs": "+", "default": [512, 1024, 2048], "help": "n"},
        gates={"nargs": "+", "default": list(GATES), "choices": list(GATES), "help": "which gates"},
        no_peers={"action": "store_true", "help": "without JAX and PyTorch"},
    )
    rows = [measure(n, gates, found.rounds, not found.no_peers) for n in found.sizes for gates in found.gates]
    names = list(dict.fromkeys(name for row in rows for name in row["seconds"]))
    head = ("gates", "n", *[f"{name} ms" for name in names], "copy ms", "GB/s", "of copy")
    lines = [
        (
            f"{row['gates']} {row['shape']}", f"{row['n']}",
            *[f"{1e3 * row['seconds'][name]:.2f}" if name in row["seconds"] else "-" for name in names],
            f"{1e3 * row['copy']:.2f}", f"{row['bandwidth'] / 1e9:.2f}", f"{row['of copy']:.0%}",
        )
        for row in rows
    ]  # fmt: skip
    print(measuring.table(head, lines))
    for note in {note for row in rows for note in row["missing"].values()}:
        print(note)
    panels = []
    for gates in found.gates:
        own = [row for row in rows if row["gates"] == gates]
        series = {
            name: ([row["n"] for row in own], [1e3 * row["seconds"][name] for row in own])
            for name in names
            if all(name in row["seconds"] for row in own)
        }
        panels.append(measuring.Panel(f"{gates} {GATES[gates][0]}", "n", "value + 4 cotangents / ms", series))
    measuring.chart(found.out, "hm_lstm", panels)
    measuring.report(found, rows, bounds(rows), races(rows))


if __name__ == "__main__":
    main()
