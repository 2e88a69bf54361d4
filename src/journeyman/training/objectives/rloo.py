"""RLOO: L = -(1/N) sum_t m_t sg[min(rho_t, cap)] A_i logp_t, A_i = r_i - mean of the others = G/(G-1) (r_i - mean).

`cap` None: no importance correction, right only where every token is on-policy.
"""

from typing import ClassVar

from journeyman.training.objectives.reinforce import Reinforce


class Rloo(Reinforce):
    """Settings of REINFORCE leave-one-out (arXiv 2402.14740)."""

    name: ClassVar[str] = "rloo"
