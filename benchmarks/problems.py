"""The problems that the benchmarks time, written once for every library that is timed on them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import nn

import ndcn
from ndcn.graph.sparse import SparseMatrix
from ndcn.solve.kernels import euler, euler_compiled
from ndcn.training import Problem
from ndcn.training.objective import Target


def best_of(
    candidates: dict[str, Callable[[], object]],
    rounds: int,
    in_a_row: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds of each candidate: minimum over interleaved rounds, after one to warm up.

    ``in_a_row`` calls follow each other in a round, as they do in training: what the last candidate left in the cache
    does not count. With ``time.process_time`` for a clock, neither does the time in which other processes had the core.
    """
    best = dict.fromkeys(candidates, float("inf"))
    for turn in range(rounds + 1):
        for name, run in candidates.items():
            for _ in range(in_a_row):
                start = clock()
                run()
                if turn:
                    best[name] = min(best[name], clock() - start)
    return best


@dataclass
class Iteration:
    """One training iteration of the paper: 80 observation times, Euler from one to the next, l1 loss, all gradients."""

    graph: ndcn.Graph
    model: ndcn.GraphODE
    x0: torch.Tensor
    times: torch.Tensor
    target: torch.Tensor

    @classmethod
    def of_paper(cls, network: str, n: int = 400, hidden: int = 20, seed: int = 0) -> Iteration:
        """Heat on a network; the data themselves do not matter for the time."""
        graph = ndcn.networks.grid(n) if network == "grid" else ndcn.networks.NAMED[network](n, seed=seed)
        return cls.on(graph, hidden, seed)

    @classmethod
    def on(cls, graph: ndcn.Graph, hidden: int = 20, seed: int = 0) -> Iteration:
        """On any graph, with random weights and targets."""
        torch.manual_seed(seed)
        times = torch.cat([torch.zeros(1), torch.sort(torch.rand(79)).values * 5]).double()
        model = ndcn.models.ndcn(hidden=hidden, solver=ndcn.Solver("euler", step_size="observations"))
        x0 = torch.rand(graph.num_nodes, 1)
        return cls(graph, model, x0, times, torch.rand(80, graph.num_nodes, 1))

    def flops(self, with_encoder: bool) -> float:
        """Multiplications and additions of the field, its gradient, the readout and perhaps the encoder; no others count."""
        n, h, steps = self.graph.num_nodes, self.model.decoder.in_features, len(self.times) - 1
        entries = ndcn.operators.signed_laplacian(self.graph).nnz
        field = 2 * entries * h + 2 * n * h * h
        backward = 2 * entries * h + 4 * n * h * h
        encoder = 3 * 2 * n * h * (h + 1) if with_encoder else 0
        return steps * (field + backward) + 3 * 2 * len(self.times) * n * h + encoder

    def with_solver(self, **changes: object) -> Callable[[], list[torch.Tensor]]:
        """Our own paths: forward, loss, backward; returns the gradients."""
        import copy
        from dataclasses import replace

        model = copy.deepcopy(self.model)
        model.solver = replace(model.solver, **changes)
        problem = Problem(self.graph, self.x0, 0.0, self.times, self._target())
        parameters, objective = list(model.parameters()), ndcn.Objective("l1")
        return lambda: list(torch.autograd.grad(problem.loss(model, objective), parameters))

    def kernel_alone(self) -> Callable[[], list[torch.Tensor]]:
        """The trajectory and its gradient only: no encoder, no loss. Returns nothing to compare."""
        hidden = self.model.encoder(self.x0).detach().requires_grad_()
        weights = [*self.model.field.parameters(), self.model.decoder.weight]
        steps, ones = self.times.diff(), torch.ones(len(self.times), self.graph.num_nodes, 1)

        def run() -> list[torch.Tensor]:
            states, _ = euler.trajectory(
                self.model.field,
                self.graph,
                hidden,
                steps,
                readout=self.model.decoder.weight,
                with_slopes=False,
                segment=len(steps),
                backend=euler_compiled,
            )
            torch.autograd.grad(states, [hidden, *weights], ones)
            return []

        return run

    def _target(self) -> Target:
        return Target(self.target, None, torch.full((len(self.times), 1, 1), 1 / self.target.numel()))

    def torchdiffeq(self, dense: bool) -> Callable[[], list[torch.Tensor]]:
        """torchdiffeq in its usual use."""
        from torchdiffeq import odeint

        phi = self._phi(dense)
        encoder, linear, decoder = self.model.encoder, self.model.field.linear, self.model.decoder
        times = self.times.float()
        return self._step(
            self.model,
            lambda x: decoder(odeint(lambda t, y: torch.relu(linear(phi @ y)), encoder(x), times, method="euler")),
        )

    def torch_loop(self) -> Callable[[], list[torch.Tensor]]:
        """A loop that anyone would write, with torch's own CSR product and its gradient."""
        phi = self._phi(dense=False)
        encoder, linear, decoder = self.model.encoder, self.model.field.linear, self.model.decoder
        steps = self.times.diff().tolist()

        def forward(x: torch.Tensor) -> torch.Tensor:
            y = encoder(x)
            states = [y]
            for h in steps:
                y = y + h * torch.relu(linear(phi @ y))
                states.append(y)
            return decoder(torch.stack(states))

        return self._step(self.model, forward)

    def torchode(self) -> Callable[[], list[torch.Tensor]]:
        """torchode with a fixed Euler step: it steps on a regular grid, with as many steps."""
        import torchode

        phi = self._phi(dense=True)
        encoder, linear, decoder = self.model.encoder, self.model.field.linear, self.model.decoder
        n, h = self.graph.num_nodes, linear.in_features
        term = torchode.ODETerm(lambda t, y: torch.relu(linear(phi @ y.reshape(n, h))).reshape(1, -1), with_stats=False)
        solver = torchode.AutoDiffAdjoint(torchode.Euler(term=term), torchode.FixedStepController(), max_steps=10_000)
        times = torch.linspace(0, float(self.times[-1]), len(self.times)).reshape(1, -1)
        step = torch.full((1,), float(self.times[-1]) / (len(self.times) - 1))

        def forward(x: torch.Tensor) -> torch.Tensor:
            start = encoder(x).reshape(1, -1)
            found = solver.solve(torchode.InitialValueProblem(y0=start, t_eval=times), dt0=step)
            return decoder(found.ys.reshape(len(self.times), n, h))

        return self._step(self.model, forward)

    def diffrax(self) -> Callable[[], list[torch.Tensor]]:
        """diffrax, compiled by JAX, stepping on the observation times."""
        import diffrax
        import jax
        import jax.numpy as jnp

        phi, target = (jnp.asarray(x.numpy()) for x in (self._phi(dense=True), self.target))
        x0, times = (jnp.asarray(x.float().numpy()) for x in (self.x0, self.times))
        start = [jnp.asarray(p.detach().numpy()) for p in self.model.parameters()]

        def loss(parameters: list[jax.Array]) -> jax.Array:
            w_e, b_e, w_0, b_0, w, b, w_d, b_d = parameters
            hidden = jnp.tanh(x0 @ w_e.T + b_e) @ w_0.T + b_0
            found = diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, _: jax.nn.relu(phi @ y @ w.T + b)),
                diffrax.Euler(),
                t0=times[0],
                t1=times[-1],
                dt0=None,
                y0=hidden,
                stepsize_controller=diffrax.StepTo(ts=times),
                saveat=diffrax.SaveAt(ts=times),
            )
            return jnp.abs(found.ys @ w_d.T + b_d - target).mean()

        gradient = jax.jit(jax.grad(loss))
        return lambda: [torch.from_numpy(np.array(g)) for g in jax.block_until_ready(gradient(start))]

    def _phi(self, dense: bool) -> torch.Tensor:
        operator = ndcn.operators.signed_laplacian(self.graph)
        return operator.to_dense().float() if dense else operator.tensor(torch.float32)

    def _step(
        self, model: nn.Module, forward: Callable[[torch.Tensor], torch.Tensor]
    ) -> Callable[[], list[torch.Tensor]]:
        parameters = list(model.parameters())

        def run() -> list[torch.Tensor]:
            loss = (forward(self.x0) - self.target).abs().mean()
            return list(torch.autograd.grad(loss, parameters))

        return run


@dataclass
class Citation:
    """One training step of node classification at the size of Cora: dX/dt = relu(Phi X), DOPRI5, sparse features."""

    graph: ndcn.Graph
    features: sparse.csr_array
    hidden: int = 256
    classes: int = 7
    terminal: float = 1.2

    @classmethod
    def like_cora(cls) -> Citation:
        """As many nodes, edges, features and stored features as Cora has, drawn at random."""
        draw = np.random.default_rng(0)
        n, links = 2708, 5429
        pairs = draw.integers(0, n, size=(2, links))
        a = sparse.coo_array((np.ones(links), (pairs[0], pairs[1])), shape=(n, n)).tocsr()
        graph = ndcn.Graph.from_scipy(sparse.csr_array(((a + a.T) > 0).astype(float)))
        features = sparse.random_array((n, 1433), density=49216 / (n * 1433), rng=draw, format="csr")
        return cls(graph, sparse.csr_array(features))

    def candidates(self, tolerance: float) -> dict[str, Callable[[], list[torch.Tensor]]]:
        """Ours against torchdiffeq with dense features, as the published code does it."""
        from torchdiffeq import odeint

        torch.manual_seed(0)
        n, width = self.features.shape
        weight = nn.Parameter(0.05 * torch.randn(width, self.hidden))
        decoder = nn.Linear(self.hidden, self.classes)
        labels, known = torch.randint(0, self.classes, (n,)), torch.arange(140)
        operator = ndcn.operators.diffusion(self.graph, 0.0)
        csr, sparse_features = operator.tensor(torch.float32), SparseMatrix(self.features)
        dense_features = torch.from_numpy(self.features.toarray()).float()
        field = ndcn.fields.DiffusionField(operator=lambda graph: ndcn.operators.diffusion(graph, 0.0))
        ticks = torch.linspace(0, self.terminal, 16)

        def gradients(last: torch.Tensor) -> list[torch.Tensor]:
            loss = nn.functional.cross_entropy(decoder(last)[known], labels[known])
            return list(torch.autograd.grad(loss, [weight, *decoder.parameters()]))

        def ours() -> list[torch.Tensor]:
            start = torch.tanh(sparse_features @ weight)
            solver = ndcn.Solver("dopri5", rtol=tolerance, atol=tolerance)
            return gradients(ndcn.integrate(field, self.graph, start, [self.terminal], solver=solver).states[-1])

        def theirs() -> list[torch.Tensor]:
            start = torch.tanh(dense_features @ weight)
            states = odeint(lambda t, x: torch.relu(csr @ x), start, ticks, rtol=tolerance, atol=tolerance)
            return gradients(states[-1])

        return {"ndcn": ours, "torchdiffeq": theirs}
