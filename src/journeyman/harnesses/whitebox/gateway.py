"""The loop's client of the gateway: Chat Completions over loopback or a unix socket, retried under the same turn id.

Invariant: a retry repeats the very bytes of the request and its turn id, so the gateway replays
instead of sampling twice.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import aiohttp

from journeyman.errors import BY_LAYER, CaptureFailure
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
        socket = url.removeprefix("unix:") if url.startswith("unix:") else None
        self._socket = socket
        self._url = ("http://gateway" if socket else url.rstrip("/")) + "/v1/chat/completions"
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._head = json.dumps({"model": model, "tools": list(tools)} if tools else {"model": model})[:-1]
        self._turns = 0

    async def __aenter__(self) -> Self:
        connector = aiohttp.UnixConnector(self._socket) if self._socket else aiohttp.TCPConnector()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)  # engine and queue time are not ours to bound
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=timeout, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, messages: Sequence[str], sampling: Sampling, declared: dict[str, str]) -> Reply:
        """One model call. `messages`: the history, each message as JSON text; `declared`: headers of a rewrite.

        Raises ContextExceeded, or the Failure of the layer the gateway names (capture where it cannot be reached).
        """
        self._turns += 1
        turn_id = f"t{self._turns}"
        honoured = sampling.model_dump()
        body = f'{self._head}, {json.dumps(honoured)[1:-1]}, "messages": [{", ".join(messages)}]}}'.encode()
        headers = {"X-Journeyman-Turn": turn_id, **declared}
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(RETRIES + 1):
            try:
                async with self._session.post(self._url, data=body, headers=headers) as response:
                    answer = json.loads(await response.read())
                    status = response.status
                break
            except (aiohttp.ClientError, OSError, ValueError) as error:
                if attempt == RETRIES:
                    raise CaptureFailure("gateway_lost", f"{type(error).__name__}: {error}") from error
                await asyncio.sleep(pause)
                pause *= 2
        if status != 200:
            _refused(status, answer)
        return _reply(answer, turn_id)


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
