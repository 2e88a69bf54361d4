"""HDPO: L = L_s(A_acc) + L_s(A_eff) with one N, two advantage channels (training/hdpo.py) and one surrogate s.

Where s is linear in A (dis, cispo, reinforce) that is L_s(A_acc + A_eff). PPO's min is not, so there the two losses are
taken apart. The text does not name the surrogate: dis where generators run ahead, ppo in turn (as Metis).
"""

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from journeyman.errors import UserError
from journeyman.store.config_file import parse_config
from journeyman.training.objectives.base import Loss, Objective, ObjectiveSettings, TokenBatch, Totals
from journeyman.training.objectives.cispo import Cispo
from journeyman.training.objectives.dis import Dis
from journeyman.training.objectives.ppo import PpoClip
from journeyman.training.objectives.reinforce import Reinforce

_SURROGATES: dict[str, type[ObjectiveSettings]] = {"dis": Dis, "cispo": Cispo, "reinforce": Reinforce, "ppo": PpoClip}


class Hdpo(ObjectiveSettings):
    """Settings of HDPO's loss; the channels' weights are credit (`credit.hdpo`)."""

    name: ClassVar[str] = "hdpo"
    surrogate: Literal["dis", "cispo", "reinforce", "ppo"] = "dis"
    settings: dict[str, Any] = Field(default_factory=dict)  # of the surrogate

    @cached_property
    def _made(self) -> Objective:
        made: Objective = parse_config(self.settings, _SURROGATES[self.surrogate])  # type: ignore[assignment]
        return made

    @model_validator(mode="after")
    def _settings_are_the_surrogates(self) -> Self:
        try:
            _ = self._made
        except UserError as error:
            raise ValueError(f"settings of {self.surrogate}: {error}") from None
        return self

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return self._made.corrects

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first lines."""
        surrogate = self._made
        if self.surrogate != "ppo" or batch.efficiency is None:
            return surrogate.loss(batch, totals)
        accuracy = surrogate.loss(replace(batch, advantage=batch.advantage - batch.efficiency), totals)
        efficiency = surrogate.loss(replace(batch, advantage=batch.efficiency), totals)
        return Loss(accuracy.value + efficiency.value, accuracy.clipped | efficiency.clipped)
