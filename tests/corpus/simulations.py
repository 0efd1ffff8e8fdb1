"""Plain NumPy programs of numerical analysis and physics: loops, writes in place, slices, loops that data end."""

import numpy as np


def pendulum(y, g, friction):
    return np.array([y[1], -g * np.sin(y[0]) - friction * y[1]])


def rk4(y0, g, friction, dt=0.05, steps=40):
    """The classical Runge-Kutta method; the energy is watched on the way."""
    y = y0
    energy = 0.0
    for _ in range(steps):
        k1 = pendulum(y, g, friction)
        k2 = pendulum(y + dt / 2 * k1, g, friction)
        k3 = pendulum(y + dt / 2 * k2, g, friction)
        k4 = pendulum(y + dt * k3, g, friction)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        energy = energy + y[1] ** 2 / 2 - g * np.cos(y[0])
    return y, energy / steps


def sinkhorn(cost, a, b, eps, tol=1e-13):
    """The regularised cost of transport, and how many sweeps it took."""
    k = np.exp(-cost / eps)
    u = np.ones(len(a))
    v = np.ones(len(b))
    sweeps, error = 0, np.inf
    while error > tol and sweeps < 500:
        u = a / (k @ v)
        v = b / (k.T @ u)
        error = np.abs(u * (k @ v) - a).sum()
        sweeps += 1
    plan = u[:, None] * k * v
    return (plan * cost).sum(), sweeps


def accelerations(position, mass, soft):
    acc = np.zeros_like(position)
    for i in range(len(mass)):
        for j in range(len(mass)):
            if i != j:
                d = position[j] - position[i]
                acc[i] += mass[j] * d / (d @ d + soft**2) ** 1.5
    return acc


def n_body(position, velocity, mass, dt=0.05, steps=18, soft=0.1):
    """The leapfrog method; the arguments are overwritten, as a simulation would do it."""
    velocity += dt / 2 * accelerations(position, mass, soft)
    for _ in range(steps):
        position += dt * velocity
        velocity += dt * accelerations(position, mass, soft)
    kinetic = 0.5 * np.sum(mass * (velocity**2).sum(axis=1))
    return position, velocity, kinetic


def tridiagonal(lower, diag, upper, rhs):
    """The solution of a tridiagonal system, in the memory of copies (Thomas)."""
    n = len(diag)
    d, x = diag.copy(), rhs.copy()
    for i in range(1, n):
        w = lower[i - 1] / d[i - 1]
        d[i] -= w * upper[i - 1]
        x[i] -= w * x[i - 1]
    x[-1] /= d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / d[i]
    return x


def mandelbrot(cr, ci, most=60):
    """The smooth number of steps until escape."""
    zr, zi = 0.0, 0.0
    for k in range(most):  # noqa: B007
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        if zr * zr + zi * zi > 16.0:
            break
    else:
        return most + 0.0 * (zr + zi), k
    return k + 1 - np.log(np.log(zr * zr + zi * zi)) / np.log(2), k


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_gradient(x):
    g = np.zeros_like(x)
    inner = x[1:] - x[:-1] ** 2
    g[:-1] = -400.0 * x[:-1] * inner - 2 * (1 - x[:-1])
    g[1:] += 200.0 * inner
    return g


def lbfgs(x, steps=6, memory=3):
    """Nocedal's two loops over a history in lists, with a line search that halves its step."""
    history = []
    g = rosenbrock_gradient(x)
    for _ in range(steps):
        q = g.copy()
        alphas = []
        for s, y, rho in reversed(history):
            alpha = rho * (s @ q)
            q -= alpha * y
            alphas.append(alpha)
        if history:
            s, y, rho = history[-1]
            q *= (s @ y) / (y @ y)
        else:
            q *= 1e-3
        for (s, y, rho), alpha in zip(history, reversed(alphas), strict=True):
            q += s * (alpha - rho * (y @ q))
        step, slope, value = 1.0, -(g @ q), rosenbrock(x)
        while rosenbrock(x - step * q) > value + 1e-4 * step * slope and step > 1e-8:
            step = step / 2
        new = x - step * q
        new_g = rosenbrock_gradient(new)
        s, y = new - x, new_g - g
        history.append((s, y, 1.0 / (y @ s)))
        if len(history) > memory:
            history.pop(0)
        x, g = new, new_g
    return x, rosenbrock(x)


def flux(u, gamma):
    density, momentum, energy = u
    speed = momentum / density
    pressure = (gamma - 1) * (energy - 0.5 * momentum * speed)
    return np.stack([momentum, momentum * speed + pressure, (energy + pressure) * speed]), np.abs(speed) + np.sqrt(
        gamma * pressure / density
    )


def finite_volume(u, dt_dx, gamma=1.4, steps=4):
    """The Euler equations of gas in a tube: Rusanov's flux between cells, ghost cells at the ends."""
    u = u.copy()
    for _ in range(steps):
        u[:, 0], u[:, -1] = u[:, 1], u[:, -2]
        f, c = flux(u, gamma)
        fastest = np.maximum(c[1:], c[:-1])
        between = 0.5 * (f[:, 1:] + f[:, :-1]) - 0.5 * fastest * (u[:, 1:] - u[:, :-1])
        u[:, 1:-1] -= dt_dx * (between[:, 1:] - between[:, :-1])
    return u[:, 1:-1]


def k_means_step(points, centers):
    """Points go to the nearest center, centers to the mean of their points."""
    distances = ((points[:, None] - centers) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=1)
    sums = np.zeros_like(centers)
    counts = np.zeros(len(centers))
    np.add.at(sums, nearest, points)
    np.add.at(counts, nearest, 1.0)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1.0)[:, None], centers), nearest


def bundle_adjustment(camera, point, weight, feature):
    """The error of one observation (ADBench): rotation by an axis, projection, radial distortion."""
    rotation, center, focal, principal, radial = camera[:3], camera[3:6], camera[6], camera[7:9], camera[9:]
    moved = point - center
    square = np.sum(rotation * rotation)
    if square > 0:
        theta = np.sqrt(square)
        w = rotation / theta
        turned = (
            np.cos(theta) * moved + np.sin(theta) * np.cross(w, moved) + w * (np.dot(w, moved) * (1 - np.cos(theta)))
        )
    else:
        turned = moved + np.cross(rotation, moved)
    flat = turned[:2] / turned[2]
    r2 = np.sum(flat * flat)
    scaled = flat * (1 + radial[0] * r2 + radial[1] * r2 * r2)
    return weight * (scaled * focal + principal - feature), 1 - weight * weight
