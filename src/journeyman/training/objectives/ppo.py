"""PPO clip (GRPO, Dr. GRPO, RLOO differ in the advantage and the aggregation only):

l_t = -min(rho_t A, clip(rho_t, 1 - low, 1 + high) A), rho = exp(logp - old), old = lb where no `old` is given; summed

    token    sum m l / N
    prompt   (1/P) sum_p mean over the prompt's tokens
    sample   (1/R) sum_i mean over the member's tokens
    constant sum m l / (R max_tokens)                    (Dr. GRPO)

Splitting a member into segments changes none of them.
"""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals, masked, ratio

if TYPE_CHECKING:
    from torch import Tensor

Aggregation = Literal["token", "prompt", "sample", "constant"]


def aggregate(per_token: "Tensor", batch: TokenBatch, totals: Totals, how: Aggregation, max_tokens: int) -> "Tensor":
    """This micro-batch's share of the named aggregation over the whole batch (scalar)."""
    kept = masked(per_token, batch.mask)
    if how == "token":
        return kept.sum() / max(totals.tokens, 1)
    if how == "prompt":
        return (kept / batch.group_tokens).sum() / max(totals.groups, 1)
    if how == "sample":
        return (kept / batch.member_tokens).sum() / max(totals.members, 1)
    return kept.sum() / max(totals.members * max_tokens, 1)


class PpoClip(ObjectiveSettings):
    """Settings of the clipped surrogate."""

    name: ClassVar[str] = "ppo"
    clip_low: float = Field(0.2, gt=0, le=1)
    clip_high: float = Field(0.2, gt=0)
    aggregation: Aggregation = "token"
    max_tokens: int = Field(2048, ge=1)  # of one member; aggregation = "constant" only

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return True

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first lines."""
        rho = ratio(batch.logp, batch.behaviour if batch.old is None else batch.old, batch.mask)
        plain = rho * batch.advantage
        bounded = rho.clamp(1 - self.clip_low, 1 + self.clip_high) * batch.advantage
        value = aggregate(-plain.minimum(bounded), batch, totals, self.aggregation, self.max_tokens)
        return Loss(value, batch.mask & (bounded < plain).detach())
