"""Inputs: named drivers u(t) from outside, in common to all nodes or one for each, on times of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from .._support.wording import some
from ..graph import Graph
from .calendar import Calendar, time_text
from .checks import checked_times

BETWEEN = ("held", "linear")
# A knot at which a straight line would be off by less, as a share of the driver's size, bends nothing: rounding of float64 in a table of numbers.
STRAIGHT = 1e-12
ROUNDING = 1e-9  # of the covered stretch: a time that is later by no more was the last one before it was rounded


@dataclass(frozen=True)
class Driver:
    """One input: its values at knots in time, and what it does between them."""

    name: str
    times: torch.Tensor  # (K,), float64, in increasing order
    values: torch.Tensor  # (K, 1) for all nodes in common, (K, n) for each node
    between: str

    @property
    def per_node(self) -> bool:
        """Whether each node has values of its own."""
        return self.values.shape[1] > 1

    @property
    def constant(self) -> bool:
        """Whether it never changes."""
        return bool((self.values == self.values[:1]).all())

    def at(self, times: torch.Tensor) -> torch.Tensor:
        """u(t) at times (...,), of a held one from its switching time on, shape (..., 1) or (..., n).

        Before the first knot it has the first value, after the last the last one.
        """
        t = times.double()
        if self.between == "held" or len(self.times) == 1:
            k = torch.searchsorted(self.times, t, right=True) - 1
            return self.values[k.clamp(0, len(self.times) - 1)]
        right = torch.searchsorted(self.times, t).clamp(1, len(self.times) - 1)
        low, high = self.times[right - 1], self.times[right]
        share = ((t - low) / (high - low)).clamp(0, 1).unsqueeze(-1)
        return torch.lerp(self.values[right - 1], self.values[right], share)

    def knots(self, *, kinks: bool) -> torch.Tensor:
        """Times at which it jumps, and with ``kinks`` those at which its slope does."""
        if self.between == "held":
            return self.times[1:][(self.values.diff(dim=0) != 0).any(dim=1)]
        if not kinks or len(self.times) < 3:
            return self.times[:0]
        gaps = self.times.diff()
        share = (gaps[:-1] / (gaps[:-1] + gaps[1:])).unsqueeze(1)
        off = (torch.lerp(self.values[:-2], self.values[2:], share) - self.values[1:-1]).abs().amax(dim=1)
        return self.times[1:-1][off > STRAIGHT * self.values.abs().max()]


class Inputs:
    """u(t): what acts on a network from outside, by name.

    Args:
        times: shape (K,), in increasing order, in the unit of the trajectory's times; they need not be its times.
        values: of each input, by name: shape (K,) for one that all nodes have in common, (K, n) for one that each node
            has for itself, in the order of the graph's nodes.
        between: "held" keeps a value until the next time, as a switch or a setting; "linear" draws straight lines.
        until: for held inputs, how long the last value is known to hold; the last of ``times`` by default. Nothing is
            assumed about an input after that.

    Inputs on other times are added by ``|``: ``weather | doses``.

    Raises:
        ValueError: times that are not in increasing order, values of another shape, that are not finite or have no name.

    Example:
        >>> import ndcn
        >>> pump = ndcn.Inputs([0.0, 2.0, 5.0], {"pump": [0.0, 1.0, 0.0]}, until=8.0)
        >>> pump
        Inputs(pump: held, t = 0 .. 8)
        >>> pump.at(3.0)["pump"]
        tensor([1.], dtype=torch.float64)
        >>> (pump | ndcn.Inputs([0.0, 10.0], {"rain": [0.0, 4.0]}, between="linear")).at(5.0)["rain"]
        tensor([2.], dtype=torch.float64)
    """

    def __init__(
        self, times: Any, values: Mapping[str, Any], *, between: str = "held", until: float | None = None
    ) -> None:
        if between not in BETWEEN:
            raise ValueError(f'between must be "held" or "linear", got {between!r}')
        if not isinstance(values, Mapping) or not values:
            raise ValueError('inputs need names: Inputs(times, {"rain": [0.0, 1.2, ...]})')
        clock = _clock(times)
        drivers = [Driver(_name(name), clock, _values(name, v, len(clock)), between) for name, v in values.items()]
        if until is not None:
            drivers = [_held_until(one, float(until)) for one in drivers]
        self._set(drivers)

    @classmethod
    def of(cls, drivers: Iterable[Driver]) -> Inputs:
        """From drivers, each with times of its own."""
        made = cls.__new__(cls)
        made._set(list(drivers))
        return made

    def _set(self, drivers: list[Driver]) -> None:
        self.drivers = tuple(drivers)
        names = [one.name for one in drivers]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"inputs are told apart by name, and two are called {', '.join(twice)}")
        counts = {one.values.shape[1] for one in drivers if one.per_node}
        if len(counts) > 1:
            raise ValueError(f"inputs for each node must be of the same nodes, got {sorted(counts)} of them")
        self.num_nodes = counts.pop() if counts else None

    @property
    def names(self) -> tuple[str, ...]:
        """Names, in order."""
        return tuple(one.name for one in self.drivers)

    @property
    def start(self) -> float:
        """From when on all of them are known."""
        return max(one.times[0].item() for one in self.drivers)

    @property
    def end(self) -> float:
        """Until when all of them are known."""
        return min(one.times[-1].item() for one in self.drivers)

    def __getitem__(self, name: str) -> Driver:
        """One of them by name."""
        for one in self.drivers:
            if one.name == name:
                return one
        raise KeyError(f"there is no input {name!r}; there are {', '.join(self.names)}")

    def at(self, times: Any) -> dict[str, torch.Tensor]:
        """The value of each at these times, shape (..., 1), or (..., n) for one of each node."""
        t = torch.as_tensor(times, dtype=torch.float64)
        return {one.name: one.at(t) for one in self.drivers}

    def stops(self, first: float, last: float, *, kinks: bool = True) -> list[float]:
        """Times strictly between two others at which an input jumps, or bends, and an integration should stop."""
        knots = torch.cat([one.knots(kinks=kinks) for one in self.drivers]).unique()
        return knots[(knots > first) & (knots < last)].tolist()

    def __or__(self, other: Inputs) -> Inputs:
        """Both together; their names must differ."""
        return Inputs.of([*self.drivers, *other.drivers]) if isinstance(other, Inputs) else NotImplemented

    def only(self, names: Iterable[str]) -> Inputs:
        """Some of them, in this order.

        Raises:
            ValueError: a name that is not there.
        """
        wanted = list(names)
        if strange := [name for name in wanted if name not in self.names]:
            raise ValueError(f"there is no input {some(strange)}; there are {', '.join(self.names)}")
        return Inputs.of(self[name] for name in wanted)

    def of_nodes(self, which: torch.Tensor) -> Inputs:
        """The same for some of the nodes, by position."""
        return Inputs.of(replace(one, values=one.values[:, which]) if one.per_node else one for one in self.drivers)

    def moved(self, origin: float, rate: float = 1.0) -> Inputs:
        """With times (t - origin) rate in place of t."""
        return Inputs.of(replace(one, times=(one.times - origin) * rate) for one in self.drivers)

    def on_clock(self, old: Calendar, new: Calendar) -> Inputs:
        """With times counted by another calendar."""
        return Inputs.of(
            replace(one, times=torch.from_numpy(new.from_other(old, one.times.numpy()))) for one in self.drivers
        )

    def then(self, later: Inputs) -> Inputs:
        """These, and from the first time of ``later`` on those instead; ``later`` may have some of the names only.

        Raises:
            ValueError: a name that is not there, values of each node where there was one for all, or another ``between``.
        """
        self.only(later.names)
        return Inputs.of(_joined(one, later[one.name]) if one.name in later.names else one for one in self.drivers)

    def check(self, first: float, last: float, calendar: Calendar | None = None, what: str = "the snapshots") -> None:
        """Refuse to be used from ``first`` to ``last`` if one is not known there.

        Raises:
            ValueError: one begins later or ends earlier; the message says which, and what to do.
        """
        near = ROUNDING * max(last - first, 1e-300)
        for one in self.drivers:
            begin, end = one.times[0].item(), one.times[-1].item()
            if begin > first + near:
                raise ValueError(
                    f"the input {one.name!r} begins at {time_text(begin, calendar)}, and {what} begin at "
                    f"{time_text(first, calendar)}: give its values from there on"
                )
            if end < last - near:
                held = " or until=, if its last value holds so long" if one.between == "held" else ""
                raise ValueError(
                    f"the input {one.name!r} is known until {time_text(end, calendar)}, and {what} go to "
                    f"{time_text(last, calendar)}: give its later values{held}; nothing is assumed about them"
                )

    def check_nodes(self, count: int) -> None:
        """Refuse values of each node for another number of nodes."""
        if self.num_nodes is not None and self.num_nodes != count:
            one = next(one for one in self.drivers if one.per_node)
            raise ValueError(
                f"the input {one.name!r} has values for {self.num_nodes} nodes, and the graph has {count}: give shape (K, {count}), "
                "or (K,) for one that all nodes have in common"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Inputs) or self.names != other.names:
            return NotImplemented if not isinstance(other, Inputs) else False
        return all(
            a.between == b.between and torch.equal(a.times, b.times) and torch.equal(a.values, b.values)
            for a, b in zip(self.drivers, other.drivers, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds tensors

    def __repr__(self) -> str:
        parts = [f"{one.name}: {one.between}{', per node' * one.per_node}" for one in self.drivers]
        return f"Inputs({'; '.join(parts)}, t = {self.start:.4g} .. {self.end:.4g})"

    # Files ------------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a file holds of them: k.times and k.values."""
        return {
            f"{k}.{part}": getattr(one, part)
            for (k, one), part in itertools.product(enumerate(self.drivers), ("times", "values"))
        }

    def description(self) -> list[dict[str, str]]:
        """What of them is no tensor, for JSON."""
        return [{"name": one.name, "between": one.between} for one in self.drivers]

    @classmethod
    def restored(cls, description: Any, tensors: Mapping[str, torch.Tensor]) -> Inputs:
        """What ``description`` and ``tensors`` wrote.

        Raises:
            ValueError: they are damaged.
        """
        if not isinstance(description, list) or not description:
            raise ValueError("inputs must be a list of names")
        return cls.of(
            cls(tensors[f"{k}.times"], {one["name"]: tensors[f"{k}.values"]}, between=one["between"]).drivers[0]
            for k, one in enumerate(description)
        )


def checked_inputs(inputs: Any, times: torch.Tensor, graph: Graph, calendar: Calendar | None) -> Inputs | None:
    """Inputs that fit a trajectory, or an error that says why they do not."""
    if inputs is None:
        return None
    if not isinstance(inputs, Inputs):
        raise TypeError(f'inputs must be ndcn.Inputs(times, {{"rain": values}}), got {type(inputs).__name__}')
    inputs.check_nodes(graph.num_nodes)
    inputs.check(float(times.min()), float(times.max()), calendar)
    return inputs


def _name(name: Any) -> str:
    text = str(name).strip()
    if not text or text in ("time", "node", "driver", "value"):
        raise ValueError(f'an input needs a name other than "time", "node", "driver" and "value", got {name!r}')
    return text


def _clock(times: Any) -> torch.Tensor:
    """Times in increasing order; they may begin before those of the data, below 0."""
    given = torch.from_numpy(np.array(times, dtype=np.float64)) if not isinstance(times, torch.Tensor) else times
    shift = min(0.0, float(given.double().min())) if given.numel() and given.isfinite().all() else 0.0
    return checked_times(given.double() - shift, ordered=True) + shift


def _values(name: str, values: Any, count: int) -> torch.Tensor:
    try:
        given = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values
        found = torch.from_numpy(np.array(given, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the input {name!r} must be numbers: {error}") from None
    found = found.unsqueeze(1) if found.dim() == 1 else found
    if found.dim() != 2 or len(found) != count or not found.shape[1]:
        raise ValueError(
            f"the input {name!r} must have shape (K,) or (K, n) with K = {count} times, got {tuple(found.shape)}"
        )
    if not found.isfinite().all():
        k = int((~found.isfinite()).nonzero()[0, 0])
        raise ValueError(
            f"the input {name!r} has {int((~found.isfinite()).sum())} gaps (NaN or infinite), the first at place {k}: an input must "
            'be known throughout; leave those times out, and between="linear" or "held" says what it does there'
        )
    return found


def _held_until(one: Driver, until: float) -> Driver:
    last = one.times[-1].item()
    if one.between != "held":
        raise ValueError('until is for inputs that are held: between="linear" needs a value at the last time')
    if not np.isfinite(until) or until < last:
        raise ValueError(f"until must be a time after the last one, {last:g}, got {until}")
    if until == last:
        return one
    times = torch.cat([one.times, torch.tensor([until], dtype=torch.float64)])
    return replace(one, times=times, values=torch.cat([one.values, one.values[-1:]]))


def _joined(one: Driver, later: Driver) -> Driver:
    """One driver that goes over into another at the first time of that."""
    if one.values.shape[1] != later.values.shape[1]:
        shapes = [
            f"one for each of {v.shape[1]} nodes" if v.shape[1] > 1 else "one for all nodes"
            for v in (one.values, later.values)
        ]
        raise ValueError(f"the input {one.name!r} was {shapes[0]} in training, and is {shapes[1]} now")
    if one.between != later.between:
        raise ValueError(
            f"the input {one.name!r} was {one.between} between its times in training, and is {later.between} now"
        )
    kept = one.times < later.times[0]
    return replace(
        one, times=torch.cat([one.times[kept], later.times]), values=torch.cat([one.values[kept], later.values])
    )
