"""
A hologram by the gradient of a Fourier transform
=================================================

A plate shifts the phase of a light beam at each of 64 x 64 points, and a lens makes the Fourier transform of the field.
Which phases give the picture on the left? L-BFGS finds them with the gradient of a program of complex numbers. Light is
neither lost nor made, by Parseval's identity, and the gradient agrees with a central difference in a random direction.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import catad as ct

n = 64
y, x = np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
ring = np.abs(np.hypot(x, y) - 0.6) < 0.06
wave = np.abs(y - 0.25 * np.sin(5 * x)) < 0.06
wanted = (ring | (wave & (np.abs(x) < 0.45))).astype(float)
wanted /= np.sum(wanted)
beam = np.exp(-2.0 * (x**2 + y**2))
beam /= np.sqrt(np.sum(beam**2))


def light(phases):
    """The intensity behind the lens."""
    field = np.fft.fft2(beam * np.exp(1j * phases), norm="ortho")
    return np.fft.fftshift(np.abs(field) ** 2)


def loss(phases):
    """How far the intensity is from the picture."""
    return 1e3 * np.sum((np.reshape(light(np.reshape(phases, (n, n))), -1) - wanted.ravel()) ** 2)


start = 6.0 * np.random.default_rng(2).random(n * n)
found = minimize(ct.value_and_grad(loss), start, jac=True, method="L-BFGS-B", options={"maxiter": 150})
made = light(found.x.reshape(n, n))
assert np.isclose(np.sum(made), 1.0)
step = 1e-5 * np.random.default_rng(3).normal(size=n * n)
difference = loss(start + step) - loss(start - step)
assert np.isclose(2.0 * ct.grad(loss)(start) @ step, difference, rtol=1e-5)
print(f"loss {loss(start):.3f} before, {found.fun:.4f} after {found.nit} steps")

figure, grid = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
pictures = (wanted, "inferno"), (np.mod(found.x.reshape(n, n), 2 * np.pi), "twilight"), (made, "inferno")
for axes, (values, colours), title in zip(grid, pictures, ("wanted", "phases", "light"), strict=True):
    axes.imshow(values, cmap=colours, vmax=None if colours == "twilight" else 1.3 * wanted.max())
    axes.set(title=title, xticks=[], yticks=[])
plt.show()
