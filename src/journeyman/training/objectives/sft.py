"""SFT: L = -(1/N) sum_t m_t logp_t, the mean over all trained tokens of the global batch."""

from typing import ClassVar

from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals, token_mean


class Sft(ObjectiveSettings):
    """Cross-entropy on response tokens."""

    name: ClassVar[str] = "sft"

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return False

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first line."""
        return Loss(token_mean(-batch.logp, batch.mask, totals), batch.mask & False)
