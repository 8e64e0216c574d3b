"""Butcher tableaus: a Runge-Kutta method is a table of numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method.

    k_1 = f(t, x); k_i = f(t + c_i h, x + h sum_j a_ij k_j); x_new = x + h sum_i b_i k_i.

    Attributes:
        order: global order of convergence.
        c, a: one entry or row for each stage after the first.
        b: weights of the stages.
        error: b minus the weights of the embedded method, for step control; None for fixed steps only.
        dense: coefficients p_im of the continuous extension x(t + s h) = x + h sum_i k_i sum_m p_im s^(m+1); None for
            cubic Hermite interpolation.
    """

    order: int
    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    error: tuple[float, ...] | None = None
    dense: tuple[tuple[float, ...], ...] | None = None

    @property
    def last_is_next(self) -> bool:
        """Whether the last stage is the first of the next step (FSAL)."""
        return bool(self.a) and self.b[-1] == 0 and self.a[-1] == self.b[:-1]

    def weights_at(self, s: float) -> list[float]:
        """Weights of the stages at the fraction s of a step, by the continuous extension."""
        assert self.dense is not None  # only asked of methods that have one
        return [sum(p * s ** (m + 1) for m, p in enumerate(row)) for row in self.dense]


EULER = Tableau(order=1, c=(), a=(), b=(1.0,))
MIDPOINT = Tableau(order=2, c=(0.5,), a=((0.5,),), b=(0.0, 1.0))
HEUN = Tableau(order=2, c=(1.0,), a=((1.0,),), b=(0.5, 0.5))
RK4 = Tableau(order=4, c=(0.5, 0.5, 1.0), a=((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), b=(1 / 6, 1 / 3, 1 / 3, 1 / 6))

DOPRI5 = Tableau(
    order=5,
    c=(1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    a=(
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    b=(35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    error=(
        35 / 384 - 5179 / 57600,
        0.0,
        500 / 1113 - 7571 / 16695,
        125 / 192 - 393 / 640,
        -2187 / 6784 + 92097 / 339200,
        11 / 84 - 187 / 2100,
        -1 / 40,
    ),
    dense=(  # Shampine's quartic extension
        (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
        (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
        (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
        (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
        (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
    ),
)

_TSIT5_B = (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774)


def _tsit5_dense() -> tuple[tuple[float, ...], ...]:
    """Tsitouras' quartic extension, given as factors in his paper, as coefficients of s, s^2, s^3, s^4."""

    def quartic(scale: float, roots: tuple[float, float]) -> tuple[float, ...]:  # scale s^2 (s - r1) (s - r2)
        return (0.0, scale * roots[0] * roots[1], -scale * (roots[0] + roots[1]), scale)

    # scale s^2 (s^2 + linear s + constant)
    def pair(scale: float, linear: float, constant: float) -> tuple[float, ...]:
        return (0.0, scale * constant, scale * linear, scale)

    scale, root, linear, constant = -1.0530884977290216, 1.3299890189751412, -1.4364028541716351, 0.7139816917074209
    first = (-scale * root * constant, scale * (constant - root * linear), scale * (linear - root), scale)
    return (
        first,
        pair(0.1017, -2.1966568338249754, 1.2949852507374631),
        pair(2.490627285651252793, -2.38535645472061657, 1.57803468208092486),
        quartic(-16.54810288924490272, (1.21712927295533244, 0.61620406037800089)),
        quartic(47.37952196281928122, (1.203071208372362603, 0.658047292653547382)),
        quartic(-34.87065786149660974, (1.2, 2 / 3)),
        quartic(2.5, (1.0, 0.6)),
    )


TSIT5 = Tableau(
    order=5,
    c=(0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
    a=(
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
        _TSIT5_B,
    ),
    b=(*_TSIT5_B, 0.0),
    error=(
        0.00178001105222577714,
        0.0008164344596567469,
        -0.007880878010261995,
        0.1447110071732629,
        -0.5823571654525552,
        0.45808210592918697,
        -1 / 66,
    ),
    dense=_tsit5_dense(),
)

FIXED = {"euler": EULER, "midpoint": MIDPOINT, "heun": HEUN, "rk4": RK4}
ADAPTIVE = {"dopri5": DOPRI5, "tsit5": TSIT5}
