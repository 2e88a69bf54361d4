"""Criteria, rubrics and verdicts: one proposition with a weight, decided by a named check or by a judge."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from journeyman.records.base import Record


class Check(Record):
    """A deterministic decision: a kind from the closed registry in `grading.checks`, and its arguments."""

    kind: str
    args: dict[str, Any] = Field(default_factory=dict)


class Judged(Record):
    """A proposition only reading can decide; `deliverables` are the paths rendered as text for the judge."""

    kind: Literal["judged"] = "judged"
    deliverables: tuple[str, ...]
    accept: tuple[str, ...] = ()  # acceptable alternatives, told to the judge
    reject: tuple[str, ...] = ()  # material failures, told to the judge


class Criterion(Record):
    """One coherent proposition. Negative criteria are phrased as the error: MET means the error is present."""

    id: str
    proposition: str
    weight: float  # > 0: credit when MET; < 0: subtracted when MET
    decide: Annotated[Judged | Check, Field(union_mode="left_to_right")]
    requirement: str  # the public requirement (id in Task.requirements) that justifies it
    evidence: tuple[str, ...] = ()  # visible paths / service records from which it can be known
    group: str = "substance"


class Rubric(Record):
    """The private grading contract of a task: frozen before the first evaluated rollout."""

    criteria: tuple[Criterion, ...]

    @model_validator(mode="after")
    def _usable(self) -> "Rubric":
        ids = [c.id for c in self.criteria]
        if len(set(ids)) != len(ids):
            raise ValueError(f"criterion ids repeat: {sorted({i for i in ids if ids.count(i) > 1})}")
        if not self.criteria:
            raise ValueError("a rubric needs at least one criterion")
        return self

    @property
    def positive_weight(self) -> float:
        """Sum of the positive weights (the denominator of the reward)."""
        return sum(c.weight for c in self.criteria if c.weight > 0)


class Verdict(Record):
    """MET or UNMET for one criterion, with the evidence that decided it."""

    criterion: str
    met: bool
    evidence: str  # what was looked at and found, one line
    source: Literal["check", "judge", "verifier"]
