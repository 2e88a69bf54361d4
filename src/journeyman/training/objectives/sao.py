"""SAO: DIS on per-token advantages from a critic; one rollout a task, no group.

L = -(1/N) sum_t m_t sg[f(rho_t)] A_t logp_t, f and rho as in dis.py, A as in training/gae.py. The critic starts from
the policy checkpoint, trains alone for `critic.pretrain_steps` batches, then `critic.updates` times a policy step.
"""

from typing import ClassVar

from journeyman.training.config import CriticConfig
from journeyman.training.objectives.dis import Dis


class Sao(Dis):
    """Settings of SAO (Occamy, Table 11)."""

    name: ClassVar[str] = "sao"
    critic: CriticConfig = CriticConfig()
