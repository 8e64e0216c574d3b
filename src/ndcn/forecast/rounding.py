"""Digits of forecasts: six of each node, and sums that are exact in the digits shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DIGITS = 15  # decimal digits that every float64 keeps
FINEST = 22  # 10^22 is the largest power of ten that a float64 holds exactly


def significant(x: np.ndarray) -> np.ndarray:
    """x rounded to six digits: more would claim what no forecast knows, and hide that 5.000000000000001 is 5.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.rounding import significant
        >>> significant(np.array([5.000000000000001, 123456.7, 0.0, np.nan]))
        array([5.00000e+00, 1.23457e+05, 0.00000e+00,         nan])
    """
    times, unit = _units(x)
    return np.asarray(np.round(x * times / unit) * unit / times)


def rounded_counts(medians: np.ndarray) -> np.ndarray:
    """Medians of counts with one decimal; it keeps their order, so that totals never fall.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.rounding import rounded_counts
        >>> rounded_counts(np.array([299.335, 10.4, 1.00001, 0.44])).tolist()
        [299.3, 10.4, 1.0, 0.4]
    """
    return np.asarray(np.round(10 * medians) / 10)


def outward(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of intervals with six digits, the lower one rounded down and the upper one up, so that none gets narrower.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.rounding import outward
        >>> [end.tolist() for end in outward(np.array([1234567.0]), np.array([0.1234561]))]
        [[1234560.0], [0.123457]]
    """
    ends = []
    for x, way in ((low, np.floor), (high, np.ceil)):
        times, unit = _units(x)
        near = np.round(x * times / unit)
        exact = np.abs(x * times / unit - near) < 1e-9 * np.maximum(np.abs(near), 1.0)  # 0.3 is no 0.30000000000000004
        ends.append(np.asarray(np.where(exact, near, way(x * times / unit)) * unit / times))
    return ends[0], ends[1]


def _units(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What to multiply x with, and then to divide it by, so that its sixth digit is that of ones; both are exact."""
    size = np.abs(np.where(np.isfinite(x) & (x != 0), x, 1.0))
    unit = 10.0 ** np.clip(np.floor(np.log10(size)) - 5, -300, 300)
    return np.where(unit < 1, np.round(1 / unit), 1.0), np.maximum(unit, 1.0)


@dataclass(frozen=True)
class Ticks:
    """Whole multiples of 10^-places, whose sums are exact: k ticks are k / 10^places.

    The finest tick is 15 digits below the largest sum, so that every value and every sum is a decimal number of at most 15
    digits, which a float64 shows as it is.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.rounding import Ticks
        >>> unit = Ticks.for_sums_up_to(2000.0)
        >>> ticks = unit.rounded(np.array([0.1234567, 1234.5678]))
        >>> unit.values(ticks), unit.values(ticks.sum())
        (array([1.23457e-01, 1.23457e+03]), array(1234.693457))
    """

    places: int

    @classmethod
    def for_sums_up_to(cls, largest: float) -> Ticks:
        """Ticks for values whose sums are at most ``largest`` in size."""
        size = int(np.floor(np.log10(largest))) if largest > 0 and np.isfinite(largest) else 0
        return cls(int(np.clip(DIGITS - 2 - size, -FINEST, FINEST)))  # a sum may round up to one digit more

    def rounded(self, x: np.ndarray) -> np.ndarray:
        """x with six digits in ticks, as whole numbers; 0 for NaN."""
        return np.asarray(np.rint(self._scaled(significant(np.nan_to_num(x)))).astype(np.int64))

    def at_least(self, x: np.ndarray) -> np.ndarray:
        """The smallest number of ticks that is no less than x; 0 for NaN."""
        ticks = np.rint(self._scaled(np.nan_to_num(x))).astype(np.int64)
        return np.asarray(ticks + (self.values(ticks) < np.nan_to_num(x)))

    def values(self, ticks: np.ndarray) -> np.ndarray:
        """As numbers."""
        return np.asarray(ticks / 10.0**self.places if self.places >= 0 else ticks * 10.0**-self.places)

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x * 10.0**self.places if self.places >= 0 else x / 10.0**-self.places)
