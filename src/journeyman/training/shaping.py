"""Ultramarine's reward shaping: turn fade, output, extreme-length and invalid-call terms; every constant is a key.

    f(n)  = clip((turn_cap - n) / (turn_cap - turn_start), 0, 1)
    r'_i  = f(n_i) max(r_i, 0) + min(r_i, 0)                       only positive reward fades
    g     = 1[mean over valid members of r' > 0]
    out_i = min(output_cap, output_rate max(0, T_i - output_allowance) / 1000)
    ext_i = extreme_cap clip((T_i - extreme_start) / extreme_ramp, 0, 1)
    inv_i = min(invalid_cap, invalid_rate c_i)
    shaped_i = r'_i - g (out_i + ext_i) - inv_i                    no lower clamp

The formula is rebuilt from prose; the constants are ours. Order: quarantine, fade, gate, penalties; then centre and
filter.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from journeyman.records.base import Record
from journeyman.records.batch import Member

FloatArray = npt.NDArray[np.float64]


class ShapingConfig(Record):
    """Constants of the shaped reward."""

    turn_cap: int = Field(250, ge=0)  # reward has faded to zero at this many model calls
    turn_start: int = Field(125, ge=0)  # fading starts here
    output_allowance: int = Field(30_000, ge=0)  # sampled tokens that cost nothing
    output_rate: float = Field(0.002, ge=0)  # per 1,000 sampled tokens beyond the allowance
    output_cap: float = Field(0.1, ge=0)
    extreme_start: int = Field(100_000, ge=0)  # sampled tokens
    extreme_ramp: int = 50_000  # sampled tokens
    extreme_cap: float = Field(0.5, ge=0)
    invalid_rate: float = Field(0.02, ge=0)  # per malformed or unknown call
    invalid_cap: float = Field(0.2, ge=0)
    gate_extreme: bool = True  # the extreme-length term, too, applies only where the group's mean is positive

    @model_validator(mode="after")
    def _ramps_have_length(self) -> "ShapingConfig":
        if self.turn_start >= self.turn_cap or self.extreme_ramp <= 0:
            raise ValueError("turn_start must be below turn_cap, and extreme_ramp above 0")
        return self

    @classmethod
    def off(cls) -> "ShapingConfig":
        """No shaping: the shaped reward is the reward."""
        return cls(turn_cap=10**9, turn_start=10**9 - 1, output_cap=0.0, extreme_cap=0.0, invalid_cap=0.0)


class Shaped(Record):
    """One member's shaped reward and its terms (`fade` is what fading took, all are >= 0 and subtracted)."""

    reward: float
    terms: dict[str, float]


def shape(members: Sequence[Member], config: ShapingConfig) -> list[Shaped | None]:
    """Shaped rewards in the members' order; None for invalid members, which change nothing for the rest."""
    valid = [m for m in members if m.valid]
    if not valid:
        return [None for _ in members]
    r = np.array([m.reward for m in valid], dtype=np.float64)
    turns, tokens, invalid = (
        np.array([getattr(m, key) for m in valid], dtype=np.float64)
        for key in ("turns", "sampled_tokens", "invalid_calls")
    )
    f = np.clip((config.turn_cap - turns) / (config.turn_cap - config.turn_start), 0.0, 1.0)
    faded = f * np.maximum(r, 0) + np.minimum(r, 0)
    gate = 1.0 if faded.mean() > 0 else 0.0
    out = np.minimum(config.output_cap, config.output_rate * np.maximum(0, tokens - config.output_allowance) / 1000)
    ext = config.extreme_cap * np.clip((tokens - config.extreme_start) / config.extreme_ramp, 0, 1)
    inv = np.minimum(config.invalid_cap, config.invalid_rate * invalid)
    terms: dict[str, FloatArray] = {
        "fade": r - faded,
        "output": gate * out,
        "extreme": (gate if config.gate_extreme else 1.0) * ext,
        "invalid": inv,
    }
    total = faded - terms["output"] - terms["extreme"] - inv
    made = iter(
        Shaped(reward=float(total[i]), terms={k: float(v[i]) for k, v in terms.items()}) for i in range(len(valid))
    )
    return [next(made) if m.valid else None for m in members]
