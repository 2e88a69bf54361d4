"""OpenAI Chat Completions. Every parameter is honoured or refused by name; replies add `x_journeyman`."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from journeyman.capture.dialects.base import CallRequest, Refusal, Reply
from journeyman.engines.base import EngineIdentity
from journeyman.records.episode import Sampling
from journeyman.tokens.base import Message

_ENCODER = json.JSONEncoder(ensure_ascii=False)

# Values that ask for nothing; anything else under these names is refused.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (None, 1),
    "stop": (None, [], ""),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "repetition_penalty": (None, 1),
    "min_p": (None, 0),
    "logit_bias": (None, {}),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "tool_choice": (None, "auto"),
    "parallel_tool_calls": (None, True),
    "response_format": (None, {"type": "text"}),
    "modalities": (None, ["text"]),
    "reasoning_effort": (None,),
    "functions": (None, []),
    "function_call": (None,),
    "prediction": (None,),
    "audio": (None,),
    "web_search_options": (None,),
}
# About the caller or the provider's bookkeeping, not about what is sampled.
_NO_EFFECT = frozenset({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"})
_OURS = frozenset({"model", "messages", "tools", "stream", "stream_options", "seed"})
_NUMBERS: dict[str, tuple[type, str]] = {
    "temperature": (float, "temperature"),
    "top_p": (float, "top_p"),
    "top_k": (int, "top_k"),
    "max_tokens": (int, "max_tokens"),
    "max_completion_tokens": (int, "max_tokens"),
}
_LIMITS: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 10.0),
    "top_p": (0.0, 1.0),
    "top_k": (-1, 1 << 31),
    "max_tokens": (1, 1 << 31),
}


def _refuse(param: str, message: str) -> NoReturn:
    raise Refusal(400, "unsupported_parameter", message, param)


def _text(content: Any, where: str) -> str:
    """Message content as text. Raises Refusal where a part is not text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise Refusal(400, "invalid_request", f"{where}: content is neither text nor a list of parts", where)
    parts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in ("text", "input_text", "output_text", "refusal"):
            raise Refusal(
                400, "unsupported_content", f"{where}: content part {kind!r} cannot be shown to this model", where
            )
        parts.append(str(part.get("text", part.get("refusal", ""))))
    return "".join(parts)


def _call(raw: Any) -> dict[str, Any]:
    function = raw.get("function") if isinstance(raw, dict) else None
    if not isinstance(function, dict):
        raise Refusal(400, "invalid_request", "a tool call has no function", "messages")
    text = function.get("arguments") or "{}"
    call: dict[str, Any] = {
        "id": str(raw.get("id", "")),
        "name": str(function.get("name", "")),
        "arguments": {},
        "raw": text,
    }
    try:
        arguments = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return call | {"invalid": "not JSON"}
    if not isinstance(arguments, dict):
        return call | {"invalid": "not an object"}
    return call | {"arguments": arguments, "raw": text if isinstance(text, str) else json.dumps(text)}


def _sampling(body: dict[str, Any], default: Sampling) -> tuple[Sampling, dict[str, Any]]:
    given: dict[str, Any] = {}
    for name, (kind, field) in _NUMBERS.items():
        value = body.get(name)
        if value is None:
            continue
        low, high = _LIMITS[field]
        right = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
        if not right or not low <= value <= high:
            raise Refusal(400, "invalid_value", f"{name}={value!r}: use a {kind.__name__} in [{low:g}, {high:g}]", name)
        given[field] = kind(value)
    return (default.model_copy(update=given) if given else default), given


class ChatDialect:
    """capture.dialects.base.Dialect for /v1/chat/completions."""

    paths: tuple[str, ...] = ("/v1/chat/completions", "/chat/completions")

    def parse(self, body: Any, default: Sampling) -> CallRequest:
        """Raises Refusal naming any field that cannot be honoured."""
        if not isinstance(body, dict):
            raise Refusal(400, "invalid_request", "the body is not a JSON object")
        for name, value in body.items():
            if name in _OURS or name in _NUMBERS or name in _NO_EFFECT:
                continue
            if name not in _NEUTRAL:
                _refuse(name, f"{name} is not known here: leave it out")
            if value not in _NEUTRAL[name]:
                _refuse(name, f"{name}={json.dumps(value)[:80]} cannot be honoured by this engine: leave it out")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
            raise Refusal(400, "invalid_request", "messages is not a non-empty list of objects", "messages")
        if messages[-1].get("role") == "assistant":
            _refuse("messages", "the last message is the assistant's: continuing it (prefill) is not supported")
        tools = body.get("tools") or []
        if not isinstance(tools, list) or any(not isinstance(t, dict) or t.get("type") != "function" for t in tools):
            _refuse("tools", "tools is not a list of function tools")
        seed = body.get("seed")
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise Refusal(400, "invalid_value", f"seed={seed!r}: use an integer", "seed")
        sampling, honoured = _sampling(body, default)
        options = body.get("stream_options") or {}
        return CallRequest(
            items=messages,
            tools=tools,
            sampling=sampling,
            seed=seed,
            honoured=honoured if seed is None else honoured | {"seed": seed},
            stream=bool(body.get("stream")),
            stream_usage=bool(options.get("include_usage")),
        )

    def canonical(self, item: Any) -> Message:
        """One raw message as a canonical one. Raises Refusal."""
        role = item.get("role")
        if role == "developer":
            role = "system"
        if role not in ("system", "user", "assistant", "tool"):
            raise Refusal(
                400, "invalid_request", f"role {role!r} is not known: use system, user, assistant or tool", "messages"
            )
        message: Message = {"role": role, "content": _text(item.get("content"), f"{role} message")}
        if role == "tool":
            message["tool_call_id"] = str(item.get("tool_call_id") or "")
        if role == "assistant":
            if calls := item.get("tool_calls"):
                message["tool_calls"] = [_call(raw) for raw in calls]
            if reasoning := item.get("reasoning_content") or item.get("reasoning"):
                message["reasoning"] = str(reasoning)
        return message

    def reply(self, reply: Reply, engine: EngineIdentity) -> dict[str, Any]:
        """The whole, non-streamed response body."""
        content = reply.turn.message.get("content", "")
        message: dict[str, Any] = {"role": "assistant", "content": content or None, **_extras(reply)}
        if calls := reply.turn.message.get("tool_calls"):
            message["tool_calls"] = [_wire_call(call) for call in calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
        return {
            "id": f"chatcmpl-{reply.turn.turn_id}",
            "object": "chat.completion",
            "created": 0,
            "model": engine.model,
            "choices": [choice],
            "usage": _usage(reply),
            "x_journeyman": _ours(reply),
        }

    def opening(self, turn_id: str, engine: EngineIdentity) -> Sequence[bytes]:
        """The role event."""
        return (_event(turn_id, engine, {"role": "assistant", "content": ""}),)

    def delta(self, turn_id: str, text: str, engine: EngineIdentity) -> bytes:
        """One content event."""
        return _event(turn_id, engine, {"content": text})

    def ending(self, reply: Reply, shown: int, usage: bool, engine: EngineIdentity) -> Sequence[bytes]:
        """The rest of the prose, the calls, the finish reason, usage where asked for, [DONE]."""
        turn = reply.turn
        events: list[bytes] = []
        if rest := turn.message.get("content", "")[shown:]:
            events.append(_event(turn.turn_id, engine, {"content": rest}))
        if extras := _extras(reply):
            events.append(_event(turn.turn_id, engine, extras))
        for i, call in enumerate(turn.message.get("tool_calls", ())):
            events.append(_event(turn.turn_id, engine, {"tool_calls": [{"index": i, **_wire_call(call)}]}))
        events.append(_event(turn.turn_id, engine, {}, _finish(reply), {"x_journeyman": _ours(reply)}))
        if usage:
            events.append(_event(turn.turn_id, engine, None, None, {"usage": _usage(reply)}))
        return (*events, b"data: [DONE]\n\n")

    def error(self, status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
        """OpenAI's error object."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}

    def late_error(self, code: str, message: str) -> Sequence[bytes]:
        """An error event in place of the rest of the stream."""
        return (b"data: " + json.dumps(self.error(500, code, message)).encode() + b"\n\n",)


def _finish(reply: Reply) -> str:
    reason = reply.turn.finish_reason
    return "tool_calls" if reason == "stop" and reply.turn.message.get("tool_calls") else reason


def _extras(reply: Reply) -> dict[str, Any]:
    reasoning = reply.turn.message.get("reasoning")
    return {"reasoning_content": reasoning} if reasoning else {}


def _wire_call(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["raw"]}}


def _usage(reply: Reply) -> dict[str, Any]:
    prompt = reply.turn.prompt_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": prompt + reply.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
    }


def _ours(reply: Reply) -> dict[str, Any]:
    return {
        "turn_id": reply.turn.turn_id,
        "invalid": list(reply.invalid),
        "context_tokens": reply.context_tokens,
        "window_tokens": reply.window_tokens,
    }


def _event(
    turn_id: str,
    engine: EngineIdentity,
    delta: dict[str, Any] | None,
    finish: str | None = None,
    more: dict[str, Any] | None = None,
) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    body: dict[str, Any] = {
        "id": f"chatcmpl-{turn_id}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": engine.model,
        "choices": choices,
        **(more or {}),
    }
    return b"data: " + _ENCODER.encode(body).encode() + b"\n\n"
