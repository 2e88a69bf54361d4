"""The world seam: an environment type turns (seed, split) into a ground truth, and that into worlds of two sizes.

Invariant: truth, drafts and demonstrations depend on their arguments only, never on the wall clock or on process state.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar

from pydantic import ConfigDict

from journeyman.records.base import Record
from journeyman.records.rubric import Rubric
from journeyman.records.task import Budget, Domain, Plan, Requirement, ServiceGrant, Size, Split

Provenance = Literal["synthetic", "public", "filing", "research", "user"]
Pair = tuple[tuple[str, str], tuple[str, str]]
Rows = dict[str, list[dict[str, Any]]]


class FileDraft(Record):
    """One visible file of a world."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    data: bytes
    provenance: Provenance = "synthetic"
    as_of: str = ""  # ISO date the content speaks for; "" where it does not apply


class WorldDraft(Record):
    """Everything a task package is written from. `reference` and `negatives` use public tools only."""

    environment_type: str
    domain: Domain
    size: Size
    split: Split
    seed: int
    instruction: str
    requirements: tuple[Requirement, ...]
    files: dict[str, FileDraft]  # path below /workspace -> content
    services: tuple[ServiceGrant, ...] = ()
    state: dict[str, Rows] = {}  # service -> table -> rows, at the start of the episode
    rubric: Rubric
    budget: Budget
    deliverables: tuple[str, ...]
    frozen_time: str
    axes: dict[str, str]
    truth_digest: str  # digest of the ground truth the world was realised from
    reference: Plan
    negatives: tuple[Plan, ...]


class Truth(Record):
    """What every ground truth carries. Subclasses hold the facts; private to the task's makers (X-05)."""

    seed: int
    split: Split
    axes: dict[str, str]
    frozen_time: str  # ISO 8601, the world's "now"


COMPACT_BUDGET = Budget(
    max_turns=14, max_sampled_tokens=1024, context_tokens=2048, policy_seconds=300.0, command_seconds=10.0
)


def text_file(lines: Iterable[str], as_of: str) -> FileDraft:
    """A synthetic text file of these lines."""
    return FileDraft(data=("\n".join(lines) + "\n").encode(), as_of=as_of)


T = TypeVar("T", bound=Truth)


class EnvironmentType(Protocol[T]):
    """A recipe for worlds. Stateless; one instance serves every seed."""

    name: str  # "finance.board_forecast"
    domain: Domain
    practice_area: str
    axes: Mapping[str, tuple[str, ...]]
    forbidden: tuple[Pair, ...]  # pairs of (axis, value) that never meet in one draw

    def truth(self, seed: int, split: Split) -> T:
        """The frozen ground truth of one world."""
        ...

    def compact(self, truth: T) -> WorldDraft:
        """The truth as a few short text files and service calls: a conversation of at most 2,048 small-model tokens."""
        ...

    def standard(self, truth: T) -> WorldDraft:
        """The same truth as 20-40 office files."""
        ...

    def demonstrations(self, truth: T, rng: random.Random, count: int) -> tuple[Plan, ...]:
        """`count` runs of an imperfect, wordy expert on the compact world; right only part of the time."""
        ...


def sample_axes(
    rng: random.Random, axes: Mapping[str, tuple[str, ...]], forbidden: tuple[Pair, ...] = ()
) -> dict[str, str]:
    """One value per axis, uniformly, redrawn until no forbidden pair is present.

    Raises ValueError after 1,000 redraws: the forbidden pairs then leave (almost) nothing.
    """
    for _ in range(1000):
        drawn = {axis: rng.choice(values) for axis, values in axes.items()}
        if not any(drawn.get(a[0]) == a[1] and drawn.get(b[0]) == b[1] for a, b in forbidden):
            return drawn
    raise ValueError("the forbidden pairs leave no combination of axes")
