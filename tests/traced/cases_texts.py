"""Programs whose texts, records and pictures are tested: of three numbers x, y, a matrix a and an integer k."""

from __future__ import annotations

TEXT = """
# identity
return x

# a constant
return 2.0

# nothing
return ()

# twice the argument
return x, x

# numbers
return 1 - x * 2 + 3.5 / x ** 2 - (-2) ** x % 3 // 2 + -x ** -1 + 2 ** -x

# numbers that are simplified
return x * 1 + x * 0 + x ** 1 + x - 0.0, x / 1, 1 * x

# infinities
return x * np.inf + np.nan * x - -np.inf

# comparisons
return (x < 2) & (1.0 <= x) | ~(x != y) ^ (x == 3), x > y

# integers
return k // 2 * 3 % 5, k << 2, k >> 1, k & 3 | 4 ^ k, ~k, -k

# integers with floats
return k * x, x * k, k / 2, k + 1.5, np.float32(2) * x

# float32
z = x.astype(np.float32)
return z * 2, z + x, z * np.float64(2), z ** 2, z @ z

# bools
b = x > 0
return b + b, b * 2, b.sum(), b * b, b.astype(float) - 1

# matrices
return a @ a.T @ a, x @ a.T[:3], (a @ a.T).T

# names twice
h = x * 2
h = h + h
h = np.sin(h) * h
return h - h * h

# keywords and names of the package
ct_ = x * 2
np_ = ct_ + x
lambda_ = np_ * np_
t1 = lambda_ + x
return t1 * t1 + np_ * ct_

# a chain
for _ in range(12):
    x = np.sin(x) * x + 1
return x

# a long expression
r = np.sin(np.exp(-np.abs(np.tanh(np.sin(x * y) + np.cos(x / y)) * np.arctan2(x, y)) ** 2) * 3)
return np.sin(np.cos(np.sqrt(np.abs(np.tanh(np.sin(r * y) + np.cos(r / y)) * np.arctan2(r, y)) ** 2) * 3))

# a dictionary
p = {'w': x, 'b': y}
return {'s': p['w'] * p['b'], 'd': p['w'] - p['b']}

# a helper
def g(u, v=2.0):
    return u * v + y
return g(g(x), 3.0) + g(v=1, u=y)

# slices
return a[1:, 0], a[::-1, ::2], a[..., None], a[-1], a[None, 1:3, :-1]

# indices
return a[k], a[k, :], a[:, k % 5], a[INDEX], a[INDEX, 1], a[:, INDEX], A[k], A[INDEX, k]

# masks
return x[MASK], np.where(x > 0, x, y), np.where(x > y, 1.0, x)

# views
r = a[1:3]
r += 1
a[0] = r[1]
t = a.T
t[0] += 2.0
return a, r

# writes
z = np.zeros(5)
z[1:4] = x
z[k % 5] += 1
z[INDEX] = 3.0
z *= 2
return z

# masked writes
z = x.copy()
z[z > 0] = 0.5
z[MASK] -= 1
return z

# captured arrays
return A[:3, 0] * x + A[0, 0] + np.sum(A @ np.arange(5.0)) + (A * 0 + 1)[0, :3]

# zeros and ones
return np.zeros((20, 3)) + x, np.ones(3) * y, np.full((4, 5), 2.0, np.float32), np.arange(30)

# reductions
return a.sum(0), a.max(axis=1, keepdims=True), a.mean(), x.prod(), a.argmax(), np.cumsum(x), a.std(axis=0)

# shapes
return a.reshape(5, -1), a.ravel(), np.concatenate([x, y]), np.stack([x, y], 1), x[:, None] * y

# an if
if x[0] > 0:
    z = x * 2
else:
    z = y
return z

# an if with writes
z = np.zeros(3)
if x[0] > y[0]:
    z[0] = x[0]
    s = 1.0
else:
    s = y[1]
return z, s

# early returns
if x[0] > 1:
    return x
if y[0] > 1:
    return y * 2
return x - y

# chained ifs
s = x.sum()
if s > 2:
    r = s
elif s > 1:
    r = s * s
else:
    r = -s
return r + (1.0 if r > 0 and s < 5 else s)

# a while
n = 0
while np.sum(x * x) > 1.0 and n < 50:
    x = x / 2
    n += 1
return x, n

# a while with break
s = 0.0
while True:
    s = s + 0.3
    if s > x[0]:
        break
return s * y

# a rolled loop
h = x
for i in range(40):
    h = np.tanh(h * y) + i * 0.1
return h

# a range that depends on data
s = 0.0
for _ in range(k):
    for __ in range(k + 1):
        s = s + x[0] * y[1]
return s * x

# names of what is not read
_ = x * 2
__, _ = np.divmod(_ * _ + 1, y)
return _ * __ + _

# loops in loops
s = 0.0
for i in range(20):
    for row in a:
        s = s + row[0] * i
    if s > 10:
        s = s - x[0]
return s

# rows
out = np.zeros(len(A))
for i in range(len(A)):
    out[i] = A[i] @ a[0]
for j in range(30):
    out[j % 8] *= 1.01
return out

# a loop with outer arrays
z = a * 1
for t in range(25):
    z[1:-1] = 0.5 * (z[2:] + z[:-2])
    z[0, t % 5] += x[0]
return z

# a loop whose index is not used, left early
s = x[0]
for _ in range(25):
    if s > 9.0:
        break
    s = s + y[0] ** 2
return s

# a function inside
g = ct.function(lambda u, v: np.sin(u) * v)
return g(x, y) + g(y, g(x, x))

# gradients inside
return ct.grad(lambda u: np.sum(u ** 3))(x) + ct.jvp(ct.sin, (x,), (y,))[1]

# morphisms inside
f = ct.sin >> ct.exp
return f(x) + f(y) + ct.matmul(x, y) + (ct.exl >> ct.times(2.0))(x, y)

# several results
q, r = np.divmod(x, y)
m = ct.fork(ct.sin, ct.cos)(q)
return m[0] * m[1] + m[0] - r
"""

PROGRAMS = dict(part.split("\n", 1) for part in TEXT.strip().removeprefix("# ").split("\n# "))
