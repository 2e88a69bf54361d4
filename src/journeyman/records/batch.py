"""What a dataset holds beside its rows: groups of members, packs, manifest. An invalid member has no reward."""

import math
from contextlib import suppress
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from journeyman.records.base import Record


class Member(Record):
    """One episode of a group. `valid` False: set aside with `cause`, absent from baselines, rows and N.

    A reward that is no finite number is no grade: such a member is set aside.
    """

    episode: str  # EpisodeSpec.id
    valid: bool
    cause: str = ""  # "layer: cause" where not valid
    reward: float | None = None  # of the named reward, once per episode; None iff not valid
    turns: int = 0  # model calls over all segments
    sampled_tokens: int = 0  # over all segments, policy-written summaries included
    prompt_tokens: int = 0  # summed over its model calls
    invalid_calls: int = 0  # malformed calls and unknown tools only
    tool_calls: int = 0  # over all turns
    calling_turns: int = 0  # turns with at least one call
    rows: tuple[int, ...] = ()  # indexes into samples.jsonl: its segments in order

    @model_validator(mode="before")
    @classmethod
    def _graded_by_a_number(cls, values: Any) -> Any:
        reward = values.get("reward") if isinstance(values, dict) else None
        with suppress(TypeError, ValueError):  # what is no number at all is told by its field
            if reward is not None and not math.isfinite(float(reward)):
                return values | {"valid": False, "reward": None, "cause": f"grader: reward {reward}"}
        return values

    @model_validator(mode="after")
    def _reward_iff_valid(self) -> Self:
        if self.valid != (self.reward is not None):
            raise ValueError(f"{self.episode}: a member has a reward if and only if it is valid")
        return self


class Group(Record):
    """Episodes of one task compared together. `id` is explicit; nothing is grouped by position."""

    id: str
    task: str
    members: tuple[Member, ...]


class Pack(Record):
    """Whole rows that share one packed sequence."""

    rows: tuple[int, ...]
    tokens: int


class DatasetManifest(Record):
    """What a dataset is; written before the marker."""

    format: str = "journeyman-dataset-1"
    kind: Literal["sft", "rl"]
    rows: int
    tokens: int
    trained_tokens: int
    groups: int = 0
    reward_name: str | None = None  # None for SFT
    temperature: float | None = None  # of the recorded log-probs; None for SFT
    tokenizer_digest: str = ""
    max_length: int | None = None  # None: rows of any length
    credit: dict[str, Any] | None = None  # how the run it is of makes advantages of rewards; None: of no run, or SFT
    excluded: dict[str, int] = Field(default_factory=dict)  # reason -> episodes or rows left out
