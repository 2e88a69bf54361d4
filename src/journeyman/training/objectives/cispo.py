"""CISPO, two policies: L = -(1/N) sum_t m_t sg[clamp(rho_t, clip_low, clip_high)] A_i logp_t, rho = exp(logp - lb).

`clip_high` is an absolute ceiling (5.0 = 1 + epsilon_high with epsilon_high = 4), not an offset from 1; there is no
lower bound by default. dL/dlogp_t = -m_t min(rho_t, 5) A / N. Three policies (for ablation):
w_t = sg[min(pi/pi_old, clip_high)] sg[min(pi_old/pi_rollout, rollout_cap)]; pi_old is the policy before the update.
With exactly one optimiser step a batch it equals pi while the loss is computed: no further forward is needed.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals, ratio, token_mean


class Cispo(ObjectiveSettings):
    """Settings of CISPO (MiniMax-M1, arXiv 2506.13585; two-policy form of Ultramarine)."""

    name: ClassVar[str] = "cispo"
    clip_high: float = Field(5.0, gt=0)
    clip_low: float = Field(0.0, ge=0)
    policies: Literal[2, 3] = 2
    rollout_cap: float = Field(2.0, gt=0)  # three-policy form only

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.clip_low >= self.clip_high:
            raise ValueError(f"clip_low = {self.clip_low} must be below clip_high = {self.clip_high}")
        return self

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return True

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first lines."""
        old = batch.logp.detach() if self.policies == 3 and batch.old is None else batch.old
        reference = batch.behaviour if old is None else old
        rho = ratio(batch.logp, reference, batch.mask).detach()
        weight = rho.clamp(self.clip_low, self.clip_high)
        if old is not None:
            weight = weight * ratio(old, batch.behaviour, batch.mask).detach().clamp(max=self.rollout_cap)
        clipped = batch.mask & ((rho > self.clip_high) | (rho < self.clip_low))
        return Loss(token_mean(-weight * batch.advantage * batch.logp, batch.mask, totals), clipped)
