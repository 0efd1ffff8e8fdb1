"""
Nine pushes instead of 200
==========================

Four steps of a heat equation read four neighbours on each side, so the Jacobian is a band of nine diagonals. Columns that
share no row get the same colour, and one push of a sum of columns gives all entries of a colour. catad finds the colours
from the structure of the program, without looking at numbers.
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

n = 200
step = ct.stencil(lambda a, b, c: b + 0.2 * (a - 2.0 * b + c) * b, (-1, 0, 1))
heat = ct.iterate(step, 4)
x = 1.0 + np.random.default_rng(0).random(n)

plan = ct.plan(heat, x, explicit=True, cost="operations")
colours = plan.compare()["basis"].colours
J = ct.jacobian(heat, mode=plan)(x)
dense = J.todense()
pushed = np.stack([ct.jvp(heat, (x,), (np.eye(n)[c::colours].sum(axis=0),))[1] for c in range(colours)], axis=1)
read = np.zeros((n, n))
for column in range(n):
    rows = slice(max(0, column - 4), column + 5)
    read[rows, column] = pushed[rows, column % colours]
assert colours == 9 and np.allclose(read, dense, atol=1e-14)
print(f"{J}: {n} columns, {colours} colours")

figure, (pattern, sums) = plt.subplots(1, 2, figsize=(7, 4), layout="constrained", width_ratios=(4, 1))
seen = 45  # of the rows and columns
shown = np.where(dense != 0, np.arange(n) % colours, np.nan)
pattern.imshow(shown[:seen, :seen], cmap="tab10", vmin=0, vmax=9)
pattern.set(title=f"a corner of the Jacobian, {colours} colours", xlabel="column", ylabel="row")
sums.imshow(np.where(pushed != 0, np.arange(colours), np.nan)[:seen], cmap="tab10", vmin=0, vmax=9)
sums.set(title="pushed sums", xlabel="colour", yticks=[])
plt.show()
