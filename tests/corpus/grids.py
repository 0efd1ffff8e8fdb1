"""Plain NumPy programs on grids and particles: stencils in place, ghost cells that are views, masks, charges spread by index."""

import numpy as np


def cavity(u, v, p, dt=0.001, nu=0.1, steps=18, sweeps=3):
    """Flow in a box with a moving lid; the three fields are overwritten by helpers."""
    h = 2.0 / (len(u) - 1)
    source = np.zeros_like(p)
    for _ in range(steps):
        old_u, old_v = u.copy(), v.copy()
        divergence(source, u, v, dt, h)
        for _ in range(sweeps):
            relax(p, source, h)
        u[1:-1, 1:-1] -= dt / (2 * h) * (p[1:-1, 2:] - p[1:-1, :-2]) - carried(old_u, old_u, old_v, dt, h, nu)
        v[1:-1, 1:-1] -= dt / (2 * h) * (p[2:, 1:-1] - p[:-2, 1:-1]) - carried(old_v, old_u, old_v, dt, h, nu)
        u[0], u[:, 0], u[:, -1], u[-1] = 0, 0, 0, 1
        v[0], v[-1], v[:, 0], v[:, -1] = 0, 0, 0, 0
    return u, v, p


def divergence(source, u, v, dt, h):
    ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * h), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * h)
    cross = (u[2:, 1:-1] - u[:-2, 1:-1]) * (v[1:-1, 2:] - v[1:-1, :-2]) / (4 * h * h)
    source[1:-1, 1:-1] = (ux + vy) / dt - ux**2 - 2 * cross - vy**2


def relax(p, source, h):
    around = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
    p[1:-1, 1:-1] = 0.25 * (around - h * h * source[1:-1, 1:-1])
    p[:, -1] = p[:, -2]
    p[0, :] = p[1, :]
    p[:, 0] = p[:, 1]
    p[-1, :] = 0


def carried(w, u, v, dt, h, nu):
    inner = w[1:-1, 1:-1]
    moved = u[1:-1, 1:-1] * (inner - w[1:-1, :-2]) + v[1:-1, 1:-1] * (inner - w[:-2, 1:-1])
    spread = w[1:-1, 2:] + w[1:-1, :-2] + w[2:, 1:-1] + w[:-2, 1:-1] - 4 * inner
    return dt * (nu / h**2 * spread - moved / h)


def reaction(u, v, feed=0.035, kill=0.065, steps=18):
    """Two substances that react and spread (Gray and Scott). The inner cells are views of arrays with ghost cells."""
    outer = np.pad(u, 1, mode="wrap"), np.pad(v, 1, mode="wrap")
    u, v = (w[1:-1, 1:-1] for w in outer)
    for _ in range(steps):
        lu, lv = (w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:] - 4 * w[1:-1, 1:-1] for w in outer)
        uvv = u * v * v
        u += 0.16 * lu - uvv + feed * (1 - u)
        v += 0.08 * lv + uvv - (feed + kill) * v
        for w in outer:
            w[0, :], w[-1, :] = w[-2, :], w[1, :]
            w[:, 0], w[:, -1] = w[:, -2], w[:, 1]
    return u, v


def multigrid(f, cycles=2):
    """Poisson's equation on a line, by V-cycles: a function that calls itself on every second point."""
    u = np.zeros_like(f)
    for _ in range(cycles):
        v_cycle(u, f, 1.0 / (len(f) - 1))
    return u


def v_cycle(u, f, h):
    smooth(u, f, h)
    if len(u) > 3:
        rest = f.copy()
        rest[1:-1] += (u[:-2] - 2 * u[1:-1] + u[2:]) / h**2
        coarse = np.zeros((len(u) + 1) // 2)
        v_cycle(coarse, rest[::2].copy(), 2 * h)
        u += np.interp(np.arange(len(u)), np.arange(0, len(u), 2), coarse)
    smooth(u, f, h)


def smooth(u, f, h):
    for _ in range(2):
        u[1:-1] = 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1])


def plasma(x, v, cells=6, steps=18):
    """Charged particles in a periodic box: charge is spread over two cells, the field is read from them."""
    for _ in range(steps):
        cell = np.floor(x).astype(int)
        right = x - cell
        density = np.zeros(cells)
        np.add.at(density, cell % cells, 1 - right)
        np.add.at(density, (cell + 1) % cells, right)
        field = np.cumsum(density * cells / len(x) - 1)
        field -= field.mean()
        v -= 0.05 * ((1 - right) * field[cell % cells] + right * field[(cell + 1) % cells])
        x = (x + 0.05 * v) % cells
    return x, v


def pendulum_on_cart(state, gains, steps=30):
    """What it costs to hold a pendulum upright: a control that saturates, four numbers as state."""
    x, v, angle, spin = state
    cost = 0.0
    for _ in range(steps):
        force = np.clip(-(gains @ np.array([x, v, angle, spin])), -10.0, 10.0)
        s, c = np.sin(angle), np.cos(angle)
        push = (force + 0.05 * spin**2 * s) / 1.1
        turned = (9.8 * s - c * push) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        x, v, angle, spin = x + 0.02 * v, v + 0.02 * (push - 0.05 * turned * c / 1.1), angle + 0.02 * spin, spin + 0.02 * turned
        cost += x**2 + 10 * angle**2 + 0.1 * force**2
    return cost


def march(x, y, radius, most=40):
    """Rays that go on until all of them have met a ball or a floor: distances under a mask, a loop that data end."""
    depth = np.zeros_like(x)
    hit = np.zeros(x.shape, dtype=bool)
    n = 0
    while n < most and not np.all(hit):
        ball = np.sqrt((x + 0.1 * x * depth) ** 2 + y**2 + (depth - 3.0) ** 2) - radius
        distance = np.minimum(ball, y + 2.0)
        depth = np.where(hit, depth, depth + distance)
        hit |= distance < 1e-3
        n += 1
    return np.where(hit, 1.0 / (1.0 + depth), 0.0), n


STARTS, COLUMNS = np.array([0, 2, 5, 5, 9, 12]), np.array([0, 3, 1, 2, 4, 0, 1, 3, 4, 2, 3, 4])


def sparse_product(values, x):
    """A matrix of which only entries that are not 0 are stored, row by row, times a vector. Where they stand is from outside."""
    y = np.empty(len(STARTS) - 1)
    for i in range(len(y)):
        row = slice(STARTS[i], STARTS[i + 1])
        y[i] = values[row] @ x[COLUMNS[row]]
    return y


def median_filter(image):
    """The median of each pixel and its neighbours."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, 1, mode="edge"), (3, 3))
    return np.median(windows.reshape(*image.shape, 9), axis=-1)
