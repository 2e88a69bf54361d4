"""A task: public request, initial world, tool contracts, private grading contract, and orchestration metadata."""

from typing import Any, Literal

from pydantic import Field

from journeyman.records.base import Record
from journeyman.records.rubric import Rubric

Split = Literal["train", "validation", "heldout"]
Size = Literal["compact", "standard"]
Domain = Literal["finance", "law", "consulting", "operations"]


class Budget(Record):
    """What an attempt may spend. Engine and queue time never count."""

    max_turns: int = 250
    max_sampled_tokens: int = 128_000
    context_tokens: int = 131_072
    policy_seconds: float = 1800.0
    command_seconds: float = 120.0


class ServiceGrant(Record):
    """A live system of record the task gives access to."""

    service: str  # registry name in `services`, e.g. "wms"
    actor: str  # who the policy acts as, decides permissions
    tools: tuple[str, ...]  # tool names granted (without the service prefix)
    faults: tuple[dict[str, Any], ...] = ()  # declared, seeded faults: {tool, call, effect}


class WorldFile(Record):
    """One visible file of the initial world."""

    path: str  # relative to /workspace
    sha256: str
    provenance: Literal["synthetic", "public", "filing", "research", "user"] = "synthetic"
    as_of: str = ""  # ISO date the content speaks for; "" where it does not apply


class Requirement(Record):
    """One thing the request asks for; graded conditions point back to it (T-04)."""

    id: str
    text: str


class TaskMetadata(Record):
    """Stable identity and orchestration data; no wall-clock, no endpoints (T-02, G-02)."""

    name: str  # "org/name"
    version: str = "1"
    schema_version: str = "1.4"
    environment_type: str  # "finance.board_forecast", ...
    domain: Domain
    size: Size
    split: Split
    seed: int
    frozen_time: str  # ISO 8601, what every service's clock and the world's "today" say
    capabilities: tuple[str, ...] = ()  # e.g. "files", "services"
    axes: dict[str, str] = Field(default_factory=dict)
    deliverables: tuple[str, ...] = ()  # paths relative to /workspace
    trainable: bool = False  # explicit authorisation to train on it (G-04)
    lineage: dict[str, str] = Field(default_factory=dict)  # source hashes: generator, ground truth ...


class Task(Record):
    """Everything of a task but the bytes of its files. `public()` is what a policy's side may see."""

    metadata: TaskMetadata
    instruction: str
    requirements: tuple[Requirement, ...]
    files: tuple[WorldFile, ...]
    services: tuple[ServiceGrant, ...] = ()
    budget: Budget = Budget()
    rubric: Rubric  # private
    content_digest: str  # digest of the whole package (request, world, schemas, handlers, grader, lineage, split)

    @property
    def slug(self) -> str:
        """The name's last part: unique within a release, safe as a path segment."""
        return self.metadata.name.rsplit("/", 1)[-1]


class ToolCall(Record):
    """One planned or observed call."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class PlanStep(Record):
    """One turn of a scripted expert: optional prose, then calls; no calls ends the run."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class Plan(Record):
    """A script through the public interfaces: the reference, a demonstration variant, or a negative."""

    name: str  # "reference", "demo-3", "stale_source", ...
    kind: Literal["reference", "demonstration", "negative"]
    steps: tuple[PlanStep, ...]
