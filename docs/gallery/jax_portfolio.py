"""
A JAX program that calls catad
==============================

A portfolio of five shares should fall as little as it can from its highest value so far. ``catad.jax.as_function`` makes
the largest drawdown, written in NumPy, a function that JAX differentiates and compiles with the rest: the softmax of the
weights and the descent are JAX's. Central differences agree with the gradient.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import catad.jax

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(7)
market = 0.012 * rng.standard_t(4, size=(750, 1))
returns = 0.0004 + market * rng.uniform(-0.2, 1.4, 5) + 0.008 * rng.normal(size=(750, 5))


def wealth(weights):  # its logarithm after each day
    return np.cumsum(np.log1p(returns @ weights))


def drawdown(weights):
    """How far the wealth falls below its highest value so far, smoothed over the worst days."""
    falls = np.maximum.accumulate(wealth(weights)) - wealth(weights)
    return np.log(np.mean(np.exp(200.0 * falls))) / 200.0


in_jax = catad.jax.as_function(drawdown)


@jax.jit
def step(scores):
    value, slope = jax.value_and_grad(lambda scores: in_jax(jax.nn.softmax(scores)))(scores)
    return scores - 20.0 * slope, value


even = np.full(5, 0.2)
differences = [(drawdown(even + h) - drawdown(even - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
assert np.allclose(jax.grad(in_jax)(even), differences, rtol=1e-6)
scores, values = jnp.zeros(5), []
for _ in range(60):
    scores, value = step(scores)
    values.append(value)
best = np.asarray(jax.nn.softmax(scores))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=(3, 2))
for weights, name in ((even, "even weights"), (best, "after 60 steps")):
    logs = wealth(weights)
    line = left.plot(logs, linewidth=1, label=f"{name}: falls by {np.max(np.maximum.accumulate(logs) - logs):.3f}")
    left.fill_between(range(750), logs, np.maximum.accumulate(logs), alpha=0.2, color=line[0].get_color())
left.set(xlabel="day", title="log wealth and its falls")
left.legend()
right.plot(values)
right.set(xlabel="step", title="smooth drawdown")
plt.show()
