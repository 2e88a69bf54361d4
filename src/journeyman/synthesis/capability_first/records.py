"""What the stages of capability-first synthesis hand on: closed records; a stage gets what is in them and no more.

Invariant: nothing of a reference task but its de-identified structure is in any record that a stage after the first is
handed (C-03); who wrote a thing and who reviews it are different models (C-02).
"""

from pydantic import Field

from journeyman.records.base import Record
from journeyman.synthesis.structure import Structure


class ReferenceTask(Record):
    """A real task, only ever shown to the proposer: its text, its answer, and what runs did well or badly."""

    text: str
    answer: str
    successful: tuple[str, ...] = ()
    unsuccessful: tuple[str, ...] = ()


class Review(Record):
    """A reviewer's decision."""

    accept: bool
    reasons: tuple[str, ...] = ()


class Brief(Record):
    """A catalogued document as a stage may see it."""

    path: str
    kind: str
    as_of: str
    text: str


class Binding(Record):
    """Which documents each operation would look into; left out: nothing in the catalogue carries it (C-04)."""

    documents: dict[str, tuple[str, ...]]  # operation -> paths


class Request(Record):
    """The public side of a task, frozen once it is made (C-07)."""

    role: str
    trigger: str
    audience: str
    use: str
    labels: dict[str, str] = Field(min_length=2)  # label of a line of the deliverable -> what it is
    rules: tuple[str, ...] = ()


class Solution(Record):
    """What a blind solver delivers: a hypothesis, never the standard (C-08)."""

    fields: dict[str, str]
    trace: tuple[str, ...] = ()  # what it looked at and concluded, step by step


class DraftedCriterion(Record):
    """A proposed criterion with all five parts (C-09): without one of them it is refused."""

    label: str
    proposition: str
    weight: float = Field(gt=0)
    evidence: tuple[str, ...] = Field(min_length=1)
    full: str  # the value that is right
    partial: str  # what an incomplete answer looks like
    accept: tuple[str, ...] = Field(min_length=1)  # other ways to say it
    reject: tuple[str, ...] = Field(min_length=1)  # material failures: values that must not count


class Contract(Record):
    """The proposed grading contract."""

    criteria: tuple[DraftedCriterion, ...] = Field(min_length=1)


class Attack(Record):
    """An adversary's answers: right ones said otherwise, and wrong ones that look right."""

    alternatives: tuple[dict[str, str], ...] = ()
    errors: tuple[dict[str, str], ...] = Field(min_length=1)


class Proposal(Record):
    """Everything of an accepted task."""

    structure: Structure
    request: Request
    contract: Contract
    solution: Solution
    attack: Attack
    sources: tuple[str, ...]
    authors: dict[str, str]  # role -> name of the model


class Rejected(Record):
    """Why no task came of it, and at which stage."""

    stage: str
    reasons: tuple[str, ...]
