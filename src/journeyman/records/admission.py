"""The recorded decision to admit a task, gate by gate."""

from typing import Any

from pydantic import Field

from journeyman.records.base import Record


class GateResult(Record):
    """One check with a reason."""

    gate: str
    passed: bool
    reason: str = ""
    figures: dict[str, Any] = Field(default_factory=dict)


class Admission(Record):
    """All gates of one task, in order; the first failed one ends it."""

    task: str
    content_digest: str
    gates: tuple[GateResult, ...]

    @property
    def admitted(self) -> bool:
        """True iff every gate that ran passed (and at least one ran)."""
        return bool(self.gates) and all(g.passed for g in self.gates)


class ReleaseManifest(Record):
    """What a release holds; written before the marker, never changed."""

    name: str
    created_from: dict[str, str]  # inputs and versions by hash
    tasks: dict[str, str]  # task slug -> content digest
    splits: dict[str, str]  # task slug -> split
    counts: dict[str, int]  # per stage: raw, verified, admitted, quarantined
    funnel: dict[str, dict[str, int]] = Field(default_factory=dict)  # gate -> {"passed": n, "failed": n}
    sizes: dict[str, int] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)  # path in the release -> sha256
