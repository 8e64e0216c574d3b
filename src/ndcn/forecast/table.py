"""The table of a comparison: the past error of every candidate at every horizon, with the winner and the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from .._support.html import grid

# Rows that are shown whatever their error: what is used, and what it is compared with.
ALWAYS = ("combination", "best simple guess online", "persistence")


@dataclass(frozen=True)
class Table:
    """Errors in units of persistence's error (so that persistence is 1) for each candidate and horizon.

    Args:
        horizons: in steps.
        rows: (name, family, error for each horizon or None), the best on average first; "combination" and
            "best simple guess online" are among them.
        winners: the best candidate for each horizon.

    Example:
        >>> from ndcn.forecast.table import Table
        >>> print(Table((1, 3), (("drift", "guess", (0.5, None)),), ("drift", "drift")))
        mean |error| at past origins, persistence = 1
        steps ahead         1      3  family
        drift           0.500      -  guess
        best: drift (1, 3)
    """

    horizons: tuple[int, ...]
    rows: tuple[tuple[str, str, tuple[float | None, ...]], ...]
    winners: tuple[str, ...]

    def __str__(self) -> str:
        width = max(13, *(len(name) for name, _, _ in self.rows))
        lines = ["mean |error| at past origins, persistence = 1"]
        lines.append("steps ahead".ljust(width) + "".join(f"{h:7d}" for h in self.horizons) + "  family")
        for name, family, errors in self.rows:
            numbers = "".join("      -" if e is None else f"{min(e, 99.0):7.3f}" for e in errors)
            lines.append(name.ljust(width) + numbers + "  " + family)
        return "\n".join([*lines, self._best()])

    def _best(self) -> str:
        where: dict[str, list[str]] = {}
        for h, name in zip(self.horizons, self.winners, strict=True):
            where.setdefault(name, []).append(str(h))
        return "best: " + "; ".join(f"{name} ({', '.join(hs)})" for name, hs in where.items())

    def _repr_html_(self) -> str:
        rows = [(n, [*("–" if e is None else f"{e:.3f}" for e in errors), f]) for n, f, errors in self.rows]
        heads = [*(str(h) for h in self.horizons), "family"]
        return grid("mean |error| at past origins by steps ahead, persistence = 1", heads, rows, [self._best()])

    def to_pandas(self) -> Any:
        """A DataFrame: a row for each candidate, a column for each horizon.

        Example:
            >>> Table((1, 3), (("drift", "guess", (0.5, None)),), ("drift", "drift")).to_pandas().loc["drift", 1]
            np.float64(0.5)
        """
        return pd.DataFrame(
            [errors for _, _, errors in self.rows],
            index=pd.Index([name for name, _, _ in self.rows], name="candidate"),
            columns=pd.Index(self.horizons, name="steps ahead"),
            dtype=float,
        )

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON."""
        rows = [{"name": name, "family": family, "errors": list(errors)} for name, family, errors in self.rows]
        return {"horizons": list(self.horizons), "rows": rows, "winners": list(self.winners)}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Table:
        """What ``to_json`` gave."""
        rows = tuple((r["name"], r["family"], tuple(r["errors"])) for r in state["rows"])
        return cls(tuple(state["horizons"]), rows, tuple(state["winners"]))
