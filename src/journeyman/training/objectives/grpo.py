"""GRPO: L = -(1/R) sum_i (1/|y_i|) sum_t m_t min(rho_t A_i, clip(rho_t, 1 - low, 1 + high) A_i), rho = exp(logp - old).

A_i = (r_i - mean) / (std + 1e-6) of its group (std unbiased). A member's mean is over all its segments together.
"""

from typing import ClassVar

from journeyman.training.objectives.ppo import Aggregation, PpoClip


class Grpo(PpoClip):
    """Settings of GRPO (DeepSeekMath, arXiv 2402.03300), without its KL term."""

    name: ClassVar[str] = "grpo"
    aggregation: Aggregation = "sample"
