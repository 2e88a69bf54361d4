"""Plans executed in process for admission's own tests: writes land in an overlay, service calls in a real World.

The result is sealed and graded by the code that runs use. No sandbox: `pipeline` provides that path.
"""

import itertools
from pathlib import Path

from journeyman.admission.gates.base import Executed
from journeyman.grading.combine import Grader
from journeyman.grading.episode import grade_episode
from journeyman.records.grade import Grade
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan
from journeyman.records.turn import ToolEvent
from journeyman.services.world import open_world
from journeyman.tasks.package import initial_state, load_task
from tests.grading.in_process import HereAndNow
from tests.grading.making import make_episode


class InProcess:
    """An `Execute` that counts its runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs: list[str] = []
        self._next = itertools.count()

    async def __call__(self, directory: Path, plan: Plan) -> Executed | Quarantined:
        self.runs.append(plan.name)
        task = load_task(directory)
        world = open_world(task.services, initial_state(directory), task.metadata.frozen_time, task.metadata.seed)
        written: dict[str, str] = {}
        events: list[ToolEvent] = []
        for number, call in enumerate(call for step in plan.steps for call in step.calls):
            event = ToolEvent(call_id=f"c{number}", tool=call.tool, arguments=call.arguments)
            if call.tool == "write":
                written[str(call.arguments["file_path"])] = str(call.arguments["content"])
            elif "__" in call.tool:
                world.call(call.tool, call.arguments, event.call_id)
            events.append(event)
        snapshot = world.freeze()
        here = self.root / f"e{next(self._next)}"
        episode = make_episode(
            here / "episode",
            directory,
            written=written,
            state=snapshot.state if task.services else None,
            ledger=snapshot.ledger,
            dispatch=events,
            final_message=plan.steps[-1].text if plan.steps else "",
        )
        outcome = await grade_episode(episode, directory, here / "grades", Grader(programs=HereAndNow()))
        if isinstance(outcome, Quarantined):
            return outcome
        return Executed(Grade.parse(next((here / "grades").glob("*.json")).read_bytes()), episode)
