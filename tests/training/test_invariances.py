"""The invariance suite holds for every objective that ships, and finds one that breaks it on purpose."""

from typing import ClassVar

import pytest
import torch

from journeyman.training.invariances import OBJECTIVES, TOLERANCE, Checked, check, label_of
from journeyman.training.methods import METHODS
from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals
from journeyman.training.objectives.gspo import Gspo

MICRO_BATCH_MEAN = {"name": f"{__name__}:MicroBatchMean"}
TERMINAL_AT_OBSERVATIONS = {"name": f"{__name__}:OrderDependent"}


class MicroBatchMean(ObjectiveSettings):
    """REINFORCE divided by the micro-batch's own token count: the commonest mistake."""

    name: ClassVar[str] = "micro_batch_mean"
    corrects: ClassVar[bool] = True

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        per_token = torch.where(batch.mask, -batch.advantage * batch.logp, torch.zeros_like(batch.logp))
        return Loss(per_token.sum() / batch.mask.sum(), torch.zeros_like(batch.mask))


class OrderDependent(ObjectiveSettings):
    """Weights tokens by their place, as if an observation ended an episode."""

    name: ClassVar[str] = "order_dependent"
    corrects: ClassVar[bool] = True

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        place = torch.arange(len(batch.logp)) / 100
        per_token = torch.where(batch.mask, -batch.advantage * batch.logp * place, torch.zeros_like(batch.logp))
        return Loss(per_token.sum() / totals.tokens, torch.zeros_like(batch.mask))


class CutMembers(Gspo):
    """GSPO whose members may be cut: each piece then has a ratio of its own."""

    name: ClassVar[str] = "cut_members"
    whole_members: ClassVar[bool] = False


def broken(checked: list[Checked]) -> set[str]:
    return {c.invariance for c in checked if not c.holds}


def test_every_objective_that_ships_is_in_the_suite() -> None:
    assert {str(o["name"]) for o in OBJECTIVES} == set(METHODS) - {"ppo", "dis"}


@pytest.mark.parametrize("objective", [o for o in OBJECTIVES if o["name"] in ("cispo", "gspo", "sao")], ids=label_of)
def test_one_batch_told_in_several_ways_gives_one_gradient(objective: dict[str, object]) -> None:
    checked = check((objective,), workers=1)
    assert broken(checked) == set()
    assert {c.invariance: c.tolerance for c in checked}["resume"] == 0.0
    assert max(c.gap for c in checked) < TOLERANCE / 5
    assert len(checked) == 8


def test_a_loss_divided_by_its_micro_batch_is_found() -> None:
    found = broken(check((MICRO_BATCH_MEAN,), workers=1))
    assert "micro-batch split" in found
    assert "resume" not in found


def test_a_member_cut_by_a_micro_batch_is_found() -> None:
    cut = {"name": f"{__name__}:CutMembers", "clip_low": 0.2, "clip_high": 0.2}
    assert broken(check((cut,), workers=1)) == {"segments in several micro-batches"}


def test_a_loss_that_counts_observations_is_found() -> None:
    found = broken(check((TERMINAL_AT_OBSERVATIONS,), workers=1))
    assert {"inserting observations", "micro-batch split"} <= found


@pytest.mark.slow
def test_two_gloo_workers_sum_to_one_process() -> None:
    checked = check(workers=2)
    assert broken(checked) == set()
    assert sum(c.invariance == "2 workers" for c in checked) == len(OBJECTIVES)
