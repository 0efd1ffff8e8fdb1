"""Numbers of Rosenbrock methods, from the papers that are named beside them; `rosenbrock.py` says what they multiply."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class RosenbrockTableau:
    """A method of some order with an error estimate, which is of the order `error_order`.

    The other fields are g, the rows of a_ij and of C_ij (`before`) for earlier stages j, and of each stage c_i, d_i, m_i, and e_i
    with the error estimate `sum_i e_i u_i`. The rows of `dense` give vectors `k_r = sum_i dense_ri u_i`. With them the solution
    at a part s of the step is `(1 - s) y0 + s (y1 + (1 - s) (k_1 + s (k_2 + ...)))`.
    """

    name: str
    order: int
    error_order: int
    gamma: float
    a: tuple[tuple[float, ...], ...]
    before: tuple[tuple[float, ...], ...]
    c: tuple[float, ...]
    d: tuple[float, ...]
    m: tuple[float, ...]
    e: tuple[float, ...]
    dense: tuple[tuple[float, ...], ...]


# G. Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential Equations
# package, 2023
_END = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)
RODAS5P = RosenbrockTableau(
    name="rodas5p",
    order=5,
    error_order=4,
    gamma=0.21193756319429014,
    a=(
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _END,
        (*_END, 1.0),
        (*_END, 1.0, 1.0),
    ),
    before=(
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (
            30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
            -28.087943162872662,
        ),
        (
            37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
            -54.66780262877968, -9.48861652309627,
        ),
    ),
    c=(0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0),
    d=(
        0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069, 0.0, 0.0, 0.0,
    ),
    m=(*_END, 1.0, 1.0, 1.0),
    e=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    dense=(
        (
            25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
            1.1241088310450404, 0.4272876194431874, -0.17202221070155493,
        ),
        (
            -9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
            15.98066361424651, -6.789040303419874, -6.710236069923372,
        ),
        (
            11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
            -59.78993625266729, -0.15582684282751913, 4.883087185713722,
        ),
    ),
)  # fmt: skip

# L. F. Shampine and M. W. Reichelt, The MATLAB ODE Suite, 1997, with the stages u_1 = g h k_1, u_2 = g h (k_2 - k_1) and
# u_3 = g h (k_3 - e_32 (k_2 - k_1) - 2 k_1)
_G, _E32 = 1.0 / (2.0 + math.sqrt(2.0)), 6.0 + math.sqrt(2.0)
ROSENBROCK23 = RosenbrockTableau(
    name="rosenbrock23",
    order=2,
    error_order=2,
    gamma=_G,
    a=((), (0.5 / _G,), (1.0 / _G, 1.0 / _G)),
    before=((), (-1.0 / _G,), (-2.0 / _G, -_E32 / _G)),
    c=(0.0, 0.5, 1.0),
    d=(_G, 0.0, -_G),
    m=(1.0 / _G, 1.0 / _G, 0.0),
    e=(1.0 / (6.0 * _G), (_E32 - 2.0) / (6.0 * _G), 1.0 / (6.0 * _G)),
    dense=((0.0, -1.0 / (_G * (1.0 - 2.0 * _G)), 0.0),),
)

ROSENBROCK = {one.name: one for one in (RODAS5P, ROSENBROCK23)}
