"""What tests of pictures draw, and how they look at it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from PIL import Image

import ndcn


def pair(n: int = 23, T: int = 11, features: list[str] | None = None) -> tuple[ndcn.Trajectory, ndcn.Trajectory]:
    graph, d = ndcn.networks.grid(n), len(features or ["x"])
    generator = torch.Generator().manual_seed(0)
    truth = torch.rand(T, n, d, generator=generator)
    times = torch.linspace(0, 2, T)
    return (
        ndcn.Trajectory(times=times, states=truth, graph=graph, features=features),
        ndcn.Trajectory(times=times, states=truth + 0.5, graph=graph, features=features),
    )


def steady(value: float, like: ndcn.Trajectory) -> ndcn.Trajectory:
    """One value everywhere at the times of another trajectory."""
    return ndcn.Trajectory(
        times=like.times, states=torch.full_like(like.states, value), graph=like.graph, features=like.features
    )


def png(figure: Figure) -> np.ndarray:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=50)
    buffer.seek(0)
    return np.asarray(Image.open(buffer).convert("RGB"))


def frame(path: Path, k: int) -> np.ndarray:
    """The k-th frame of a GIF."""
    with Image.open(path) as movie:
        movie.seek(k)
        return np.asarray(movie.convert("RGB"))
