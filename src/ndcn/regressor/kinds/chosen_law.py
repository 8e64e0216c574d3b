"""The law that ``model="auto"`` takes where one explains the data: a law like any other, that forecasts where nothing is asked."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import torch

from ..._support.horizon import usual_horizon
from ...data import Dataset, Trajectory, without_outliers
from ...forecast import Auto, LawChoice, law_first
from ...identify import FoundLaw, Noise, observation_noise
from ...training import History
from ..initial import InitialCondition
from ..kind import Ahead, Can, State, Stored, TrainingData
from ..query import Prediction, Query
from ..settings import Settings
from .interaction import INTERACTION, FittedLaw, with_states
from .learned_law import LearnedLaw
from .recent import last_of, recent_tensors, stored_recent

MOST_OUTLIERS = 0.01  # of what was observed: more are no exceptions, and may be what a law does not explain

CAN = replace(INTERACTION.can, judges_itself=True)


class ChosenLaw(FittedLaw):
    """A law that explains the data to their noise; unasked it predicts the steps after the last snapshot, with intervals."""

    level = 0.9

    def __init__(
        self,
        can: Can,
        initial: list[InitialCondition],
        history: History,
        law: LearnedLaw,
        steps: Ahead,
        choice: LawChoice | None,
        noise: Noise | None,
    ) -> None:
        super().__init__(can, initial, history, law)
        self._steps, self.choice, self.noise = steps, choice, noise
        if noise is not None:
            self.caption = "intervals are those of observations, with their noise"

    def predict(self, query: Query, *, spread: bool) -> Prediction:
        """The trajectory of the law; its intervals hold observations, which are the law's states with noise."""
        found = super().predict(query, spread=spread)
        mean, std = found.mean, found.std
        if self.noise is None or std is None:
            return found
        sigma = (std.states.double().square() + self.noise.at(mean.states.double()).square()).sqrt()
        observed = Prediction(mean, std.replaced(states=sigma.to(mean.states.dtype), mask=None))
        return replace(found, quantiles=observed.intervals)

    @property
    def steps(self) -> Ahead:
        """The steps after the last snapshot; a law predicts at any other time, too."""
        return self._steps

    def with_recent(self, run: Trajectory) -> ChosenLaw:
        """Keep the last snapshots, for pictures of predictions beside the past."""
        self.recent = last_of(run, self.steps.steps)
        return self

    def state(self) -> State:
        """The law, the steps that it predicts unasked, and why it was chosen."""
        about, tensors = super().state()
        choice = {} if self.choice is None else {"choice": self.choice.to_json()}
        noise = {}
        if self.noise is not None:
            noise = {"noise": [self.noise.additive.tolist(), self.noise.share.tolist()]}
        return {**about, "steps": asdict(self.steps), **choice, **noise}, tensors | recent_tensors(self.recent)

    def facts(self) -> dict[str, Any]:
        """The law, and why it was chosen."""
        ahead = {"horizon": self.steps.steps, "step": self.steps.step, "last_time": self.steps.start}
        return {**super().facts(), **choice_facts(self.choice), **ahead}

    def summary(self) -> str:
        """The equation, why it is the model, and what to do about it."""
        equation = self.facts()["law"]["equation"]
        return f"{equation}\n{self.law.evidence.reason}\nIt is the model; --no-law gives a forecast by backtest."

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the law has to know."""
        return () if self.choice is None else self.choice.notes


def tried_law(data: TrainingData, options: Auto, settings: Settings) -> tuple[FoundLaw | None, LawChoice, Trajectory]:
    """The law of the data where it is to be believed, why it is or is not, and the run as it was used.

    Where there is none, wrong cells are held out, as of forecasts, and it is looked for again: one -999 hides any law.
    """
    run = data.trajectories[0]
    if not options.tries_law:
        return None, LawChoice("not asked for"), run
    if isinstance(data.given, Dataset) and len(data.given.runs) > 1:
        return None, LawChoice("several runs"), run
    if len(data.trajectories) > 1:  # one run, cut where the graph changes
        return None, LawChoice("graphs change"), run
    how = (options.seconds, settings.seed, settings["progress"])
    found, choice = law_first(run, *how)
    if found is None and choice.tried and not options.keep_outliers and (usual := _without_outliers(run)) is not None:
        again, second = law_first(usual, *how)
        if again is not None:
            held = int((run.states.isfinite() & ~usual.states.isfinite()).sum())
            return again, replace(second, outliers=held), usual
    return found, choice, run


def _without_outliers(run: Trajectory) -> Trajectory | None:
    """The run without wrong cells; None if there are none, or too many to be exceptions."""
    states = run.states.detach().double()
    usual = torch.stack([torch.from_numpy(without_outliers(one.numpy())) for one in states.cpu().unbind(-1)], -1)
    seen, left = states.isfinite().sum(), usual.isfinite().sum()
    if left == seen or left < (1 - MOST_OUTLIERS) * seen:
        return None
    return run.replaced(states=run.states, mask=usual.isfinite().to(run.states.device))


def law_ahead(run: Trajectory, found: FoundLaw, choice: LawChoice, horizon: int | None, history: History) -> ChosenLaw:
    """The law as a model, whose reason is that of the choice."""
    count = usual_horizon(len(run)) if horizon is None else horizon
    steps = Ahead(run.times[-1].item(), run.times.diff().median().item(), count)
    told = replace(found, evidence=replace(found.evidence, reason=choice.sentence))
    noise = observation_noise(found, run) if choice.noisy else None
    return ChosenLaw(CAN, with_states([run], found.initial_states), history, LearnedLaw(told), steps, choice, noise)


def restored_law(stored: Stored, settings: Settings) -> ChosenLaw:
    """The law of a file."""
    plain, steps = INTERACTION.restore(stored, settings), Ahead(**stored.about["steps"])
    noise = _stored_noise(stored)
    fitted = ChosenLaw(CAN, plain.initial, plain.histories[0], plain.law, steps, stored_choice(stored), noise)
    fitted.recent = stored_recent(stored, plain.initial[0].features)
    return fitted


def _stored_noise(stored: Stored) -> Noise | None:
    """The noise of observations; None of data without it.

    Raises:
        ValueError: it is not two numbers of at least 0 for each feature.
    """
    kept = stored.about.get("noise")
    if kept is None:
        return None
    both = torch.tensor(kept, dtype=torch.float64)
    if both.shape != (2, stored.initial[0].x0.shape[1]) or not bool((both.isfinite() & (both >= 0)).all()):
        raise ValueError("the noise of observations in this file is not two numbers of at least 0 for each feature")
    return Noise(*both)


def stored_choice(stored: Stored) -> LawChoice | None:
    """Why a law or a forecast was taken; None of files of versions that did not look for a law."""
    plain = stored.about.get("choice")
    return None if plain is None else LawChoice.from_json(plain)


def choice_facts(choice: LawChoice | None) -> dict[str, Any]:
    """What `ndcn fit --json` tells of the choice."""
    return {} if choice is None else {"choice": {**choice.to_json(), "law": choice.law, "sentence": choice.sentence}}
