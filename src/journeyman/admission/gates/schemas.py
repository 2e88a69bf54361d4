"""Schemas match the live services: what the policy is told is what answers, state fits, and calls are well formed."""

from collections.abc import Iterator

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.errors import UserError
from journeyman.records.admission import GateResult
from journeyman.records.task import Plan
from journeyman.services.definition import Refused
from journeyman.services.definitions import load_service
from journeyman.services.world import open_world
from journeyman.tasks.contract import check_realised
from journeyman.tasks.package import tool_contract


class Schemas:
    """The package's contract, the installed handlers, the initial state and the reference's arguments agree."""

    name = "schemas"

    async def check(self, candidate: Candidate) -> GateResult:
        """Start the services from the task's own state and compare (T-05, G-06)."""
        task, contract = candidate.task, tool_contract(candidate.directory)
        told = [schema for grant in task.services for schema in contract.services[grant.service].schemas]
        try:
            check_realised(contract, task.services, str(candidate.directory.name))
            world = open_world(task.services, candidate.state, task.metadata.frozen_time, task.metadata.seed)
        except UserError as error:
            return verdict(self.name, [str(error)])
        answers = world.tools()
        world.close()
        faults = [
            f"{a['function']['name']} answers to another schema than the one shown" for a in answers if a not in told
        ]
        faults += _malformed(candidate.reference)
        return verdict(self.name, faults, tools=len(answers))


def _malformed(plan: Plan) -> Iterator[str]:
    for step in plan.steps:
        for call in step.calls:
            service, _, tool = call.tool.partition("__")
            if tool:
                try:
                    load_service(service).tools[tool].read_arguments(call.arguments)
                except Refused as refused:
                    yield f"plan {plan.name} calls {call.tool} wrongly: {refused}"
