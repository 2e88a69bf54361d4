"""What a Messages client is told: the message object, the same in events, and errors in Anthropic's shape."""

import json
from typing import Any

from journeyman.capture.dialects.base import CallRequest, Reply
from journeyman.capture.dialects.wire import call_name, calls_tools, event, ours, reasoning_tokens, unshown

MALFORMED = "__malformed_call__"  # the input of a call that is not JSON: its raw text under this key
_KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large"}


def message_body(asked: CallRequest, reply: Reply, model: str) -> dict[str, Any]:
    """A finished message object."""
    turn = reply.turn
    body = _message(turn.turn_id, model, turn.prompt_tokens, reply.cached_tokens)
    blocks = []
    if reasoning := turn.message.get("reasoning"):
        blocks.append(_thinking(reasoning if asked.reasoning else "", turn.turn_id))
    if content := turn.message.get("content"):
        blocks.append({"type": "text", "text": content})
    body["content"] = [*blocks, *(_tool_use(call) for call in turn.message.get("tool_calls", ()))]
    body["stop_reason"] = _stop_reason(reply)
    body["usage"] = _usage(reply)
    body["x_journeyman"] = ours(reply)
    return body


def error_body(status: int, code: str, message: str, param: str | None) -> dict[str, Any]:
    """An error object. A prompt that is too long says so in the words that clients look for."""
    kind = _KINDS.get(status) or ("invalid_request_error" if status < 500 else "api_error")
    if code == "context_length_exceeded":
        message = f"prompt is too long: {message}"
    return {"type": "error", "error": {"type": kind, "message": message, "code": code, "param": param}}


class MessagesEvents:
    """capture.dialects.base.Events: message_start first, message_stop (or error) last."""

    def __init__(self, asked: CallRequest, turn_id: str, model: str) -> None:
        self._asked = asked
        self._turn_id = turn_id
        self._model = model
        self._index = -1  # of the block begun last
        self._open = ""  # its kind while it is not ended
        self._reasoned = self._said = 0  # characters shown

    def opening(self, prompt_tokens: int, cached_tokens: int) -> bytes:
        """The empty message."""
        message = _message(self._turn_id, self._model, prompt_tokens, cached_tokens)
        return _event("message_start", message=message)

    def reasoning(self, text: str) -> bytes:
        """A delta of the thinking block; the block alone where the client asked not to be shown its text."""
        head = b"" if self._reasoned else self._begin(_thinking("", ""))
        self._reasoned += len(text)
        return head + (self._delta("thinking_delta", thinking=text) if self._asked.reasoning else b"")

    def prose(self, text: str) -> bytes:
        """A delta of the text block."""
        head = b"" if self._said else self._end() + self._begin({"type": "text", "text": ""})
        self._said += len(text)
        return head + self._delta("text_delta", text=text)

    def waiting(self) -> bytes:
        """A ping."""
        return _event("ping")

    def ending(self, reply: Reply) -> bytes:
        """What was not shown yet, each call, why it stopped, usage, the end."""
        message = reply.turn.message
        events = unshown(self, message, self._reasoned, self._said)
        events.append(self._end())
        for call in message.get("tool_calls", ()):
            block = _tool_use(call)
            text = json.dumps(block["input"], ensure_ascii=False) if call.get("invalid") else call["raw"]
            events += [self._begin(block | {"input": {}}), self._delta("input_json_delta", partial_json=text)]
            events.append(self._end())
        stop = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
        events.append(_event("message_delta", delta=stop, usage=_usage(reply), x_journeyman=ours(reply)))
        events.append(_event("message_stop"))
        return b"".join(events)

    def broken(self, code: str, message: str) -> bytes:
        """An error event in place of the rest of the stream."""
        return event(error_body(500, code, message, None), "error")

    def _begin(self, block: dict[str, Any]) -> bytes:
        self._index += 1
        self._open = block["type"]
        return _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, kind: str, **fields: str) -> bytes:
        return _event("content_block_delta", index=self._index, delta={"type": kind, **fields})

    def _end(self) -> bytes:
        """End the open block, if there is one; a thinking block is signed first."""
        if not self._open:
            return b""
        signed = b""
        if self._open == "thinking":
            signed = self._delta("signature_delta", signature=f"journeyman:{self._turn_id}")
        self._open = ""
        return signed + _event("content_block_stop", index=self._index)


def _event(name: str, **fields: Any) -> bytes:
    return event({"type": name, **fields}, name)


def _message(turn_id: str, model: str, prompt_tokens: int, cached_tokens: int) -> dict[str, Any]:
    """A message of which nothing is known but its prompt."""
    return {
        "id": f"msg_{turn_id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _counts(prompt_tokens, cached_tokens, 0),
    }


def _thinking(text: str, turn_id: str) -> dict[str, Any]:
    """A thinking block. Its signature says where the gateway holds the reasoning."""
    return {"type": "thinking", "thinking": text, "signature": f"journeyman:{turn_id}" if turn_id else ""}


def _tool_use(call: dict[str, Any]) -> dict[str, Any]:
    given = {MALFORMED: call["raw"]} if call.get("invalid") else call["arguments"]
    return {"type": "tool_use", "id": call["id"], "name": call_name(call), "input": given}


def _stop_reason(reply: Reply) -> str:
    if reply.turn.finish_reason == "length":
        full = reply.context_tokens >= reply.window_tokens
        return "model_context_window_exceeded" if full else "max_tokens"
    return "tool_use" if calls_tools(reply) else "end_turn"


def _usage(reply: Reply) -> dict[str, Any]:
    counts = _counts(reply.turn.prompt_tokens, reply.cached_tokens, reply.completion_tokens)
    return counts | {"output_tokens_details": {"thinking_tokens": reasoning_tokens(reply)}}


def _counts(prompt_tokens: int, cached_tokens: int, output_tokens: int) -> dict[str, Any]:
    """Anthropic counts cached input apart."""
    return {
        "input_tokens": prompt_tokens - cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached_tokens,
        "output_tokens": output_tokens,
    }
