"""Makes room in the context: by a summary that the policy writes, or by pruning old tool results; always declared.

Invariant: the todo list is in the new history in its current state, and a history that cannot shrink ends the run.
"""

from typing import Any, Literal

from journeyman.harnesses.whitebox.gateway import ContextExceeded
from journeyman.harnesses.whitebox.prompt import PRUNED, SUMMARY_REQUEST, reopening
from journeyman.harnesses.whitebox.state import LoopState
from journeyman.records.outcome import StopReason

Mode = Literal["policy", "harness", "pruning"]
LARGE_WINDOW, LARGE_RESERVE = 60_000, 30_000
SHORTEST_SUMMARY, LONGEST_SUMMARY = 48, 8_192  # tokens
OPENING_MESSAGES = 2
DIGEST_CHARS = 160


def reserve_tokens(window: int) -> int:
    """Tokens that stay free: 30,000 in windows of at least 60,000, a tenth below that."""
    return LARGE_RESERVE if window >= LARGE_WINDOW else window // 10


def trigger_tokens(window: int) -> int:
    """Compaction starts at 85 % used or at the reserve left, whichever comes first."""
    return min(window * 85 // 100, window - reserve_tokens(window))


class Compaction:
    """Middleware. `mode`: who writes the new history ("policy": the model; "harness": a digest; "pruning": nobody)."""

    def __init__(self, mode: Mode = "policy") -> None:
        self.mode = mode
        self.name = f"compaction:{mode}"

    async def before_turn(self, state: LoopState) -> StopReason | None:
        """Compact when the trigger is reached. Raises Failures of the layers behind a summary call."""
        window = state.run.budget.context_tokens
        if state.context_tokens() < trigger_tokens(window) or len(state.messages) <= OPENING_MESSAGES:
            return None
        return await self._compact(state, window)

    async def on_overflow(self, state: LoopState) -> StopReason | None:
        """The gateway refused the prompt as too long: our estimate was wrong, so prune without another call."""
        return self._prune(state, state.run.budget.context_tokens, at_least_one=True)

    async def _compact(self, state: LoopState, window: int) -> StopReason | None:
        if self.mode == "pruning":
            return self._prune(state, window)
        text = ""
        if self.mode == "policy":
            room = window - state.context_tokens() - state.tokens_of(len(SUMMARY_REQUEST)) - SHORTEST_SUMMARY // 2
            if room < SHORTEST_SUMMARY:
                return self._prune(state, window)
            state.add({"role": "user", "content": SUMMARY_REQUEST})
            try:
                text = (await state.ask(max_tokens=min(room, LONGEST_SUMMARY))).content.strip()
            except ContextExceeded:
                state.drop_last()
                return self._prune(state, window, at_least_one=True)
        author = "policy" if text else "harness"
        state.replace(
            reopening(state.run.instruction, text or digest(state.messages), state.toolbox.todos), "summary", author
        )
        return StopReason.CONTEXT_FULL if state.context_tokens() >= window else None

    def _prune(self, state: LoopState, window: int, at_least_one: bool = False) -> StopReason | None:
        """Empty tool results, oldest first, until half of the trigger is free (the newest only if it must be)."""
        goal = trigger_tokens(window) // 2
        excess = state.context_tokens() - goal
        messages, removed = list(state.messages), 0
        for index, message in enumerate(messages):
            content = str(message.get("content") or "")
            if message["role"] != "tool" or len(content) <= len(PRUNED):
                continue
            newest = not any(later["role"] == "assistant" for later in messages[index:])
            enough = state.context_tokens() - removed < window - reserve_tokens(window) // 2
            if removed >= excess or (newest and enough and not (at_least_one and not removed)):
                break
            messages[index] = {**message, "content": PRUNED}
            removed += state.tokens_of(len(content) - len(PRUNED))
        if not removed:
            return StopReason.CONTEXT_FULL
        state.replace(messages, "pruning")
        return None


def digest(messages: list[dict[str, Any]]) -> str:
    """A summary without a model: each call with the start of its result, and the policy's own words."""
    results = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    lines: list[str] = []
    for message in messages[OPENING_MESSAGES:]:
        if message["role"] != "assistant":
            continue
        if message.get("content"):
            lines.append(f"- said: {_short(message['content'])}")
        for call in message.get("tool_calls", ()):
            function = call["function"]
            result = _short(results.get(call["id"], "not executed"))
            lines.append(f"- {function['name']} {_short(function['arguments'])}: {result}")
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= DIGEST_CHARS else line[:DIGEST_CHARS] + "..."
