"""The network that classifies nodes, and the paper's solver."""

from __future__ import annotations

import pytest
import torch
import torchdiffeq
from ndcn.models import DiffusionClassifier
from scipy import sparse

from ndcn import Graph, IntegrationError, Solver, datasets, networks
from ndcn.classify.diffusion import DiffusionOperator, LinearDiffusion, ReluDiffusion, SignedDiffusion
from ndcn.classify.features import FeatureTable, kept_entries
from ndcn.classify.network import published_dopri5


def karate() -> tuple[FeatureTable, Graph]:
    data = datasets.karate_club()
    return FeatureTable(data.features, dtype=torch.float64), data.graph


def linear(**choices: object) -> DiffusionClassifier:
    field = LinearDiffusion(DiffusionOperator(0.5), 0.2)
    return DiffusionClassifier(34, 8, 3, field, T=3.0, **choices).double()


def test_what_is_diffused_is_the_readout_of_the_state() -> None:
    table, graph = karate()
    model = linear().eval()
    torch.testing.assert_close(model(table, graph)[0], model.decoder(model.state(table, graph)))


def test_passes_differ_by_what_is_dropped_only_in_training() -> None:
    table, graph = karate()
    model = linear(dropout=0.5, hidden_dropout=0.5, row_dropout=0.5)
    model.generator = torch.Generator().manual_seed(0)
    first = model(table, graph, passes=3)
    assert first.shape == (3, 34, 3)
    assert not torch.allclose(first[0], first[1])
    model.generator.manual_seed(0)
    torch.testing.assert_close(model(table, graph, passes=3), first)
    model.eval()
    still = model(table, graph, passes=2)
    torch.testing.assert_close(still[0], still[1])


def test_what_is_dropped_is_made_up_for_on_average() -> None:
    table, graph = karate()
    model = linear(row_dropout=0.7, hidden_dropout=0.5)
    model.generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        mean = model(table, graph, passes=4000).mean(dim=0)
        exact = model.eval()(table, graph)[0]
    assert (mean - exact).abs().max() < 0.1 * exact.abs().max()


@pytest.mark.parametrize("kind", [LinearDiffusion, SignedDiffusion])
def test_merged_members_give_the_mean_of_their_logits(kind: type[LinearDiffusion]) -> None:
    table, graph = karate()
    model = DiffusionClassifier(34, 4, 3, kind(DiffusionOperator(0.5)), T=3.0, members=2).double()
    each = model(table, graph, passes=2)  # nothing is dropped
    assert each.shape == (4, 34, 3)
    assert not torch.allclose(each[0], each[1])
    model.eval()
    torch.testing.assert_close(model(table, graph)[0], each[:2].mean(dim=0))
    model.merge()
    torch.testing.assert_close(model(table, graph)[0], each[:2].mean(dim=0))
    torch.testing.assert_close(model(table, graph)[0], model.decoder(model.state(table, graph)))


@pytest.mark.parametrize("dropout", [0.25, 0.3, 0.5, 0.7])
def test_entries_stay_with_their_probability(dropout: float) -> None:
    stay = kept_entries((1001, 333), dropout, torch.Generator().manual_seed(0), torch.device("cpu"))
    assert stay.shape == (1001, 333)
    assert abs(stay.double().mean() - (1 - dropout)) < 4 * 0.5 / stay.numel() ** 0.5  # four standard errors
    assert torch.corrcoef(stay.double()[:, :5].T).fill_diagonal_(0).abs().max() < 0.15


def test_a_solver_gives_the_same_state() -> None:
    table, graph = karate()
    field = LinearDiffusion(DiffusionOperator(0.5))
    exact = DiffusionClassifier(34, 8, 2, field, T=3.0).double()
    solved = DiffusionClassifier(34, 8, 2, field, T=3.0, solver=Solver("dopri5")).double()
    solved.load_state_dict(exact.state_dict())
    torch.testing.assert_close(exact(table, graph), solved(table, graph), rtol=0, atol=1e-4)


def test_a_learned_time_has_a_gradient() -> None:
    table, graph = karate()
    model = linear(learn_T=True)
    assert abs(model.T - 3.0) < 1e-6
    model(table, graph).square().sum().backward()
    assert model.log_T.grad is not None
    assert model.log_T.grad != 0


def test_what_does_not_go_together_is_refused() -> None:
    operator = DiffusionOperator(0.5)
    with pytest.raises(ValueError, match="give a solver"):
        DiffusionClassifier(3, 2, 2, ReluDiffusion(operator), T=1.0)
    with pytest.raises(ValueError, match="drop the solver"):
        DiffusionClassifier(3, 2, 2, LinearDiffusion(operator, 0.1), T=1.0, solver=Solver())
    with pytest.raises(ValueError, match="T can be learned"):
        DiffusionClassifier(3, 2, 2, ReluDiffusion(operator), T=1.0, solver=Solver(), learn_T=True)


@pytest.mark.parametrize(
    ("alpha", "time", "scale"), [(0.0, 1.2, 0.03), (0.8, 1.0, 0.03), (0.5, 9.0, 1.0), (0.5, 30.0, 0.01)]
)
def test_the_papers_solver_does_what_torchdiffeq_does(alpha: float, time: float, scale: float) -> None:
    graph = networks.power_law(100, seed=0)
    field = ReluDiffusion(DiffusionOperator(alpha))
    x0 = scale * torch.randn(100, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    times = torch.linspace(0, time, 16, dtype=torch.float64)
    theirs = torchdiffeq.odeint(lambda t, x: field(t, x, graph), x0, times, rtol=0.1, atol=0.1, method="dopri5")[-1]
    torch.testing.assert_close(published_dopri5(field, graph, x0, time), theirs, rtol=1e-6, atol=1e-9)


def test_the_papers_solver_is_differentiated_with_the_lengths_of_its_steps() -> None:
    graph = networks.grid(9)
    field = ReluDiffusion(DiffusionOperator(0.0))
    x0 = (0.03 * torch.randn(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: published_dopri5(field, graph, x, 1.2), x0)


def test_the_papers_solver_is_far_off() -> None:
    graph = networks.power_law(100, seed=0)
    field = ReluDiffusion(DiffusionOperator(0.0))
    x0 = 0.03 * torch.rand(100, 5, dtype=torch.float64)
    from ndcn import integrate

    exact = integrate(field, graph, x0, [1.2]).states[0]
    assert (published_dopri5(field, graph, x0, 1.2) - exact).norm() > 0.5 * exact.norm()


def test_the_papers_solver_starts_from_rest_and_tells_explosions() -> None:
    graph = networks.grid(4)
    nothing = torch.zeros(4, 1)
    assert published_dopri5(ReluDiffusion(DiffusionOperator(0.5)), graph, nothing, 1.0).equal(nothing)

    class Explosion(torch.nn.Module):
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return x / 0

    with pytest.raises(IntegrationError, match="NaN or infinite"):
        published_dopri5(Explosion(), graph, torch.ones(4, 1), 1.0)


def test_feature_table() -> None:
    matrix = sparse.random_array((20, 7), density=0.3, rng=0)
    dense = torch.from_numpy(matrix.toarray())
    dense[3] = 0
    matrix = sparse.csr_array(dense.numpy())
    scaled = dense / dense.sum(dim=1, keepdim=True).clamp_min(1e-9)
    rounded = dense / dense.norm(dim=1, keepdim=True).clamp_min(1e-9)
    columns = dense / dense.amax(dim=0)
    for normalize, expected in ((True, scaled), ("euclidean", rounded), ("columns", columns), (False, dense)):
        table = FeatureTable(matrix, normalize=normalize, dtype=torch.float64)
        weight = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
        torch.testing.assert_close(table.times(weight), expected @ weight)
        assert torch.autograd.gradcheck(table.times, weight)
        generator = torch.Generator()
        assert torch.autograd.gradcheck(lambda w: table.times(w, 0.5, generator.manual_seed(0)), weight)  # noqa: B023
        some = torch.tensor([0, 3, 4, 19])
        torch.testing.assert_close(table.times(weight, rows=some), expected[some] @ weight)
        assert torch.autograd.gradcheck(lambda w: table.times(w, 0.5, generator.manual_seed(0), some), weight)  # noqa: B023
    mean = torch.stack([table.times(weight, 0.5, generator) for _ in range(3000)]).mean(dim=0)
    assert (mean - dense @ weight).abs().max() < 0.2


def test_columns_are_scaled_by_the_matrix_that_was_learned_from() -> None:
    learned = sparse.csr_array([[2.0, 0.0, 0.0], [1.0, -4.0, 0.0]])
    other = sparse.csr_array([[1.0, 1.0, 5.0]])
    table = FeatureTable(other, normalize="columns", like=learned)
    assert table.matrix.toarray().tolist() == [[0.5, 0.25, 0.0]]
