"""f and g with bands: which curves are drawn, where the truth and the density are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import ndcn
from ndcn import laws
from ndcn.identify.functions import Functions, functions_of
from pictures import png


def found(law: laws.Law, samples: tuple[laws.Law, ...] = (), d: int = 1) -> Functions:
    seen = 4 * torch.rand(500, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64) ** 2
    return functions_of(law.node, law.edge, samples, seen, points=40, features=law.features)


def test_f_and_g_with_the_truth_dashed() -> None:
    functions = found(laws.Gene(b=1.1))
    axes = ndcn.plot.interaction(functions, truth=laws.Gene())
    assert axes.shape == (1, 2)
    for ax, learned, true in (
        (axes[0, 0], functions.f[0, :, 0], -functions.x[0]),
        (axes[0, 1], functions.g[0, 0, :, 0], functions.x[0] ** 2 / (1 + functions.x[0] ** 2)),
    ):
        line, dashed = ax.get_lines()
        np.testing.assert_allclose(line.get_xdata(), functions.x[0])
        np.testing.assert_allclose(line.get_ydata(), learned)
        np.testing.assert_allclose(dashed.get_ydata(), true)
        assert (line.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert [ax.get_xlabel() for ax in axes.flat] == ["$x_i$", "$x_j$"]
    assert [ax.get_ylabel() for ax in axes.flat] == ["$f(x_i)$", "$g(x_j)$"]
    labels = [text.get_text() for text in axes[0, 0].get_legend().get_texts()]
    assert labels == ["learned", "truth", "states seen"]


def test_g_of_both_ends_is_cut_at_quantiles_of_the_states_seen() -> None:
    functions = found(laws.Heat())
    _, ax = ndcn.plot.interaction(functions)[0]
    assert len(ax.get_lines()) == 3
    assert ax.get_ylabel() == "$g(x_i, x_j)$"
    seen = 4 * torch.rand(500, generator=torch.Generator().manual_seed(0), dtype=torch.float64) ** 2
    step = functions.x[0, 1] - functions.x[0, 0]
    for line, share in zip(ax.get_lines(), (0.1, 0.5, 0.9), strict=True):
        x_i = -line.get_ydata()[0] + functions.x[0, 0]  # of g = x_j - x_i at the first x_j
        assert abs(x_i - seen.quantile(share)) <= step
    assert ax.get_legend().get_title().get_text() == "$x_i$"
    with_truth = ndcn.plot.interaction(functions, truth=laws.Heat(k=2.0))[0, 1]
    assert sum(line.get_linestyle() == "--" for line in with_truth.get_lines()) == 3
    assert len(with_truth.get_legend().get_texts()) == 3


def test_where_most_states_are_alike_g_is_cut_evenly() -> None:
    law, seen = laws.Heat(), torch.zeros(1000, 1)
    seen[0] = 10.0
    axes = ndcn.plot.interaction(functions_of(law.node, law.edge, [], seen, points=11))
    assert [text.get_text() for text in axes[0, 1].get_legend().get_texts()] == ["1", "5", "9"]


def test_if_only_the_truth_depends_on_x_i_all_its_curves_are_shown() -> None:
    learned = functions_of(torch.zeros_like, lambda x_i, x_j: x_j, [], torch.rand(50, 1).double())
    assert len(ndcn.plot.interaction(learned)[0, 1].get_lines()) == 1
    assert len(ndcn.plot.interaction(learned, truth=laws.Heat())[0, 1].get_lines()) == 6


def test_bands_are_two_standard_deviations_and_inside_the_axes() -> None:
    samples = tuple(laws.Gene(b=b) for b in (0.9, 1.0, 1.1))
    functions = found(laws.Gene(), samples)
    f, g = ndcn.plot.interaction(functions)[0]
    band, _density = f.collections
    edges = band.get_paths()[0].vertices
    end = functions.x[0, -1]
    np.testing.assert_allclose(np.unique(edges[edges[:, 0] == end, 1].round(9)), [-end * 1.2, -end * 0.8], rtol=1e-6)
    assert f.get_ylim()[0] < edges[:, 1].min()
    assert len(g.collections) == 1  # g is the same in all samples: the density alone


def test_a_band_that_is_very_wide_does_not_hide_the_curve() -> None:
    functions = found(laws.Gene(), tuple(laws.Gene(b=b) for b in (-100.0, 100.0)))
    low, high = ndcn.plot.interaction(functions)[0, 0].get_ylim()
    assert high - low < 3 * np.ptp(functions.f[0, :, 0])


def test_the_density_is_below_the_curves() -> None:
    functions = found(laws.Gene())
    for ax in ndcn.plot.interaction(functions).flat:
        density = ax.collections[-1]
        heights = density.get_paths()[0].vertices[:, 1]
        assert heights.min() == 0
        low, high = ax.get_ylim()
        curve = (min(line.get_ydata().min() for line in ax.get_lines()) - low) / (high - low)
        assert 0 < heights.max() < curve


def test_several_features_have_a_row_each() -> None:
    law = laws.FitzHughNagumo()
    functions = found(law, d=2)
    axes = ndcn.plot.interaction(functions, truth=law)
    assert axes.shape == (2, 2)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["$f_{v}(v_i)$", "$f_{w}(w_i)$"]
    np.testing.assert_allclose(axes[1, 0].get_lines()[0].get_ydata(), functions.f[1, :, 1])
    np.testing.assert_allclose(axes[1, 0].get_lines()[1].get_ydata(), functions.f[1, :, 1])
    for along in (0, "v"):
        both = ndcn.plot.interaction(functions, along=along)
        assert [ax.get_xlabel() for ax in both[:, 0]] == ["$v_i$", "$v_i$"]
        np.testing.assert_allclose(both[1, 0].get_lines()[0].get_ydata(), functions.f[0, :, 1])
    for along in (2, -1, "u"):
        with pytest.raises(ValueError, match="features are v, w"):
            ndcn.plot.interaction(functions, along=along)


def test_axes_of_ones_own_and_estimators() -> None:
    class Estimator:
        def functions(self) -> Functions:
            return found(laws.Gene())

    own = Figure().subplots(1, 2)
    assert ndcn.plot.interaction(Estimator(), ax=own).ravel().tolist() == own.tolist()
    assert len(own[0].get_lines()) == 1
    with pytest.raises(ValueError, match="1 feature need 2 axes"):
        ndcn.plot.interaction(Estimator(), ax=[own[0]])
    with pytest.raises(TypeError, match=r"reg.functions\(\)"):
        ndcn.plot.interaction(3)


def test_it_can_be_drawn_with_words_as_names_and_where_values_are_missing() -> None:
    functions = functions_of(
        torch.log, lambda x_i, x_j: x_j.log(), [], torch.tensor([[-1.0], [2.0]]), features=["prey"]
    )
    axes = ndcn.plot.interaction(functions)
    assert axes[0, 0].get_xlabel() == r"$\mathrm{prey}_i$"
    assert png(axes[0, 0].figure).std() > 0
    nothing = functions_of(lambda x: x * torch.nan, lambda x_i, x_j: x_j * torch.nan, [], torch.rand(5, 1))
    assert png(ndcn.plot.interaction(nothing)[0, 0].figure).std() > 0
