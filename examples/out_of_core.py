"""More rows than memory holds: logistic regression on a file that is read chunk by chunk, once for each value with its gradient.

    python examples/out_of_core.py [--quick] [--rows N] [--epochs N] [--folder DIR]

The loss is a plain function. Arrays of Dask are its arguments, so its value and gradient are a graph of tasks, each on one chunk
of rows. Nothing here says how to cut the loss into chunks: the plan shows what becomes of it. On a cluster the same program runs
after `dask.distributed.Client(address)`, with a folder that all workers see.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from dask.diagnostics import ProgressBar

import catad as ct

FEATURES = 16
CHUNK = 1 << 19  # rows: 32 MiB of features


class Rows:
    """An array in a `.npy` file, which is open only while a part of it is read, so that no more of it than that is in memory.

    Dask asks for parts of it as of an array of NumPy. Tasks carry the path, not the numbers. `read` counts the rows that were
    read in this process. The header is read once, here: it is Python text, which two threads of CPython 3.11 cannot parse at the
    same time (its issue 106905).
    """

    def __init__(self, path: Path) -> None:
        array = np.load(path, mmap_mode="r")
        self.path, self.shape, self.dtype, self.ndim = path, array.shape, array.dtype, array.ndim
        self.first = array.offset  # bytes before the numbers
        self.read = 0

    def __getitem__(self, part):
        found = np.array(np.memmap(self.path, self.dtype, "r", self.first, self.shape)[part])
        self.read += len(found)
        return found


def make(folder: Path, rows: int, chunk: int = CHUNK) -> np.ndarray:
    """Write features and labels of a known model, chunk by chunk; returns its weights."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=FEATURES)
    with open(folder / "features.npy", "wb") as features, open(folder / "labels.npy", "wb") as labels:
        for file, shape in ((features, (rows, FEATURES)), (labels, (rows,))):
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for first in range(0, rows, chunk):
            x = rng.standard_normal((min(chunk, rows - first), FEATURES), dtype=np.float32)
            x.tofile(features)
            (rng.random(len(x)) < 1 / (1 + np.exp(-x @ weights))).astype(np.float32).tofile(labels)
    return weights


def loss(weights, features, labels):
    """-log p(labels) of a row, on average."""
    z = features @ weights
    return np.mean(np.logaddexp(0, z) - labels * z)


def chunks_of(source: Rows, chunk: int = CHUNK) -> da.Array:
    """An array of Dask whose chunks are read when they are needed."""
    return da.from_array(source, chunks=(chunk, *source.shape[1:]), name=str(source.path), meta=np.empty(0, source.dtype))


def trained(features: da.Array, labels: da.Array, epochs: int) -> np.ndarray:
    """The weights after some steps down the gradient, each as long as the last change of the gradient says."""
    evaluated = ct.value_and_grad(loss)
    weights = np.zeros(FEATURES, np.float32)
    print(evaluated.plan_chunks(weights, features, labels))
    before = None
    for epoch in range(epochs):
        start = time.perf_counter()
        with ProgressBar():
            value, slope = dask.compute(*evaluated(weights, features, labels))
        print(f"epoch {epoch}: loss {value:.6f}, |gradient| {np.linalg.norm(slope):.1e}, {time.perf_counter() - start:.2f} s")
        rate = 4.0
        if before is not None:
            step, change = weights - before[0], slope - before[1]
            rate = (step @ step) / (step @ change)  # Barzilai & Borwein, IMA Journal of Numerical Analysis 8, 1988
        before = weights, slope
        weights = weights - np.float32(rate) * slope
    return weights


def memory() -> float:
    """The most memory that this process has had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Make the data, show the plan, train; returns the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=30_000_000, help="rows of the data, 68 bytes each")
    parser.add_argument("--epochs", type=int, default=7, help="steps down the gradient")
    parser.add_argument("--folder", type=Path, help="where the data goes; by default a folder that is removed at the end")
    parser.add_argument("--quick", action="store_true", help="200,000 rows in small chunks")
    options = parser.parse_args(arguments)
    rows, chunk = (200_000, 1 << 14) if options.quick else (options.rows, CHUNK)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        truth = make(Path(name), rows, chunk)
        sources = Rows(Path(name, "features.npy")), Rows(Path(name, "labels.npy"))
        print(f"{rows:,} rows, {68 * rows / 1e6:,.0f} MB in files, {68 * chunk / 1e6:.1f} MB in a chunk")
        weights = trained(*[chunks_of(source, chunk) for source in sources], options.epochs)
    print(f"each row was read {sources[0].read / rows:g} times in {options.epochs} epochs")
    print(f"memory of the process at its peak: {memory():,.0f} MB, libraries and compiler included")
    print(f"largest error of a weight: {np.abs(weights - truth).max():.4f}")
    return weights


if __name__ == "__main__":
    main()
