"""prime-rl's linear length penalty: what a member used, as a share of the most in its group, costs some reward.

    penalty_i = max(mean(r), 0) (output o_i / max o + input u_i / max u + turns n_i / max n)        over valid members

r is the reward before shaping, o the sampled tokens, u the prompt tokens of all calls, n the model calls. Without the
maximum a group of negative rewards would be paid for its length; prime-rl's own rewards are never negative.
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from journeyman.records.base import Record
from journeyman.records.batch import Member
from journeyman.training.shaping import Shaped


class LengthConfig(Record):
    """Shares of the mean reward that the longest member of a group loses."""

    output: float = Field(0.25, ge=0)
    input: float = Field(0.1, ge=0)
    turns: float = Field(0.1, ge=0)


def shorter(
    members: Sequence[Member], shaped: Sequence[Shaped | None], config: LengthConfig | None
) -> list[Shaped | None]:
    """The shaped rewards with the penalty as one more term, "length"; as they are where `config` is None."""
    valid = [m for m in members if m.valid]
    if config is None or not valid:
        return list(shaped)
    mean = max(float(np.mean([m.reward for m in valid if m.reward is not None])), 0.0)
    most = [max(used) for used in zip(*map(_used, valid), strict=True)]
    made: list[Shaped | None] = []
    for member, one in zip(members, shaped, strict=True):
        if one is None:
            made.append(None)
            continue
        shares = (used / longest if longest else 0.0 for used, longest in zip(_used(member), most, strict=True))
        weighed = zip((config.output, config.input, config.turns), shares, strict=True)
        penalty = mean * sum(weight * share for weight, share in weighed)
        made.append(Shaped(reward=one.reward - penalty, terms={**one.terms, "length": penalty}))
    return made


def _used(member: Member) -> tuple[int, int, int]:
    return member.sampled_tokens, member.prompt_tokens, member.turns
