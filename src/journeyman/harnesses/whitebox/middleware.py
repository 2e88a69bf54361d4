"""Ordered middleware of the loop: each may end the run before a turn, with the policy's own stop reason."""

from typing import Protocol

from journeyman.harnesses.whitebox.state import LoopState
from journeyman.records.outcome import StopReason

MAX_TURNS = 250


class Middleware(Protocol):
    """One concern of the loop, asked before every model call and when a prompt did not fit."""

    name: str

    async def before_turn(self, state: LoopState) -> StopReason | None:
        """A reason to stop, or None; may change the state."""
        ...

    async def on_overflow(self, state: LoopState) -> StopReason | None:
        """The gateway refused the prompt as too long: None where room was made, else CONTEXT_FULL."""
        ...


class _Budget:
    """Middleware that only ever stops a run; it cannot make room."""

    async def on_overflow(self, state: LoopState) -> StopReason | None:
        """Makes no room."""
        return StopReason.CONTEXT_FULL


class TurnCap(_Budget):
    """At most `cap` model calls, or the task's own cap where that is lower."""

    def __init__(self, cap: int = MAX_TURNS) -> None:
        self._cap = cap
        self.name = f"turn_cap:{cap}"

    async def before_turn(self, state: LoopState) -> StopReason | None:
        """MAX_TURNS once the cap is reached."""
        return StopReason.MAX_TURNS if state.turns >= min(self._cap, state.run.budget.max_turns) else None


class TokenBudget(_Budget):
    """At most the task's sampled tokens."""

    name = "token_budget"

    async def before_turn(self, state: LoopState) -> StopReason | None:
        """TOKEN_BUDGET once they are spent."""
        spent = state.sampled_tokens >= state.run.budget.max_sampled_tokens
        return StopReason.TOKEN_BUDGET if spent else None


class TimeBudget(_Budget):
    """At most the policy's own seconds; waiting for the model does not count."""

    name = "time_budget"

    async def before_turn(self, state: LoopState) -> StopReason | None:
        """TIME_BUDGET once they are spent."""
        return StopReason.TIME_BUDGET if state.seconds_left() <= 0 else None
