"""The native loop: ask, execute the calls in the model's order, tell the results, until a reason to stop.

Invariant: what the policy caused is an observation or a stop reason; what we caused raises the Failure of its layer.
"""

from collections.abc import Sequence

import journeyman
from journeyman.errors import UserError, boundary
from journeyman.harnesses.base import HarnessExit, HarnessManifest, HarnessRun
from journeyman.harnesses.whitebox.compaction import Compaction, Mode
from journeyman.harnesses.whitebox.gateway import ContextExceeded, GatewayClient, Reply
from journeyman.harnesses.whitebox.middleware import Middleware, TimeBudget, TokenBudget, TurnCap
from journeyman.harnesses.whitebox.prompt import SYSTEM_PROMPT, opening
from journeyman.harnesses.whitebox.schemas import NATIVE
from journeyman.harnesses.whitebox.state import LoopState
from journeyman.harnesses.whitebox.tools import Toolbox
from journeyman.records.outcome import StopReason


class NativeHarness:
    """A resolved composition of loop, prompt, tools and ordered middleware; the same object serves every episode."""

    def __init__(self, tools: Sequence[str], middleware: Sequence[Middleware], name: str = "native") -> None:
        """Raises UserError for a tool that does not exist or middleware that is named twice."""
        for tool in tools:
            if tool not in NATIVE:
                raise UserError(f"the native harness has no tool {tool!r}; known: {', '.join(NATIVE)}")
        names = [part.name for part in middleware]
        if len(set(names)) != len(names):
            raise UserError(f"middleware is named twice: {', '.join(names)}; name each once")
        self._tools = tuple(tools)
        self._middleware = tuple(middleware)
        self.manifest = HarnessManifest(
            name=name,
            loop="whitebox.loop.1",
            prompt=SYSTEM_PROMPT,
            tools=tuple(NATIVE[tool] for tool in tools),
            middleware=tuple(names),
            version=journeyman.__version__,
        )

    async def run(self, run: HarnessRun) -> HarnessExit:
        """Act until a stop reason. Raises Failure of the layer that broke; never for what the policy did."""
        with boundary("harness"):
            toolbox = await Toolbox.open(run, self._tools)
            async with GatewayClient(run.url, run.key, run.model, list(toolbox.schemas.values())) as client:
                state = LoopState(run, client, toolbox)
                for message in opening(run.instruction):
                    state.add(message)
                stop, final = await self._act(state)
        return HarnessExit(
            stop=stop,
            final_message=final,
            events=toolbox.events,
            engine_seconds=state.engine_seconds,
            compactions=state.compactions,
        )

    async def _act(self, state: LoopState) -> tuple[StopReason, str]:
        """The loop itself: the stop reason, and the final message where the policy finished."""
        while True:
            for part in self._middleware:
                if (stop := await part.before_turn(state)) is not None:
                    return stop, ""
            try:
                reply = await state.ask()
            except ContextExceeded:
                if not await self._made_room(state):
                    return StopReason.CONTEXT_FULL, ""
                continue
            if (stop := _ended(reply, state)) is not None:
                return stop, reply.content if stop is StopReason.FINISHED else ""
            for call in reply.calls:
                observation = await state.toolbox.dispatch(call, reply.turn_id, state.seconds_left())
                state.add({"role": "tool", "tool_call_id": call.id, "content": observation.text})

    async def _made_room(self, state: LoopState) -> bool:
        for part in self._middleware:
            if await part.on_overflow(state) is None:
                return True
        return False


def _ended(reply: Reply, state: LoopState) -> StopReason | None:
    """Why a reply ends the run, or None where it calls tools."""
    if reply.finish_reason == "content_filter":
        return StopReason.REFUSED
    if reply.calls:
        return None
    if reply.finish_reason != "length":
        return StopReason.FINISHED
    full = reply.context_tokens >= state.run.budget.context_tokens
    return StopReason.CONTEXT_FULL if full else StopReason.TOKEN_BUDGET


def native_harness(tools: Sequence[str] = tuple(NATIVE), compaction: Mode = "policy") -> NativeHarness:
    """The harness that training and evaluation share: every native tool, 250 turns, budgets, compaction."""
    return NativeHarness(tools, (TurnCap(), TokenBudget(), TimeBudget(), Compaction(compaction)))
