"""Dr. GRPO: L = -(1/(R L_max)) sum_i sum_t m_t min(rho_t A_i, clip(rho_t, 1 - low, 1 + high) A_i), A_i = r_i - mean.

Neither the group's standard deviation nor a member's length divides anything: both would favour one kind of answer.
"""

from typing import ClassVar

from journeyman.training.objectives.ppo import Aggregation, PpoClip


class DrGrpo(PpoClip):
    """Settings of Dr. GRPO (arXiv 2503.20783). `max_tokens` is L_max, a constant of the run."""

    name: ClassVar[str] = "dr_grpo"
    aggregation: Aggregation = "constant"
