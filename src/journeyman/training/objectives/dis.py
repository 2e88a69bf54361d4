"""DIS, double-sided importance sampling: L = -(1/N) sum_t m_t sg[f(rho_t)] A_t logp_t, rho = exp(logp - lb).

f(rho) = rho where 1 - epsilon_low < rho < 1 + epsilon_high, else 0: a hard mask on both sides, whatever the sign of A.
N counts rejected tokens too. GLM-5 Eq. 3-5; 0.8 / 3.0 is SAO's setting for coding agents: rho in (0.2, 4.0).
`mode` "bounds" reads the two numbers as the bounds themselves: rho in (0.8, 3.0).
"""

from typing import TYPE_CHECKING, Literal

import torch

from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals, ratio, token_mean

if TYPE_CHECKING:
    from torch import Tensor


class Dis(ObjectiveSettings):
    """Settings of DIS."""

    name: str = "dis"
    whole_members: bool = False
    epsilon_low: float = 0.8
    epsilon_high: float = 3.0
    mode: Literal["epsilon", "bounds"] = "epsilon"

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return True

    def accepted(self, rho: "Tensor") -> "Tensor":
        """[T] bool: which ratios keep their token."""
        epsilon = self.mode == "epsilon"
        low = 1 - self.epsilon_low if epsilon else self.epsilon_low
        high = 1 + self.epsilon_high if epsilon else self.epsilon_high
        return (rho > low) & (rho < high)

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first lines."""
        rho = ratio(batch.logp, batch.behaviour, batch.mask).detach()
        kept = self.accepted(rho)
        weight = torch.where(kept, rho, torch.zeros_like(rho))
        value = token_mean(-weight * batch.advantage * batch.logp, batch.mask, totals)
        return Loss(value, batch.mask & ~kept)
