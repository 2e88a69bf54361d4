"""A grade: the full verdict set of one grader identity on one seal, with raw and named rewards."""

from pydantic import Field

from journeyman.records.base import Checked, Record
from journeyman.records.rubric import Verdict

REPORTED = "rubric.v1"  # clip(raw / sum of positive weights, 0, 1)
OPTIMISED = "signed.v1"  # clip(raw / sum of positive weights, -1, 1)


class GraderIdentity(Record):
    """Who graded: frozen before the first evaluated rollout; its digest is bound into every grade (Z-10)."""

    name: str  # "official", "second", ...
    checks_version: str
    rubric_digest: str
    judge: str | None = None  # model identity of the judge; None where no criterion is judged
    prompt_digest: str | None = None
    rendering_version: str | None = None


class Grade(Checked):
    """One grade per grader identity per seal."""

    episode: str
    seal_digest: str
    grader: GraderIdentity
    verdicts: tuple[Verdict, ...]
    raw: float  # signed sum of the weights of MET criteria
    rewards: dict[str, float] = Field(default_factory=dict)  # reward name -> value; both names always travel
    seconds: float = 0.0
