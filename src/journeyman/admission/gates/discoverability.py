"""Every identifier that the work needs can be found by looking: a route may exist and still be undiscoverable (G-09).

Invariant: found means shown by the request, by a visible file, or by the answer of a granted read that was asked with
nothing but what was found before. That closure is computed on the live services, not guessed from their tables.
"""

import itertools
import json
import re
from collections.abc import Iterator, Sequence

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.grading.text import fold
from journeyman.records.admission import GateResult
from journeyman.records.task import Plan, Task
from journeyman.services.definition import ToolDefinition
from journeyman.services.world import World, open_world

_IDENTIFIER = re.compile(r"^[A-Za-z][\w-]*\d[\w-]*$")
_ROUTE = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE)\s+(?:https?://[^/\s]+)?(/[^\s'\"]+)")
ROUNDS, ASKED = 4, 400  # rounds of asking with what was found; questions a round at most


class Discoverability:
    """Identifiers of the reference's service calls and of pinned routes are found by looking."""

    name = "discoverability"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each identifier that nothing leads to."""
        needed = list(dict.fromkeys(_needed(candidate.task, candidate.reference)))
        request = fold(_ROUTE.sub(" ", candidate.task.instruction))  # a pinned route does not lead to itself
        seen = "\n".join((request, *(t for place, t in candidate.public_texts.items() if place != "instruction")))
        missing = [(where, value) for where, value in needed if fold(value) not in seen]
        if missing and candidate.task.services:
            seen = _looked_up(candidate, seen)
            missing = [(where, value) for where, value in missing if fold(value) not in seen]
        faults = [f"{where} needs {value!r}, which nothing an attempt can look at leads to" for where, value in missing]
        return verdict(self.name, faults, identifiers=len(needed))


def _needed(task: Task, reference: Plan) -> Iterator[tuple[str, str]]:
    for step in reference.steps:
        for call in step.calls:
            if "__" in call.tool:
                for value in call.arguments.values():
                    if isinstance(value, str) and _IDENTIFIER.match(value):
                        yield f"the reference's {call.tool}", value
    for route in _ROUTE.finditer(task.instruction):
        for part in route[1].split("/"):
            if _IDENTIFIER.match(part):
                yield f"the route {route[0]}", part


def _looked_up(candidate: Candidate, seen: str) -> str:
    """`seen` with the answers of every granted read that can be asked with what was seen, round by round."""
    task = candidate.task
    fair = tuple(grant.model_copy(update={"faults": ()}) for grant in task.services)
    world = open_world(fair, candidate.state, task.metadata.frozen_time, task.metadata.seed)
    asked: set[str] = set()
    for _ in range(ROUNDS):
        answers = [fold(text) for text in _answers(world, seen, asked)]
        if not answers:
            break
        seen = "\n".join((seen, *answers))
    for step in candidate.reference.steps:  # what its own writes are told, it may use
        for call in step.calls:
            if "__" in call.tool and all(_known(value, seen) for value in call.arguments.values()):
                seen += "\n" + fold(json.dumps(world.call(call.tool, call.arguments).result))
    world.close()
    return seen


def _known(value: object, seen: str) -> bool:
    return not (isinstance(value, str) and _IDENTIFIER.match(value)) or fold(value) in seen


def _answers(world: World, seen: str, asked: set[str]) -> Iterator[str]:
    """Answers of reads not asked before; an argument takes stored values already seen, or those its schema lists."""
    for name, service in world.services.items():
        for tool in service.grant.tools:
            definition = service.definition.tools[tool]
            if definition.writes or service.refusal(tool):
                continue
            held = {v for rows in service.database.state().values() for row in rows for v in row.values()}
            values = sorted(v for v in held if isinstance(v, str) and v and fold(v) in seen)
            for arguments in itertools.islice(_questions(definition, values), ASKED):
                key = f"{name}__{tool}{sorted(arguments.items())}"
                if key not in asked:
                    asked.add(key)
                    answer = world.call(f"{name}__{tool}", arguments)
                    if answer.ok:
                        yield json.dumps(answer.result)


def _questions(definition: ToolDefinition, known: Sequence[object]) -> Iterator[dict[str, object]]:
    properties = definition.parameters["properties"]
    required = definition.parameters.get("required", [])
    pools: list[Sequence[object]] = [_listed(properties[name]) or known for name in required]
    yield from (dict(zip(required, values, strict=True)) for values in itertools.product(*pools))


def _listed(schema: dict[str, object]) -> list[object]:
    listed = schema.get("enum")
    return list(listed) if isinstance(listed, list) else []
