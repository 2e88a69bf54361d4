"""The trace of an authoring run: every call of every model, kept, counted against a budget, and never made twice.

Invariant: append-only; a call whose handout and model are on record is answered from the record, so that a killed run
goes on where it stopped and costs nothing again.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from journeyman.errors import JourneymanError
from journeyman.models.base import Completion, Model, ModelMessage, ModelUsage, NoText
from journeyman.records.base import Record, canonical_json, first_fault, sha256_hex
from journeyman.store.atomic import append_line, read_lines


class Budget(Record):
    """What an authoring run may spend."""

    calls: int = 60
    tokens: int = 400_000  # in and out


class BudgetSpent(JourneymanError):
    """The run reached its budget; what is done is kept and can be gone on with."""


class Call(Record):
    """One recorded call."""

    key: str
    stage: str
    model: str
    messages: tuple[ModelMessage, ...]
    text: str
    usage: ModelUsage


class Trace:
    """The record of one run, in one file."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.budget = path, budget
        self.calls: list[Call] = [Call.parse(line) for line in read_lines(path)] if path.exists() else []
        self._known = {call.key: call for call in self.calls}

    @property
    def tokens(self) -> int:
        """Tokens spent so far, in and out."""
        return sum(call.usage.input_tokens + call.usage.output_tokens for call in self.calls)

    async def ask(self, stage: str, model: Model, messages: Sequence[ModelMessage]) -> str:
        """The answer to a handout, from the record where it is there. Raises BudgetSpent, ModelUnavailable."""
        handed = [m.model_dump() for m in messages]
        key = sha256_hex(canonical_json([stage, model.name, handed]))
        if key in self._known:
            return self._known[key].text
        if len(self.calls) >= self.budget.calls or self.tokens >= self.budget.tokens:
            raise BudgetSpent(f"{len(self.calls)} calls and {self.tokens} tokens are spent: raise the budget to go on")
        try:
            done = await model.complete(messages)
        except NoText as silent:  # an answer like any other: paid for, kept, and rejected
            done = Completion(text="", usage=silent.usage)
        call = Call(key=key, stage=stage, model=model.name, messages=tuple(messages), text=done.text, usage=done.usage)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_line(self.path, call.canonical())
        self.calls.append(call)
        self._known[key] = call
        return done.text


R = TypeVar("R", bound=Record)


def read_answer(kind: type[R], text: str) -> R | str:
    """The record in a model's answer (its outermost JSON object), or why there is none, in one line."""
    if not text:
        return "the answer has no text"
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return "the answer holds no JSON object"
    try:
        answer = json.loads(text[start : end + 1])
        canonical_json(answer)  # half a character, NaN, what is nested too deep
        return kind.model_validate(answer)
    except ValidationError as error:
        return first_fault(error, "answer")
    except (ValueError, RecursionError) as error:
        return f"the answer is not JSON that can be kept: {error}"
