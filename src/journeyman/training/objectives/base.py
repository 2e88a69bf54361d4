"""The objective seam: log-probs of trained tokens and their advantages in, one scalar to minimise out.

Legend: T = tokens of a micro-batch. N, members and groups are counted over the whole optimiser batch before the first
backward, so the sum of micro-batch losses does not depend on how the batch was split, ordered or segmented.
No file of this folder imports torch: a recipe's settings are checked where torch is not.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from journeyman.records.base import Record

if TYPE_CHECKING:
    from torch import Tensor

LOG_RATIO_LIMIT = 20.0  # log-ratios are clamped to +-20 before exp: exp(25) stays finite


@dataclass(frozen=True)
class TokenBatch:
    """Tokens of one micro-batch, fp32 unless said otherwise. Where mask is 0, log-probs may be anything, also -inf."""

    logp: "Tensor"  # [T] of the current policy at the sampling temperature; carries the gradient
    behaviour: "Tensor"  # [T] as recorded when sampled
    advantage: "Tensor"  # [T] of the token's member
    mask: "Tensor"  # [T] bool: sampled by the policy and eligible
    member: "Tensor"  # [T] int64: index of the token's trajectory (all its segments share it)
    group: "Tensor"  # [T] int64
    member_tokens: "Tensor"  # [T] trained tokens of the token's member in the whole batch, at least 1
    group_tokens: "Tensor"  # [T] trained tokens of the token's group in the whole batch, at least 1
    old: "Tensor | None" = None  # [T] log-probs of the policy before the update; None: two-policy forms
    efficiency: "Tensor | None" = None  # [T] HDPO's second channel, already part of `advantage`; None: one channel


@dataclass(frozen=True)
class Totals:
    """Counts over the whole optimiser batch."""

    tokens: int  # N
    members: int  # valid members with at least one trained token
    groups: int


@dataclass(frozen=True)
class Loss:
    """What an objective gives back for one micro-batch."""

    value: "Tensor"  # scalar; already divided by the global normaliser, never divide again
    clipped: "Tensor"  # [T] bool: trained tokens whose weight was clipped or rejected


class Objective(Protocol):
    """One equation."""

    @property
    def name(self) -> str:
        """As recipes call it."""
        ...

    @property
    def whole_members(self) -> bool:
        """Whether all segments of a member must share a micro-batch."""
        ...

    @property
    def corrects(self) -> bool:
        """Whether tokens of an older policy are weighted by their ratio; without it a stale batch is refused."""
        ...

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """The loss of one micro-batch; the sum over micro-batches is the batch's loss."""
        ...


class ObjectiveSettings(Record):
    """Base of every objective: its settings are its fields, what it is stands in class variables."""

    name: ClassVar[str]
    whole_members: ClassVar[bool] = False


def masked(x: "Tensor", mask: "Tensor") -> "Tensor":
    """`x` where trained, 0 elsewhere, so that inf and NaN at masked positions never meet a product."""
    return x.where(mask, x.new_zeros(()))


def ratio(logp: "Tensor", reference: "Tensor", mask: "Tensor") -> "Tensor":
    """[T] exp(logp - reference) with the log clamped to +-20; 1 at masked positions."""
    return bounded_exp(masked(logp - reference, mask))


def bounded_exp(log_ratio: "Tensor") -> "Tensor":
    """exp of a log-ratio clamped to +-20, whatever it is a ratio of."""
    return log_ratio.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()


def token_mean(per_token: "Tensor", mask: "Tensor", totals: Totals) -> "Tensor":
    """Sum over trained tokens / N (clamped to 1): the token aggregation of the whole batch."""
    return masked(per_token, mask).sum() / max(totals.tokens, 1)
