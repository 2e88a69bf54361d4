"""Plays a plan's calls against a draft's files and services, and grades what is left with the real checks.

No sandbox and no harness: `read` and `write` act on a dict, service calls on an in-process world.
"""

from dataclasses import dataclass, field
from typing import Any

from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.rubric import raw_of, rewards
from journeyman.records.rubric import Check
from journeyman.records.task import Plan
from journeyman.services.world import open_world
from journeyman.worlds.base import WorldDraft
from tests.grading.in_process import with_answers_here

NATIVE = {"read", "write"}


@dataclass
class Played:
    """What a plan came to. `characters` counts everything said and observed, the system prompt apart."""

    met: dict[str, bool]
    rewards: dict[str, float]
    turns: int = 0
    invalid: int = 0
    missing_reads: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    characters: int = 0

    @property
    def reward(self) -> float:
        """The reported reward."""
        return self.rewards["rubric.v1"]


def mistyped(parameters: dict[str, Any], arguments: dict[str, Any]) -> bool:
    """Whether text is given where the tool declares a whole number only: a harness refuses such a call."""
    for name, value in arguments.items():
        schema = parameters["properties"].get(name, {})
        kinds = {option.get("type") for option in (schema, *schema.get("anyOf", ()))}
        if "integer" in kinds and "string" not in kinds and not isinstance(value, int):
            return True
    return False


def play(draft: WorldDraft, plan: Plan) -> Played:
    """Run every call of `plan` in order and grade."""
    files = {path: f.data for path, f in draft.files.items()}
    written: dict[str, bytes] = {}
    world = open_world(draft.services, draft.state, draft.frozen_time, draft.seed)
    granted = {t["function"]["name"]: t["function"]["parameters"] for t in world.tools()}
    played = Played(met={}, rewards={}, turns=len(plan.steps), characters=len(draft.instruction))
    for step in plan.steps:
        played.characters += len(step.text)
        for call in step.calls:
            observed = ""
            if call.tool == "read":
                path = str(call.arguments["file_path"])
                body = {**files, **written}.get(path)
                if body is None:
                    played.missing_reads.append(path)
                else:
                    observed = "\n".join(f"{i}\t{line}" for i, line in enumerate(body.decode().splitlines(), 1))
            elif call.tool == "write":
                path, content = str(call.arguments["file_path"]), str(call.arguments["content"])
                written[path] = content.encode()
                observed = f"wrote {path}"
            elif call.tool in granted and mistyped(granted[call.tool], call.arguments):
                played.invalid += 1
                observed = "invalid arguments"
            elif call.tool in granted:
                answer = world.call(call.tool, call.arguments)
                observed = str(answer.result if answer.ok else answer.error)
                if not answer.ok:
                    played.errors.append(answer.error)
            else:
                played.invalid += 1
                observed = f"unknown tool {call.tool}"
            played.characters += len(str(call.arguments)) + len(call.tool) + len(observed)
    end = world.freeze()
    evidence = SealedEvidence(
        episode="test", seal_digest="", written={**files, **written}, state=end.state, ledger=end.ledger
    )
    evidence = with_answers_here(evidence, draft.rubric)
    for criterion in draft.rubric.criteria:
        assert isinstance(criterion.decide, Check)
        played.met[criterion.id] = decide(criterion.decide, evidence).met
    played.rewards = rewards(draft.rubric, raw_of(draft.rubric, played.met))
    return played
