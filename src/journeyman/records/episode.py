"""One attempt at one task by one harness and policy, and the seal that makes it immutable."""

from typing import Any, Literal

from pydantic import Field

from journeyman.records.base import Record
from journeyman.records.outcome import FailureCause, StopReason
from journeyman.records.task import Budget


class Sampling(Record):
    """How the policy samples. temperature 0 is greedy. top_k -1 is off."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    max_tokens: int = 16_384  # per call


class EpisodeSpec(Record):
    """What is to be attempted. `id` is JOB/policy/task/group/attempt.try."""

    job: str
    policy: str  # a name such as "sft" or "rl", one path segment
    task: str  # Task.slug
    group: str  # episodes compared together; one path segment
    attempt: int
    try_: int = 0  # restart of the attempt after a failure of ours
    harness: str = "native"
    sampling: Sampling = Sampling()
    seed: int = 0
    budget: Budget | None = None  # None: the task's own

    @property
    def id(self) -> str:
        """JOB/policy/task/group/attempt.try"""
        return f"{self.job}/{self.key}"

    @property
    def key(self) -> str:
        """policy/task/group/attempt.try: the path below episodes/."""
        return f"{self.policy}/{self.task}/{self.group}/{self.attempt}.{self.try_}"


class Usage(Record):
    """Counts over the whole episode."""

    turns: int = 0
    prompt_tokens: int = 0  # summed over calls, as a provider would bill them (cached included)
    cached_tokens: int = 0
    sampled_tokens: int = 0
    tool_calls: int = 0
    invalid_calls: int = 0  # malformed or unknown tool
    segments: int = 0


class Episode(Record):
    """The sealed header of an attempt (`episode.json`). Exactly one of `stop` and `failure` is set."""

    spec: EpisodeSpec
    task_digest: str
    grader_digest: str  # identity of the official grader, bound before the first rollout
    harness_digest: str  # manifest of the harness composition
    engine: dict[str, Any]  # EngineIdentity dump
    sandbox: dict[str, Any]  # SandboxIdentity dump
    stop: StopReason | None = None
    failure: FailureCause | None = None
    usage: Usage = Usage()
    timing: dict[str, float] = Field(
        default_factory=dict
    )  # seconds by phase: provision, act, collect, total, engine, cpu
    final_message: str = ""


class Seal(Record):
    """sha256 of every file of a sealed directory; written last. No seal, no episode."""

    format: Literal["journeyman-seal-1", "journeyman-dataset-1"] = "journeyman-seal-1"
    files: dict[str, str]  # relative path -> sha256
