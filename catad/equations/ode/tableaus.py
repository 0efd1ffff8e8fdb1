"""Tableaus of explicit Runge-Kutta methods: numbers from the papers that are named beside them.

A step of length h from (t, y) has the slopes `k_i = f(t + c_i h, y + h sum_j a_ij k_j)`. It ends at `y + h sum_i b_i k_i`. The
slope at the end is the last one here. Where the last row of a method is b, as that of Dormand and Prince, the method has this
slope anyway, and it is the first slope of the next step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F


@dataclass(frozen=True)
class Tableau:
    """An explicit method of some order.

    Coefficients `a` are the rows below the first. `e` are the weights of an error estimate of order `error_order`, one for each
    slope and one for that at the end; empty without one. `d` are the weights of what dense output of fourth order adds to the
    cubic of values and slopes at both ends (`dense_output.py`), empty where that is enough.
    """

    name: str
    order: int
    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    e: tuple[float, ...] = ()
    error_order: int = 0
    d: tuple[float, ...] = ()

    @property
    def ends_with_slope(self) -> bool:
        """Whether the last slope of the method is that at the end of the step."""
        return len(self.a) > 0 and self.c[-1] == 1.0 and self.a[-1] == self.b[:-1] and self.b[-1] == 0.0


def _floats(*numbers: F | int | float) -> tuple[float, ...]:
    return tuple([float(number) for number in numbers])


# L. Euler, Institutionum calculi integralis, 1768, section 650
EULER = Tableau("euler", 1, (0.0,), (), (1.0,))

# K. Heun, Neue Methoden zur approximativen Integration der Differentialgleichungen einer unabhaengigen Veraenderlichen, 1900;
# the estimate is the difference to Euler's step
HEUN = Tableau("heun", 2, (0.0, 1.0), ((1.0,),), (0.5, 0.5), (-0.5, 0.5, 0.0), 1)

# C. Runge, Ueber die numerische Aufloesung von Differentialgleichungen, 1895
MIDPOINT = Tableau("midpoint", 2, (0.0, 0.5), ((0.5,),), (0.0, 1.0), (-1.0, 1.0, 0.0), 1)

# W. Kutta, Beitrag zur naeherungsweisen Integration totaler Differentialgleichungen, 1901
RK4 = Tableau(
    "rk4", 4, (0.0, 0.5, 0.5, 1.0), ((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), _floats(F(1, 6), F(1, 3), F(1, 3), F(1, 6))
)

# P. Bogacki and L. F. Shampine, A 3(2) pair of Runge-Kutta formulas, 1989
BOSH3 = Tableau(
    "bosh3",
    3,
    (0.0, 0.5, 0.75, 1.0),
    ((0.5,), (0.0, 0.75), _floats(F(2, 9), F(1, 3), F(4, 9))),
    _floats(F(2, 9), F(1, 3), F(4, 9), 0),
    _floats(F(2, 9) - F(7, 24), F(1, 3) - F(1, 4), F(4, 9) - F(1, 3), -F(1, 8)),
    2,
)

# J. R. Dormand and P. J. Prince, A family of embedded Runge-Kutta formulae, 1980; d from L. F. Shampine, Some practical
# Runge-Kutta formulas, 1986, as in E. Hairer, S. P. Norsett and G. Wanner, Solving Ordinary Differential Equations I, II.6
_DP_B = (F(35, 384), F(0), F(500, 1113), F(125, 192), -F(2187, 6784), F(11, 84), F(0))
_DP_LESS = (F(5179, 57600), F(0), F(7571, 16695), F(393, 640), -F(92097, 339200), F(187, 2100), F(1, 40))
DOPRI5 = Tableau(
    "dopri5",
    5,
    _floats(0, F(1, 5), F(3, 10), F(4, 5), F(8, 9), 1, 1),
    (
        _floats(F(1, 5)),
        _floats(F(3, 40), F(9, 40)),
        _floats(F(44, 45), -F(56, 15), F(32, 9)),
        _floats(F(19372, 6561), -F(25360, 2187), F(64448, 6561), -F(212, 729)),
        _floats(F(9017, 3168), -F(355, 33), F(46732, 5247), F(49, 176), -F(5103, 18656)),
        _floats(*_DP_B[:-1]),
    ),
    _floats(*_DP_B),
    _floats(*[x - y for x, y in zip(_DP_B, _DP_LESS, strict=True)]),
    4,
    _floats(
        -F(12715105075, 11282082432),
        0,
        F(87487479700, 32700410799),
        -F(10690763975, 1880347072),
        F(701980252875, 199316789632),
        -F(1453857185, 822651844),
        F(69997945, 29380423),
    ),
)

# Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption, 2011; d are the leading
# coefficients of its dense output
TSIT5 = Tableau(
    "tsit5",
    5,
    (0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
    (
        (0.161,),
        (-0.008480655492356989, 0.3354806554923570),
        (2.8971530571054935, -6.359448489975075, 4.362295432869581),
        (5.325864828439257, -11.748883564062828, 7.495539342889836, -0.09249506636175525),
        (5.861455442946420, -12.920969317847110, 8.159367898576159, -0.07158497328140100, -0.02826905039406838),
        (0.09646076681806523, 0.01, 0.4798896504144996, 1.3790085741037419, -3.290069515436081, 2.324710524099774),
    ),
    (0.09646076681806523, 0.01, 0.4798896504144996, 1.3790085741037419, -3.290069515436081, 2.324710524099774, 0.0),
    (
        0.001780011052225777,
        0.0008164344596567464,
        -0.007880878010261994,
        0.1447110071732630,
        -0.5823571654525552,
        0.4580821059291869,
        -1.0 / 66.0,
    ),
    4,
    (
        -1.0530884977290216,
        0.1017,
        2.490627285651253,
        -16.548102889244902,
        47.37952196281928,
        -34.87065786149661,
        2.5,
    ),
)

TABLEAUS = {one.name: one for one in (EULER, HEUN, MIDPOINT, RK4, BOSH3, DOPRI5, TSIT5)}
