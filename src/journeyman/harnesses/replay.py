"""Replays a recorded dispatch: the same calls against a fresh box and fresh services, without a model.

Invariant: it makes exactly the calls of the record, in its order, and ends as the record ended.
"""

import json
from collections.abc import Sequence

import journeyman
from journeyman.errors import boundary
from journeyman.harnesses.base import HarnessExit, HarnessManifest, HarnessRun
from journeyman.harnesses.whitebox.schemas import NATIVE
from journeyman.harnesses.whitebox.tools import Call, Toolbox
from journeyman.records.outcome import StopReason
from journeyman.records.turn import ToolEvent


class ReplayHarness:
    """Knows one episode's dispatch."""

    def __init__(
        self, events: Sequence[ToolEvent], stop: StopReason = StopReason.FINISHED, final_message: str = ""
    ) -> None:
        self._events = tuple(events)
        self._stop, self._final = stop, final_message
        self.manifest = HarnessManifest(
            name="replay",
            loop="replay.1",
            prompt="",
            tools=tuple(NATIVE.values()),
            middleware=(),
            version=journeyman.__version__,
        )

    async def run(self, run: HarnessRun) -> HarnessExit:
        """Make the recorded calls. Raises SandboxFailure, ServiceFailure."""
        with boundary("harness"):
            toolbox = await Toolbox.open(run, tuple(NATIVE))
            for event in self._events:
                invalid = "" if event.valid or event.tool not in toolbox.schemas else "recorded as malformed"
                call = Call(event.call_id, event.tool, json.dumps(event.arguments), invalid)
                await toolbox.dispatch(call, event.turn_id, run.budget.command_seconds)
        return HarnessExit(self._stop, self._final, toolbox.events)
