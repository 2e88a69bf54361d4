"""OpenAI Chat Completions. Every parameter is honoured or refused by name; replies add `x_journeyman`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from journeyman.capture.dialects.base import CallRequest, Refusal, Reply
from journeyman.capture.dialects.content import call_of, text_of
from journeyman.capture.dialects.parameters import Fields, seed_of, stream_options, structure_of
from journeyman.capture.dialects.refusing import fields_of, flag, invalid, list_of, name_of, only, refuse, shown
from journeyman.capture.dialects.tools import forced_tool, function_tool, parallel_calls
from journeyman.capture.dialects.wire import call_name, calls_tools, event, ours, unshown
from journeyman.engines.base import EngineIdentity
from journeyman.records.episode import Sampling
from journeyman.tokens.base import Message

_FIELDS = Fields(
    read=frozenset(
        {
            "model",
            "messages",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "stream",
            "stream_options",
            "seed",
            "response_format",
        }
    ),
    numbers={
        "temperature": (float, "temperature"),
        "top_p": (float, "top_p"),
        "top_k": (int, "top_k"),
        "max_tokens": (int, "max_tokens"),
        "max_completion_tokens": (int, "max_tokens"),
    },
    neutral={
        "n": (None, 1),
        "stop": (None, [], ""),
        "presence_penalty": (None, 0),
        "frequency_penalty": (None, 0),
        "repetition_penalty": (None, 1),
        "min_p": (None, 0),
        "logit_bias": (None, {}),
        "logprobs": (None, False),
        "top_logprobs": (None, 0),
        "modalities": (None, ["text"]),
        "reasoning_effort": (None,),
        "verbosity": (None, "medium"),
        "functions": (None, []),
        "function_call": (None,),
        "prediction": (None,),
        "audio": (None,),
        "web_search_options": (None,),
        "moderation": (None,),
    },
    no_effect={
        "user": "names the caller's own user",
        "safety_identifier": "names the caller's own user",
        "metadata": "the caller's labels",
        "store": "asks the provider to keep the reply; this gateway records every turn",
        "service_tier": "the provider's price and queue",
        "prompt_cache_key": "the provider's cache; what is sampled is the same",
        "prompt_cache_options": "the provider's cache; what is sampled is the same",
        "prompt_cache_retention": "the provider's cache; what is sampled is the same",
    },
)
# What a message of each role may hold.
_MESSAGE: dict[str, frozenset[str]] = {
    "system": frozenset({"content"}),
    "user": frozenset({"content"}),
    "assistant": frozenset({"content", "tool_calls", "reasoning_content", "reasoning", "refusal"}),
    "tool": frozenset({"content", "tool_call_id", "name"}),  # the name of a result's tool: its call says it
}
_BOOKKEEPING = frozenset({"role", "provider_specific_fields", "x_journeyman"})


class ChatDialect:
    """capture.dialects.base.Dialect for /v1/chat/completions."""

    paths: tuple[str, ...] = ("/v1/chat/completions", "/chat/completions")
    count_paths: Mapping[str, Mapping[str, str]] = MappingProxyType({})

    def __init__(self) -> None:
        self._checked: list[Any] = []  # the tools that were found right last: most calls bring the same

    def parse(self, body: Any, default: Sampling) -> CallRequest:
        """Raises Refusal naming any field that cannot be honoured."""
        _FIELDS.check(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
            invalid("messages", "messages is not a non-empty list of objects")
        given = list_of(body.get("tools"), "tools")
        if given != self._checked:
            for i, tool in enumerate(given):
                _check_tool(tool, f"tools[{i}]")
            self._checked = given
        tools = [_with_parameters(tool) for tool in given]
        parallel_calls(body.get("parallel_tool_calls"), "parallel_tool_calls", tools)
        options = stream_options(body, "include_usage")
        return CallRequest(
            items=messages,
            tools=tools,
            sampling=_FIELDS.sampling(body, default),
            seed=seed_of(body),
            forced=_forced(body.get("tool_choice"), tools),
            stream=flag(body, "stream"),
            stream_usage=bool(options.get("include_usage")),
            structure=structure_of(body.get("response_format"), "response_format"),
        )

    def canonical(self, item: Any) -> Message:
        """One raw message as a canonical one. Raises Refusal."""
        role = item.get("role")
        if role == "developer":
            role = "system"
        if role not in ("system", "user", "assistant", "tool"):
            text = f"messages: role {shown(role)} is not known: use system, user, assistant or tool"
            raise Refusal(400, "invalid_request", text, "messages")
        only(item, _MESSAGE[role] | _BOOKKEEPING, f"messages: a {role} message", "messages")
        message: Message = {"role": role, "content": text_of(item.get("content"), f"{role} message", "messages")}
        if role == "tool":
            message["tool_call_id"] = name_of(item.get("tool_call_id"), "tool_call_id", "messages")
        if role == "assistant":
            if refusal := name_of(item.get("refusal"), "a refusal", "messages"):
                message["content"] = "\n".join(filter(None, (message["content"], refusal)))
            if calls := list_of(item.get("tool_calls"), "messages"):
                message["tool_calls"] = [_call(raw) for raw in calls]
            if reasoning := _reasoning(item):
                message["reasoning"] = reasoning
        return message

    def reply(self, asked: CallRequest, reply: Reply, engine: EngineIdentity) -> dict[str, Any]:
        """The whole, non-streamed response body."""
        told = reply.turn.message
        message: dict[str, Any] = {"role": "assistant", "content": told.get("content") or None}
        if reasoning := told.get("reasoning"):
            message["reasoning_content"] = reasoning
        if calls := told.get("tool_calls"):
            message["tool_calls"] = [_wire_call(call) for call in calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
        return {
            "id": f"chatcmpl-{reply.turn.turn_id}",
            "object": "chat.completion",
            "created": 0,
            "model": engine.model,
            "choices": [choice],
            "usage": _usage(reply),
            "x_journeyman": ours(reply),
        }

    def events(self, asked: CallRequest, turn_id: str, engine: EngineIdentity) -> "ChatEvents":
        """The reply to `asked`, streamed."""
        return ChatEvents(turn_id, engine.model, asked.stream_usage)

    def error(self, status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
        """OpenAI's error object."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}


class ChatEvents:
    """capture.dialects.base.Events: chat.completion.chunk events, [DONE] last."""

    def __init__(self, turn_id: str, model: str, usage: bool) -> None:
        self._turn_id = turn_id
        self._model = model
        self._usage = usage
        self._reasoned = self._said = 0  # characters shown

    def opening(self, prompt_tokens: int, cached_tokens: int) -> bytes:
        """The role event."""
        return self._event({"role": "assistant", "content": ""})

    def reasoning(self, text: str) -> bytes:
        """One reasoning_content event."""
        self._reasoned += len(text)
        return self._event({"reasoning_content": text})

    def prose(self, text: str) -> bytes:
        """One content event."""
        self._said += len(text)
        return self._event({"content": text})

    def waiting(self) -> bytes:
        """A comment: this dialect has no event for it."""
        return b": waiting\n\n"

    def ending(self, reply: Reply) -> bytes:
        """The rest of reasoning and prose, the calls, the finish reason, usage where asked for, [DONE]."""
        message = reply.turn.message
        events = unshown(self, message, self._reasoned, self._said)
        for i, call in enumerate(message.get("tool_calls", ())):
            events.append(self._event({"tool_calls": [{"index": i, **_wire_call(call)}]}))
        events.append(self._event({}, _finish(reply), {"x_journeyman": ours(reply)}))
        if self._usage:
            events.append(self._event(None, None, {"usage": _usage(reply)}))
        return b"".join((*events, b"data: [DONE]\n\n"))

    def broken(self, code: str, message: str) -> bytes:
        """An error event in place of the rest of the stream."""
        return event(ChatDialect().error(500, code, message))

    def _event(
        self, delta: dict[str, Any] | None, finish: str | None = None, more: dict[str, Any] | None = None
    ) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        return event(
            {
                "id": f"chatcmpl-{self._turn_id}",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": self._model,
                "choices": choices,
                **(more or {}),
            }
        )


def _forced(choice: Any, tools: list[dict[str, Any]]) -> str | None:
    if not isinstance(choice, dict):
        return forced_tool(choice, None, tools, choice)
    kind = "tool" if choice.get("type") == "function" else choice.get("type")
    function = fields_of(choice.get("function"), "tool_choice")
    forced = forced_tool(kind, function.get("name"), tools, choice)
    only(choice, ("type", "function") if kind == "tool" else ("type",), "tool_choice", "tool_choice")
    only(function, ("name",), "tool_choice", "tool_choice")
    return forced


def _check_tool(tool: Any, where: str) -> None:
    """Raises Refusal where a tool is none that a client runs, or says what no template shows."""
    if not isinstance(tool, dict) or tool.get("type") != "function":
        refuse("tools", f"{where} is not a function tool: tools has no other kind here")
    only(tool, ("type", "function"), where, "tools")
    function_tool(fields_of(tool.get("function"), "tools"), "parameters", where)


def _with_parameters(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool in the client's own form, which the model is shown, with the parameters that a template asks for."""
    function = tool["function"]
    if function.get("parameters") is not None:
        return tool
    return {**tool, "function": {**function, "parameters": {"type": "object", "properties": {}}}}


def _reasoning(item: dict[str, Any]) -> str:
    """What an assistant's message reasons, under either of its names. Raises Refusal where they say two things."""
    one, other = (name_of(item.get(name), name, "messages") for name in ("reasoning_content", "reasoning"))
    if one and other and one != other:
        invalid("messages", f"messages: reasoning={shown(other)} beside another reasoning_content: send one of them")
    return one or other


def _call(raw: Any) -> dict[str, Any]:
    function = raw.get("function") if isinstance(raw, dict) else None
    if not isinstance(function, dict):
        invalid("messages", "messages: a tool call has no function")
    only(raw, ("type", "function", "provider_specific_fields"), "messages: a tool call", "messages")
    only(function, ("name", "arguments"), "messages: a tool call", "messages")
    return call_of(raw.get("id"), function.get("name"), function.get("arguments") or "{}", "messages")


def _finish(reply: Reply) -> str:
    return "tool_calls" if calls_tools(reply) else reply.turn.finish_reason


def _wire_call(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call["id"], "type": "function", "function": {"name": call_name(call), "arguments": call["raw"]}}


def _usage(reply: Reply) -> dict[str, Any]:
    prompt = reply.turn.prompt_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": prompt + reply.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
    }
