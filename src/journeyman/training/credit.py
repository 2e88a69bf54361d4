"""From a group's members to advantages: shaping, baseline over valid members, zero-advantage filter. Torch-free."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, field_validator

from journeyman.records.base import Record
from journeyman.records.batch import Group, Member
from journeyman.training.advantages import NAMES, min_valid, rule
from journeyman.training.hdpo import HdpoConfig, channels
from journeyman.training.length import LengthConfig, shorter
from journeyman.training.shaping import Shaped, ShapingConfig, shape


class CreditConfig(Record):
    """How rewards become advantages."""

    advantage: str = "centred"  # centred, grpo, grpo_population, rloo, hdpo or critic; a method brings its own
    shaping: ShapingConfig = ShapingConfig()
    length: LengthConfig | None = None  # prime-rl's penalty beside shaping; None: off
    hdpo: HdpoConfig = HdpoConfig()  # advantage = hdpo only
    filter_on: Literal["shaped", "raw"] = "shaped"
    tolerance: float = Field(1e-6, ge=0)  # a group is kept iff some |advantage| exceeds it: exact zeros are rare

    @field_validator("advantage")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in NAMES:
            raise ValueError(f"{name!r} is unknown: choose one of {', '.join(NAMES)}")
        return name


@dataclass(frozen=True)
class GroupCredit:
    """One group's credit, in its members' order. `dropped` is "" where it is kept."""

    group: Group
    shaped: tuple[Shaped | None, ...]
    advantages: tuple[float, ...]  # 0.0 for invalid members, which have no rows, and where tokens get their own
    dropped: str = ""
    efficiency: tuple[float, ...] = ()  # HDPO's second channel, part of `advantages`; empty: one channel

    @property
    def kept(self) -> bool:
        """Whether the group trains."""
        return not self.dropped

    @property
    def valid(self) -> list[tuple[Member, Shaped, float]]:
        """Valid members with shaped reward and advantage."""
        return [
            (m, s, a) for m, s, a in zip(self.group.members, self.shaped, self.advantages, strict=True) if s is not None
        ]


def credit(group: Group, config: CreditConfig) -> GroupCredit:
    """Shape, centre and filter one group. A multi-segment member contributes one reward."""
    shaped = tuple(shorter(group.members, shape(group.members, config.shaping), config.length))
    valid = np.array([m.valid for m in group.members], dtype=bool)
    nothing = tuple(0.0 for _ in group.members)
    if config.advantage == "critic":  # no baseline among members: one valid attempt is enough
        return GroupCredit(group, shaped, nothing, "" if valid.any() else "no valid member")
    need = min_valid(len(group.members))
    if valid.sum() < need:
        reason = f"{int(valid.sum())} of {len(group.members)} members are valid, {need} are needed"
        return GroupCredit(group, shaped, nothing, reason)
    rewards = np.array([s.reward if s else 0.0 for s in shaped])
    raw = np.array([m.reward or 0.0 for m in group.members])
    if config.advantage == "hdpo":
        steps = np.array([float(m.turns) for m in group.members])
        both = channels(rewards, raw, steps, valid, config.hdpo)
        advantages, efficiency = both.accuracy + both.efficiency, tuple(map(float, both.efficiency))
        unshaped = channels(raw, raw, steps, valid, config.hdpo)
        judged = unshaped.accuracy + unshaped.efficiency if config.filter_on == "raw" else advantages
    else:
        apply = rule(config.advantage)
        advantages, efficiency = apply(rewards, valid), ()
        judged = apply(raw, valid) if config.filter_on == "raw" else advantages
    if not np.isfinite(advantages[valid]).all():
        return GroupCredit(group, shaped, nothing, "no advantage: its rewards are too far apart to be compared")
    dropped = "" if np.abs(judged[valid]).max() > config.tolerance else "no advantage: all members scored alike"
    return GroupCredit(group, shaped, tuple(map(float, advantages)), dropped, efficiency)
