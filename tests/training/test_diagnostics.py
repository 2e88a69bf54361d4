"""Figures of a step against the vectors of the design."""

import math

import pytest
import torch

from journeyman.training.diagnostics import RatioSums
from journeyman.training.figures import finite, staleness


def sums(*rho: float) -> dict[str, float]:
    made = RatioSums()
    logp = torch.tensor([math.log(r) for r in rho])
    made.add(logp, torch.zeros(len(rho)), torch.zeros(len(rho)), logp > math.log(4), 0.0)
    return made.figures()


def test_staleness_is_that_of_the_oldest_token() -> None:
    assert staleness(6, min(3, 3, 4, 5)) == 3


def test_effective_sample_size_and_k3() -> None:
    assert sums(1, 2, 5, 0.5)["ess"] == pytest.approx(0.597107, abs=1e-6)
    assert sums(1, 2, 0.5)["k3"] == pytest.approx(0.166667, abs=1e-6)


def test_on_policy_figures_are_neutral_and_a_shifted_policy_shows() -> None:
    same = sums(1, 1, 1)
    assert (same["ess"], same["k3"], same["ratio_mean"], same["clip_fraction"]) == (1, 0, 1, 0)
    shifted = sums(1, 8, 0.5)
    assert shifted["clip_fraction"] == pytest.approx(1 / 3)
    assert shifted["ratio_max"] == pytest.approx(8)


def test_what_cannot_be_computed_is_absent() -> None:
    assert RatioSums().figures() == {}
    assert finite({"a": 1.0, "b": math.nan, "c": math.inf}) == {"a": 1.0}
