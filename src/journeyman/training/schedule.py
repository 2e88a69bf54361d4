"""Learning-rate factor by step: linear warm-up to 1, then constant or cosine down to the floor."""

from math import cos, pi
from typing import Literal

from pydantic import Field

from journeyman.records.base import Record


class ScheduleConfig(Record):
    """Shape of the learning rate over the run."""

    kind: Literal["constant", "cosine"] = "constant"
    warmup_fraction: float = Field(0.0, ge=0, le=1)  # of all steps
    floor: float = Field(0.02, ge=0, le=1)  # last factor of the cosine: 1e-5 -> 2e-7


def stands_still(total: int, config: ScheduleConfig) -> str:
    """Why none of `total` steps would move a weight; "" where one does."""
    if any(factor(step, total, config) > 0 for step in range(1, total + 1)):
        return ""
    return f"schedule: the learning rate is 0 at {'each of ' * (total > 1)}{total} step{'s' * (total > 1)}: raise floor"


def factor(step: int, total: int, config: ScheduleConfig) -> float:
    """Factor on the peak learning rate for update `step` (1..total)."""
    warmup = config.warmup_fraction * total
    if step < warmup:
        return step / warmup
    if config.kind == "constant":
        return 1.0
    progress = min(1.0, (step - warmup) / max(total - warmup, 1e-9))
    return config.floor + (1 - config.floor) * 0.5 * (1 + cos(pi * progress))
