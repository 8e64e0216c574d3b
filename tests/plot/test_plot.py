"""Manners: matplotlib is left as found, and every picture is documented."""

from __future__ import annotations

import matplotlib as mpl

import ndcn
from pictures import pair


def test_matplotlib_is_left_as_found(tmp_path):
    before = dict(mpl.rcParams)
    truth, guess = pair()
    ndcn.plot.compare(truth, guess)
    ndcn.plot.panels({"grid": truth}, {"grid": guess})
    ndcn.plot.trajectories(truth)
    ndcn.plot.surface(truth, 0.0)
    ndcn.plot.animate(truth, guess, tmp_path / "movie.gif", frames=2)
    assert dict(mpl.rcParams) == before


def test_every_picture_has_an_example():
    assert ndcn.plot.__all__ == sorted(ndcn.plot.__all__)
    for name in ndcn.plot.__all__:
        assert ">>> " in getattr(ndcn.plot, name).__doc__, name
