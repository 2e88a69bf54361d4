"""A hosted model behind OpenAI Chat Completions. It tells no token ids: evaluation only, and the record says so.

Invariant: an answer is kept as it was given: prose, reasoning, calls with their raw arguments, malformed or not.
"""

import json
from collections.abc import AsyncIterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

from journeyman.engines.base import EngineIdentity, SampleChunk, SampleRequest, SamplingLimits
from journeyman.engines.connection import Connections, refused
from journeyman.engines.served import api_headers
from journeyman.errors import EngineFailure, UserError
from journeyman.records.base import Record


class HostedOptions(Record):
    """What a provider's dialect of Chat Completions calls things."""

    api_key_env: str = "OPENAI_API_KEY"  # environment variable that holds the key; "": none is needed
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    reasoning_field: str = ""  # message field that gives the model its earlier reasoning back; "": it is not sent
    context_tokens: int = 0  # the model's window; 0: not known
    attempts: int = 4
    check_model: bool = True  # ask the provider's list of models at the start; some providers do not list all
    extra: dict[str, Any] = {}  # sent with every request, for what a provider adds


class OpenAIEngine:
    """`OpenAIEngine("https://HOST/v1", model="NAME")`. One answer per call; a provider's 429 or 503 is asked again."""

    options_type: type[Record] = HostedOptions

    def __init__(self, url: str, *, model: str, version: int = 0, options: HostedOptions | None = None) -> None:
        """`version`: 0, for nobody changes a hosted model. Raises UserError where the key or the model is not named."""
        if not model:
            raise UserError("a hosted engine needs the name of a model: say model = 'NAME' (--model)")
        self.version = version
        self.original = True
        self.options = options or HostedOptions()
        self.server = Connections(url, api_headers(self.options.api_key_env), self.options.attempts)
        self.identity = EngineIdentity(
            kind="openai",
            model=model,
            token_exact=False,
            needs_messages=True,
            grammar=True,
            sampling=SamplingLimits(top_k=0, cause="top_k", remedy="Chat Completions has no top_k"),
            context_tokens=self.options.context_tokens,
        )

    async def __aenter__(self) -> Self:
        """Raises UserError where no provider answers, the key is refused, or the model is not listed."""
        try:
            listed = await self.server.call("GET", "/models") if self.options.check_model else None
        except EngineFailure as failure:
            if failure.cause in ("http_401", "http_403"):
                key = f"export the provider's key as ${self.options.api_key_env}"
                raise UserError(f"{self.server.url} refuses the key: {key}") from None
            if not failure.cause.startswith("http_"):
                raise UserError(f"no provider answers at {self.server.url} ({failure.cause})") from None
            listed = None  # it has no such list
        names = [str(card.get("id")) for card in (listed or {}).get("data") or ()]
        if names and self.identity.model not in names:
            near = ", ".join(get_close_matches(self.identity.model, names, n=3) or names[:3])
            remedy = "settings = { check_model = false } asks it all the same"
            raise UserError(f"{self.server.url} does not list model {self.identity.model!r}, but {near}: {remedy}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def tokenises(self, text: str) -> list[int] | None:
        """None: a provider tells no ids."""
        return None

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """The whole answer as one message. Raises EngineFailure."""
        body = json.dumps(self._body(request)).encode()
        async with self.server.send("POST", "/chat/completions", body) as response:
            if response.status != 200:
                raise refused(response.status, "/chat/completions", await response.read())
            reply = await response.json()
        message, finish = _answer(reply)
        yield SampleChunk(message=message, finish_reason=finish)

    def _body(self, request: SampleRequest) -> dict[str, Any]:
        sampling = request.sampling
        self.identity.sampling.check(sampling)
        body: dict[str, Any] = {
            "model": self.identity.model,
            "messages": [_wire(message, self.options.reasoning_field) for message in request.messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self.options.max_tokens_field: sampling.max_tokens,
        }
        if request.tools:
            body["tools"] = list(request.tools)
        if request.json_schema is not None:
            form = {"name": "answer", "schema": request.json_schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body | self.options.extra

    async def load_weights(self, path: Path, version: int) -> None:
        """Raises UserError: nobody trains a hosted model from here."""
        raise UserError(f"{self.identity.model} is hosted: it cannot take the weights at {path}; evaluate it as it is")

    async def pause(self) -> None:
        """A provider cannot be held: there is nothing of ours to refresh meanwhile."""

    async def resume(self) -> None:
        """There was nothing to hold."""

    async def release(self, lineage: str) -> None:
        """Nothing is kept between calls."""

    async def close(self) -> None:
        """Close the connections; idempotent."""
        await self.server.close()


def _wire(message: Mapping[str, Any], reasoning_field: str) -> dict[str, Any]:
    """A canonical message as Chat Completions writes it; a malformed call goes back in its own words."""
    wire: dict[str, Any] = {"role": message["role"], "content": message.get("content") or ""}
    for key in ("name", "tool_call_id"):
        if message.get(key):
            wire[key] = message[key]
    if reasoning_field and message.get("reasoning"):
        wire[reasoning_field] = message["reasoning"]
    if calls := message.get("tool_calls"):
        wire["tool_calls"] = [
            {
                "id": call.get("id") or f"call_{i}",
                "type": "function",
                "function": {"name": call.get("name") or "unknown", "arguments": _raw(call)},
            }
            for i, call in enumerate(calls)
        ]
    return wire


def _raw(call: Mapping[str, Any]) -> str:
    return str(call.get("raw") or json.dumps(call.get("arguments") or {}, ensure_ascii=False))


def _answer(reply: Any) -> tuple[dict[str, Any], Literal["stop", "length"]]:
    """The canonical message of a reply, and why it ended. Raises EngineFailure where there is none."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not choices or not isinstance(choices[0].get("message"), dict):
        raise EngineFailure("no_message", f"the reply holds no message: {str(reply)[:200]}")
    told, reason = choices[0]["message"], choices[0].get("finish_reason")
    if reason not in ("stop", "length", "tool_calls", "function_call"):
        raise EngineFailure("finish_reason", f"the provider ended the answer with {reason!r}")
    message: dict[str, Any] = {"content": told.get("content") or ""}
    if reasoning := told.get("reasoning_content") or told.get("reasoning"):
        message["reasoning"] = str(reasoning)
    if calls := told.get("tool_calls"):
        message["tool_calls"] = [_call(call) for call in calls]
    if not message["content"] and not calls and reason != "length":
        raise EngineFailure("empty_reply", "the provider answered nothing")
    return message, "length" if reason == "length" else "stop"


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call with its raw arguments, and the reason where they cannot be read."""
    function = call.get("function") or {}
    name, raw = str(function.get("name") or ""), function.get("arguments") or ""
    made: dict[str, Any] = {"name": name, "arguments": {}, "raw": raw}
    try:
        arguments = json.loads(raw or "{}")
    except ValueError as error:
        return made | {"invalid": f"arguments are not JSON: {error}"}
    if not isinstance(arguments, dict):
        return made | {"invalid": "arguments are not a JSON object"}
    return made | {"arguments": arguments} | ({} if name else {"invalid": "the call has no name"})
