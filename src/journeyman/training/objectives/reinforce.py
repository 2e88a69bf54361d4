"""REINFORCE: L = -(1/N) sum_t m_t A_i logp_t; optionally x sg[min(rho_t, cap)], rho = exp(logp - lb) (TIS)."""

from typing import ClassVar

from pydantic import Field

from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals, ratio, token_mean


class Reinforce(ObjectiveSettings):
    """Policy gradient. `cap` None: no importance correction, right only where every token is on-policy."""

    name: ClassVar[str] = "reinforce"
    cap: float | None = Field(None, gt=0)

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return self.cap is not None

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first line."""
        per_token = -batch.advantage * batch.logp
        if self.cap is None:
            return Loss(token_mean(per_token, batch.mask, totals), batch.mask & False)
        rho = ratio(batch.logp, batch.behaviour, batch.mask).detach()
        return Loss(token_mean(per_token * rho.clamp(max=self.cap), batch.mask, totals), batch.mask & (rho > self.cap))
