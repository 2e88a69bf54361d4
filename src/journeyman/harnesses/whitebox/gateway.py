"""The loop's client of the gateway: Chat Completions over loopback or a unix socket, retried under the same turn id.

Invariant: a retry repeats the very bytes of the request and its turn id, so the gateway replays
instead of sampling twice.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from journeyman.errors import BY_LAYER, CaptureFailure
from journeyman.harnesses.whitebox.http import BrokenReply, Connection
from journeyman.harnesses.whitebox.tools import Call
from journeyman.records.episode import Sampling

RETRIES = 5
FIRST_PAUSE_SECONDS = 0.05


class ContextExceeded(Exception):
    """The prompt does not fit the window: for the loop to compact, never a failure."""


class Reply(NamedTuple):
    """One assistant turn. `wire`: the message as it goes back into the history."""

    wire: dict[str, Any]
    content: str
    calls: tuple[Call, ...]
    finish_reason: str
    sampled_tokens: int
    context_tokens: int  # what the next prompt starts with
    turn_id: str


class GatewayClient:
    """One episode's connection. An async context manager."""

    def __init__(self, url: str, key: str, model: str, tools: Sequence[dict[str, Any]]) -> None:
        self._connection = Connection(url)
        self._headers = f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        self._head = json.dumps({"model": model, "tools": list(tools)} if tools else {"model": model})[:-1]
        self._turns = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connection.close()

    async def ask(self, messages: Sequence[str], sampling: Sampling, declared: dict[str, str]) -> Reply:
        """One model call. `messages`: the history, each message as JSON text; `declared`: headers of a rewrite.

        Raises ContextExceeded, or the Failure of the layer the gateway names (capture where it cannot be reached).
        """
        self._turns += 1
        turn_id = f"t{self._turns}"
        honoured = sampling.model_dump()
        body = f'{self._head}, {json.dumps(honoured)[1:-1]}, "messages": [{", ".join(messages)}]}}'.encode()
        headers = self._headers + "".join(
            f"{name}: {value}\r\n" for name, value in {"X-Journeyman-Turn": turn_id, **declared}.items()
        )
        status, answer = await self._post(headers, body)
        if status != 200:
            _refused(status, answer)
        return _reply(answer, turn_id)

    async def _post(self, headers: str, body: bytes) -> tuple[int, Any]:
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(RETRIES + 1):
            try:
                status, data = await self._connection.post("/v1/chat/completions", headers, body)
                return status, json.loads(data)
            except (OSError, BrokenReply, ValueError) as error:
                if attempt == RETRIES:
                    raise CaptureFailure("gateway_lost", f"{type(error).__name__}: {error}") from error
                await asyncio.sleep(pause)
                pause *= 2
        raise AssertionError("unreachable")


def _refused(status: int, answer: Any) -> None:
    """Raise what an error body says."""
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    code, text = str(error.get("code") or status), str(error.get("message", ""))
    if code == "context_length_exceeded":
        raise ContextExceeded(text)
    layer, dot, cause = code.partition(".")
    if dot and layer in BY_LAYER:
        raise BY_LAYER[layer](cause, text)
    raise CaptureFailure(code, text)


def _reply(answer: dict[str, Any], turn_id: str) -> Reply:
    try:
        choice = answer["choices"][0]
        message, usage, ours = choice["message"], answer["usage"], answer.get("x_journeyman", {})
        invalid = {item["id"]: str(item["reason"]) for item in ours.get("invalid", ())}
        calls = tuple(
            Call(
                call["id"],
                call["function"]["name"],
                call["function"]["arguments"],
                invalid.get(call["id"], ""),
            )
            for call in message.get("tool_calls") or ()
        )
        total = usage["prompt_tokens"] + usage["completion_tokens"]
        return Reply(
            wire={key: value for key, value in message.items() if value is not None},
            content=message.get("content") or "",
            calls=calls,
            finish_reason=choice["finish_reason"],
            sampled_tokens=usage["completion_tokens"],
            context_tokens=ours.get("context_tokens", total),
            turn_id=turn_id,
        )
    except (KeyError, IndexError, TypeError) as error:
        raise CaptureFailure("unreadable_reply", f"{type(error).__name__}: {error}") from error
