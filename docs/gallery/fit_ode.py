"""
Hares and lynxes: an ODE fitted to data
=======================================

The equations of Lotka and Volterra are fitted to pelts of the Hudson's Bay Company, in thousands a year (C. Hewitt, The
Conservation of the Wild Life of Canada, 1921). The Jacobian of the residuals goes through ``ct.odeint``; it also gives
the bands of two deviations. SciPy's integrator gives the same curves.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import catad as ct

hare = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
lynx = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
years, pelts = np.arange(21.0), np.array([hare.split(), lynx.split()], float).T


def growth(t, y, p):
    """The slopes of hares and lynxes."""
    return np.stack([(p[0] - p[1] * y[1]) * y[0], (p[3] * y[0] - p[2]) * y[1]])


populations = ct.odeint(growth, steps=8)  # of equal length, in each year


def curves(log_p, times):
    """The logarithms of both numbers, from those of four rates and of the numbers of the first year."""
    return np.log(populations(np.exp(log_p[4:]), times, np.exp(log_p[:4])))


@ct.function
def residuals(log_p):
    """How far the equations are from the data; errors multiply, so logarithms are compared."""
    return np.ravel(curves(log_p, years) - np.log(pelts))


start = np.log([0.5, 0.02, 0.5, 0.02, 30.0, 4.0])
found = least_squares(residuals, start, jac=ct.jacfwd(residuals), xtol=1e-10)
covariance = 2.0 * found.cost / (pelts.size - 6) * np.linalg.inv(found.jac.T @ found.jac)
p, deviations = np.exp(found.x), np.sqrt(np.diag(covariance))
print(*[f"{name} = {value:.3f} +- {value * d:.3f}" for name, value, d in zip("abcd", p, deviations, strict=False)])

times = np.linspace(0.0, 20.0, 201)
middle, by_p = curves(found.x, times), ct.jacfwd(curves)(found.x, times)
width = 2.0 * np.sqrt(np.einsum("tki,ij,tkj->tk", by_p, covariance, by_p))
theirs = solve_ivp(growth, (0.0, 20.0), p[4:], t_eval=times, args=(p[:4],), rtol=1e-9, atol=1e-9).y.T
assert np.allclose(np.exp(middle), theirs, rtol=1e-5)

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for k, name in enumerate(("hares", "lynxes")):
    axes.plot(1900 + years, pelts[:, k], f"C{k}o", markersize=4)
    axes.plot(1900 + times, np.exp(middle[:, k]), f"C{k}", label=name)
    axes.fill_between(1900 + times, *np.exp(middle[:, k] + [[-1], [1]] * width[:, k]), color=f"C{k}", alpha=0.2)
axes.set(ylabel="pelts (thousands)", xticks=range(1900, 1921, 4))
figure.legend(ncols=2, loc="outside upper center")
plt.show()
