"""DIS, double-sided importance sampling: L = -(1/N) sum_t m_t sg[f(rho_t)] A_t logp_t, rho = exp(logp - lb).

f(rho) = rho where 1 - epsilon_low < rho < 1 + epsilon_high, else 0: a hard mask on both sides, whatever the sign of A.
N counts rejected tokens too. GLM-5 Eq. 3-5; 0.8 / 3.0 is SAO's setting for coding agents: rho in (0.2, 4.0).
`mode` "bounds" reads the two numbers as the bounds themselves: rho in (0.8, 3.0).
"""

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import model_validator

from journeyman.training.objectives.base import Loss, ObjectiveSettings, TokenBatch, Totals, masked, ratio, token_mean

if TYPE_CHECKING:
    from torch import Tensor


class Dis(ObjectiveSettings):
    """Settings of DIS."""

    name: ClassVar[str] = "dis"
    epsilon_low: float = 0.8
    epsilon_high: float = 3.0
    mode: Literal["epsilon", "bounds"] = "epsilon"

    @property
    def corrects(self) -> bool:
        """Whether stale tokens are corrected for."""
        return True

    @property
    def bounds(self) -> tuple[float, float]:
        """The two ratios between which a token is kept."""
        if self.mode == "bounds":
            return self.epsilon_low, self.epsilon_high
        return 1 - self.epsilon_low, 1 + self.epsilon_high

    @model_validator(mode="after")
    def _keep_what_is_on_policy(self) -> Self:
        low, high = self.bounds
        if not low < 1 < high:
            raise ValueError(f"the bounds ({low:g}, {high:g}) of the ratio reject tokens of the current policy, at 1")
        return self

    def accepted(self, rho: "Tensor") -> "Tensor":
        """[T] bool: which ratios keep their token."""
        low, high = self.bounds
        return (rho > low) & (rho < high)

    def loss(self, batch: TokenBatch, totals: Totals) -> Loss:
        """See the module's first lines."""
        rho = ratio(batch.logp, batch.behaviour, batch.mask).detach()
        kept = self.accepted(rho)
        weight = masked(rho, kept)
        value = token_mean(-weight * batch.advantage * batch.logp, batch.mask, totals)
        return Loss(value, batch.mask & ~kept)
