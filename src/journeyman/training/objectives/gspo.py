"""GSPO: s_i = exp((1/|y_i|) sum_t m_t (logp_t - lb_t)), one ratio per member over all its segments, PPO-clipped:

L = -(1/R) sum_i min(s_i A_i, clip(s_i, 1 - low, 1 + high) A_i), the mean log-ratio clamped to +-20 before exp.
"""

from typing import ClassVar

from pydantic import Field

from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals, bounded_exp, masked


class Gspo(ObjectiveSettings):
    """Settings of GSPO; the paper's clip is about 3e-4 / 4e-4."""

    name: ClassVar[str] = "gspo"
    whole_members: ClassVar[bool] = True
    clip_low: float = Field(3e-4, gt=0, le=1)
    clip_high: float = Field(4e-4, gt=0)

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return True

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first lines."""
        members, index = batch.member.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        share = masked(batch.logp - batch.behaviour, batch.mask) / batch.member_tokens
        zeros = share.new_zeros(len(members))
        s = bounded_exp(zeros.index_add(0, index, share))
        advantage = zeros.scatter_reduce(
            0, index[batch.mask], batch.advantage[batch.mask], reduce="mean", include_self=False
        )
        plain, bounded = s * advantage, s.clamp(1 - self.clip_low, 1 + self.clip_high) * advantage
        value = -plain.minimum(bounded).sum() / max(totals.members, 1)
        return Loss(value, batch.mask & (bounded < plain).detach()[index])
