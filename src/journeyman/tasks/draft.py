"""What a task package is written from: plain fields and records, so that no maker of worlds is imported here.

Invariant: a package is a pure function of its draft, byte for byte, and its draft can be read back from it (T-10).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from journeyman.records.rubric import Rubric
from journeyman.records.task import Budget, Plan, Requirement, ServiceGrant, TaskMetadata

Provenance = Literal["synthetic", "public", "filing", "research", "user"]
State = Mapping[str, Mapping[str, list[dict[str, Any]]]]  # service -> table -> rows


@dataclass(frozen=True)
class PackageFile:
    """One visible file of the initial world."""

    data: bytes
    provenance: Provenance = "synthetic"
    as_of: str = ""  # ISO date the content speaks for; "" where it does not apply


@dataclass(frozen=True)
class PackageDraft:
    """Everything of one task. `reference`, `negatives` and `demonstrations` are private and use public tools only."""

    metadata: TaskMetadata
    instruction: str
    requirements: tuple[Requirement, ...]
    files: Mapping[str, PackageFile]  # path below /workspace -> file
    rubric: Rubric
    reference: Plan
    negatives: tuple[Plan, ...] = ()
    demonstrations: tuple[Plan, ...] = ()
    services: tuple[ServiceGrant, ...] = ()
    state: State = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
