"""Kernels and their derivatives: Black-Scholes Greeks, contraction, histogram, tree reduction, two launches, a plan."""

import math

import numpy as np

import catad as ct
from catad.simt import atomic, blockIdx, grid, shared, syncthreads, threadIdx


def normal_cdf(d):
    """The normal distribution."""
    return 0.5 * math.erfc(-d / math.sqrt(2.0))


@ct.kernel
def black_scholes(spot, strike, years, call):
    """The price of a call for each option, at a rate of 2 % and a volatility of 30 % a year."""
    i = grid(1)
    if i < len(spot):
        root = 0.3 * math.sqrt(years[i])
        d = (math.log(spot[i] / strike[i]) + (0.02 + 0.045) * years[i]) / root
        call[i] = spot[i] * normal_cdf(d) - strike[i] * math.exp(-0.02 * years[i]) * normal_cdf(d - root)


@ct.kernel
def contraction(a, b, c):
    """c[p, q, e, f] = sum over k of a[p, q, k] b[k, e, f], one thread for each entry of c."""
    n = grid(1)
    if n < 36:
        p, q, e, f = n // 18, n // 6 % 3, n // 2 % 3, n % 2
        s = 0.0
        for k in range(4):
            s += a[p, q, k] * b[k, e, f]
        c[p, q, e, f] = s


@ct.kernel
def histogram(bins, weights, counts):
    """The sum of the weights in each bin."""
    i = grid(1)
    if i < len(bins):
        atomic.add(counts, bins[i], weights[i])


@ct.kernel
def block_sums(x, sums):
    """The sum of each block of 64, in shared memory, in six halving steps."""
    s = shared.array(64, np.float64)
    t, i = threadIdx.x, grid(1)
    s[t] = x[i] if i < len(x) else 0.0
    syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        syncthreads()
        half //= 2
    if t == 0:
        sums[blockIdx.x] = s[0]


@ct.kernel
def heat_step(u, after):
    """One step of the heat equation; the ends stay zero."""
    i = grid(1)
    if i > 0 and i < len(u) - 1:
        after[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])


@ct.function
def mean_square(x):
    """Host code that launches two kernels: the blocks' sums, and the sum of those."""
    first = block_sums[16, 64](x * x, np.zeros(16))
    return block_sums[1, 64](first, np.zeros(1))[0] / len(x)


def main() -> None:
    """Run all of them and print what they give."""
    options = np.array([10.0, 20.0, 25.0]), np.array([12.0, 15.0, 30.0]), np.array([1.0, 0.5, 3.0])
    price = black_scholes.forall(3).returning("call", like="spot")
    value, pull = ct.vjp(price, *options)
    delta, by_strike, theta = pull(np.ones(3))
    print("prices", value.round(4), "delta", delta.round(4), "by strike", by_strike.round(4), "by time", theta.round(4))

    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(4, 3, 2)
    c = contraction[1, 64](a, b, np.zeros((2, 3, 3, 2)))
    print("contraction", np.array_equal(c, np.einsum("pqk,kef->pqef", a, b)))

    bins, weights = np.array([0, 1, 1, 3, 0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    f = histogram[1, 8]
    print("histogram", f(bins, weights, np.zeros(4)))
    print(f.explain(bins, weights, np.zeros(4)))

    x = np.linspace(0.0, 1.0, 1000)
    print("mean of squares", mean_square(x).round(6), np.allclose(ct.grad(mean_square)(x), 2.0 * x / 1000))

    step = heat_step.forall(60).returning("after", like="u")
    print(ct.plan(step >> ct.square >> ct.sum(), ct.f64[60], cost="operations").explain())


if __name__ == "__main__":
    main()
