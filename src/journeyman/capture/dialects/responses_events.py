"""What a Responses client is told: the response object, and the same in events with one running sequence number."""

from typing import Any

from journeyman.capture.dialects.base import CallRequest, Reply
from journeyman.capture.dialects.wire import call_name, event, ours, reasoning_tokens, unshown

Item = dict[str, Any]
RESPONSE = "resp_"  # an id is this and the turn's


def response_body(asked: CallRequest, reply: Reply, model: str) -> dict[str, Any]:
    """A finished response object."""
    cut = reply.turn.finish_reason == "length"
    body = _response(asked, reply.turn.turn_id, model, "incomplete" if cut else "completed")
    body["incomplete_details"] = {"reason": "max_output_tokens"} if cut else None
    body["output"] = _output(asked, reply)
    body["usage"] = _usage(reply)
    body["x_journeyman"] = ours(reply)
    return body


class ResponsesEvents:
    """capture.dialects.base.Events: response.created first, response.completed (or incomplete, failed) last."""

    def __init__(self, asked: CallRequest, turn_id: str, model: str) -> None:
        self._asked = asked
        self._turn_id = turn_id
        self._model = model
        self._sequence = 0
        self._index = -1  # of the output item told last
        self._open: Item | None = None  # the item told of and not yet done
        self._reasoning = self._prose = ""  # shown

    def opening(self, prompt_tokens: int, cached_tokens: int) -> bytes:
        """The response exists and is worked on."""
        return self._lifecycle("created", "in_progress") + self.waiting()

    def waiting(self) -> bytes:
        """Still worked on (clients count events, and do not see comments)."""
        return self._lifecycle("in_progress", "in_progress")

    def reasoning(self, text: str) -> bytes:
        """A delta of the reasoning item."""
        head = b""
        if not self._reasoning:
            head = self._add(_reasoning_item(self._asked, self._turn_id, "", "in_progress"))
            head += self._event("content_part.added", content_index=0, part={"type": "reasoning_text", "text": ""})
        self._reasoning += text
        return head + self._event("reasoning_text.delta", content_index=0, delta=text)

    def prose(self, text: str) -> bytes:
        """A delta of the message item."""
        head = b""
        if not self._prose:
            head = self._close_reasoning() + self._add(_message_item(self._turn_id, None, "in_progress"))
            head += self._event("content_part.added", content_index=0, part=_text_part(""))
        self._prose += text
        return head + self._event("output_text.delta", content_index=0, delta=text, logprobs=[])

    def ending(self, reply: Reply) -> bytes:
        """What was not shown yet, each call, and the finished response."""
        message = reply.turn.message
        events = unshown(self, message, len(self._reasoning) if self._asked.reasoning else None, len(self._prose))
        body = response_body(self._asked, reply, self._model)
        events += [self._close_reasoning(), self._close_message(body)]
        events += [self._call(item) for item in body["output"] if item["type"] == "function_call"]
        events.append(self._event(body["status"], response=body))
        return b"".join(events)

    def broken(self, code: str, message: str) -> bytes:
        """The response failed."""
        return self._lifecycle("failed", "failed", {"code": code, "message": message})

    def _lifecycle(self, name: str, status: str, error: dict[str, Any] | None = None) -> bytes:
        body = _response(self._asked, self._turn_id, self._model, status)
        body["error"] = error
        return self._event(name, response=body)

    def _event(self, name: str, /, **fields: Any) -> bytes:
        """One event; those of an item say which."""
        body: dict[str, Any] = {"type": f"response.{name}", "sequence_number": self._sequence}
        self._sequence += 1
        if self._open is not None and "response" not in fields:
            body["output_index"] = self._index
            if "item" not in fields:
                body["item_id"] = self._open["id"]
        return event(body | fields, body["type"])

    def _add(self, item: Item) -> bytes:
        self._index += 1
        self._open = item
        return self._event("output_item.added", item=item)

    def _done(self, item: Item) -> bytes:
        told = self._event("output_item.done", item=item)
        self._open = None
        return told

    def _close_reasoning(self) -> bytes:
        """End the reasoning item if it is the open one."""
        if self._open is None or self._open["type"] != "reasoning":
            return b""
        text = self._reasoning
        return (
            self._event("reasoning_text.done", content_index=0, text=text)
            + self._event("content_part.done", content_index=0, part={"type": "reasoning_text", "text": text})
            + self._done(_reasoning_item(self._asked, self._turn_id, text, "completed"))
        )

    def _close_message(self, body: dict[str, Any]) -> bytes:
        """End the message item if it is the open one."""
        if self._open is None:
            return b""
        item = next(item for item in body["output"] if item["type"] == "message")
        part = item["content"][0]
        return (
            self._event("output_text.done", content_index=0, text=part["text"], logprobs=[])
            + self._event("content_part.done", content_index=0, part=part)
            + self._done(item)
        )

    def _call(self, item: Item) -> bytes:
        arguments = item["arguments"]
        return (
            self._add(item | {"arguments": "", "status": "in_progress"})
            + self._event("function_call_arguments.delta", delta=arguments)
            + self._event("function_call_arguments.done", arguments=arguments, name=item["name"])
            + self._done(item)
        )


def _response(asked: CallRequest, turn_id: str, model: str, status: str) -> dict[str, Any]:
    return {
        "id": RESPONSE + turn_id,
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": RESPONSE + asked.previous if asked.previous else None,
        "temperature": asked.sampling.temperature,
        "top_p": asked.sampling.top_p,
        "max_output_tokens": asked.sampling.max_tokens,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
        **asked.echo,
    }


def _output(asked: CallRequest, reply: Reply) -> list[Item]:
    """The turn's items, in the order in which they were sampled."""
    turn = reply.turn
    items: list[Item] = []
    if asked.reasoning and (reasoning := turn.message.get("reasoning")):
        items.append(_reasoning_item(asked, turn.turn_id, reasoning, "completed"))
    if content := turn.message.get("content"):
        items.append(
            _message_item(turn.turn_id, content, "incomplete" if turn.finish_reason == "length" else "completed")
        )
    for i, call in enumerate(turn.message.get("tool_calls", ())):
        space, name = asked.renamed.get(call["name"], ("", call_name(call)))
        item = {
            "type": "function_call",
            "id": f"fc_{turn.turn_id}_{i}",
            "call_id": call["id"],
            "name": name,
            "arguments": call["raw"],
            "status": "completed",
        }
        items.append(item | ({"namespace": space} if space else {}))
    return items


def _reasoning_item(asked: CallRequest, turn_id: str, text: str, status: str) -> Item:
    content = [{"type": "reasoning_text", "text": text}] if text else []
    item: Item = {"type": "reasoning", "id": f"rs_{turn_id}", "summary": [], "content": content, "status": status}
    if asked.opaque_reasoning:  # the gateway holds the reasoning itself: this only says where
        item["encrypted_content"] = f"journeyman:{turn_id}"
    return item


def _message_item(turn_id: str, text: str | None, status: str) -> Item:
    content = [] if text is None else [_text_part(text)]
    return {"type": "message", "id": f"msg_{turn_id}", "role": "assistant", "status": status, "content": content}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(reply: Reply) -> dict[str, Any]:
    prompt = reply.turn.prompt_tokens
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": reply.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": reply.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens(reply)},
        "total_tokens": prompt + reply.completion_tokens,
    }
