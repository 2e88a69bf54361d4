"""How an attempt ends: Graded with a reward, or Quarantined with cause and layer. There is no default reward."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from journeyman.errors import Layer
from journeyman.records.base import Record


class StopReason(StrEnum):
    """Why a policy's run ended, when the policy was the cause. Every one of these is graded."""

    FINISHED = "finished"  # the policy answered without calling a tool
    MAX_TURNS = "max_turns"  # the turn cap was reached
    CONTEXT_FULL = "context_full"  # the window is full and the history could not be compacted further
    TOKEN_BUDGET = "token_budget"  # sampled-token budget spent
    TIME_BUDGET = "time_budget"  # the policy's own time (engine and queue time excluded) ran out
    REFUSED = "refused"  # the engine's content filter ended the run


class FailureCause(Record):
    """A failure of ours, as recorded."""

    layer: Layer
    cause: str
    detail: str = ""


class Graded(Record):
    """The attempt is valid and has a reward from the official grader."""

    kind: Literal["graded"] = "graded"
    reward: float
    reward_name: str  # "rubric.v1" (reported) | "signed.v1" (optimised) | a Harbor verifier's name
    grade_digest: str


class Quarantined(Record):
    """The attempt is set aside; it has no reward, not zero."""

    kind: Literal["quarantined"] = "quarantined"
    layer: Layer
    cause: str
    detail: str = ""


Outcome = Annotated[Graded | Quarantined, Field(discriminator="kind")]
