"""Training rows and what the learner did with them."""

from typing import Literal

from pydantic import Field

from journeyman.records.base import Checked, Record


class SegmentRef(Record):
    """Where a row's tokens come from: EPISODE#run.segment, verifiable against the seal."""

    episode: str
    seal_digest: str
    run: int
    segment: int
    ids_sha256: str = ""  # of the segment's ids, from its certificate; "": there is none, and nothing vouches for them


class Sample(Record):
    """One training row: a segment. Token arrays live in the dataset's typed files at [offset, offset+length)."""

    ref: SegmentRef
    kind: Literal["sft", "rl"]
    offset: int
    length: int
    trained_tokens: int  # sum of the mask
    reward: float | None = None  # of the episode, once per episode; None for SFT
    reward_name: str | None = None
    group: str | None = None
    stop: str = ""


class MemberUpdate(Record):
    """What the learner computed for one episode of a group."""

    episode: str
    raw: float
    shaping: dict[str, float]  # terms of the shaped reward, by name
    shaped: float
    advantage: float
    samples: tuple[SegmentRef, ...]
    versions: tuple[int, int]  # oldest and newest policy version among its sampled tokens


class Update(Record):
    """One optimiser step, appended to the run's ledger; `explain` reads it."""

    step: int
    objective: str
    reward_name: str
    version_before: int
    version_after: int
    groups: dict[str, tuple[MemberUpdate, ...]]
    dropped: dict[str, str] = Field(default_factory=dict)  # group -> why it did not train
    tokens: int  # N, the normaliser
    metrics: dict[str, float] = Field(default_factory=dict)


class Checkpoint(Checked):
    """Weights on disk with their lineage; the marker is written last."""

    name: str
    version: int
    parents: tuple[str, ...]  # digests of parent checkpoints
    step: int
    objective: str
    files: dict[str, str]  # file -> sha256
    recipe_digest: str = ""
