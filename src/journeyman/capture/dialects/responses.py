"""OpenAI Responses. An assistant turn's items (reasoning, message, calls) are one message; nothing is dropped."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from journeyman.capture.dialects.base import CallRequest, Refusal, Reply, Structure
from journeyman.capture.dialects.content import call_of, text_of
from journeyman.capture.dialects.parameters import Fields, not_found, seed_of, stream_options, structure_of
from journeyman.capture.dialects.refusing import fields_of, flag, invalid, list_of, name_of, named, only, refuse, shown
from journeyman.capture.dialects.responses_events import RESPONSE, ResponsesEvents, response_body
from journeyman.capture.dialects.tools import forced_tool, function_tool, parallel_calls
from journeyman.capture.messages import INSTRUCTIONS
from journeyman.engines.base import EngineIdentity
from journeyman.records.episode import Sampling
from journeyman.tokens.base import Message

_FIELDS = Fields(
    read=frozenset(
        {
            *(
                "model",
                "input",
                "instructions",
                "tools",
                "tool_choice",
                "parallel_tool_calls",
                "text",
                "reasoning",
                "include",
                "seed",
            ),
            *("stream", "stream_options", "previous_response_id"),
        }
    ),
    numbers={
        "temperature": (float, "temperature"),
        "top_p": (float, "top_p"),
        "top_k": (int, "top_k"),
        "max_output_tokens": (int, "max_tokens"),
    },
    neutral={
        "background": (None, False),
        "background_options": (None,),
        "context_management": (None, []),
        "conversation": (None,),
        "image": (None,),
        "max_tool_calls": (None,),
        "moderation": (None,),
        "prompt": (None,),
        "top_logprobs": (None, 0),
        "truncation": (None, "disabled"),
        "access_programs": (None,),
    },
    no_effect={
        "user": "names the caller's own user",
        "safety_identifier": "names the caller's own user",
        "metadata": "the caller's labels",
        "store": "asks the provider to keep the reply; this gateway records every turn",
        "client_metadata": "the caller's labels (Codex)",
        "service_tier": "the provider's price and queue",
        "prompt_cache_key": "the provider's cache; what is sampled is the same",
        "prompt_cache_options": "the provider's cache; what is sampled is the same",
        "prompt_cache_retention": "the provider's cache; what is sampled is the same",
    },
    remedies={"conversation": "send the history as input, or previous_response_id"},
)
_REMEDIES = {"web_search": 'turn it off in the client (Codex: web_search = "disabled")'}
_STAGES = {"reasoning": 0, "function_call": 2, "custom_tool_call": 2}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_OF_A_RESULT = frozenset({"type", "call_id", "output", "name", "namespace"})  # its tool, too: its call says it
_ITEMS: dict[str, frozenset[str]] = {  # what each item may hold
    "message": frozenset({"type", "role", "content", "phase"}),  # the phase labels what the client shows
    "reasoning": frozenset({"type", "summary", "content", "encrypted_content"}),
    "function_call": frozenset({"type", "call_id", "namespace", "name", "arguments"}),
    "custom_tool_call": frozenset({"type", "call_id", "namespace", "name", "input"}),
    **dict.fromkeys(_RESULTS, _OF_A_RESULT),
}
_ENCRYPTED = "reasoning.encrypted_content"
_ECHOED = ("instructions", "metadata", "parallel_tool_calls", "reasoning", "text", "tool_choice", "tools", "user")
_COUNTED = {"object": "response.input_tokens"}
_COUNT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"/v1/responses/input_tokens": _COUNTED, "/responses/input_tokens": _COUNTED}
)


class ResponsesDialect:
    """capture.dialects.base.Dialect for /v1/responses."""

    paths: tuple[str, ...] = ("/v1/responses", "/responses")
    count_paths: Mapping[str, Mapping[str, str]] = _COUNT

    def parse(self, body: Any, default: Sampling) -> CallRequest:
        """Raises Refusal naming any field that cannot be honoured."""
        _FIELDS.check(body)
        instructions = body.get("instructions")
        if instructions is not None and not isinstance(instructions, str):
            invalid("instructions", "instructions is not text")
        lead = [{"role": "system", "content": instructions, INSTRUCTIONS: True}] if instructions else []
        items = _grouped(_input(body.get("input")))
        tools, renamed = _tools(list_of(body.get("tools"), "tools"))
        parallel_calls(body.get("parallel_tool_calls"), "parallel_tool_calls", tools)
        _check_reasoning(fields_of(body.get("reasoning"), "reasoning"))
        stream_options(body)
        return CallRequest(
            items=[*lead, *items],
            lead=len(lead),
            previous=_previous(body.get("previous_response_id")),
            tools=tools,
            renamed=renamed,
            sampling=_FIELDS.sampling(body, default),
            seed=seed_of(body),
            forced=_forced(body.get("tool_choice"), tools),
            stream=flag(body, "stream"),
            structure=_structure(fields_of(body.get("text"), "text")),
            opaque_reasoning=_include(list_of(body.get("include"), "include")),
            echo={name: body[name] for name in _ECHOED if body.get(name) is not None},
        )

    def canonical(self, item: Any) -> Message:
        """One raw item, or the items of one assistant turn, as a canonical message. Raises Refusal."""
        if isinstance(item, list):
            return _turn(item)
        kind = item.get("type", "message")
        if kind in _RESULTS:
            output = item.get("output")
            return {
                "role": "tool",
                "content": text_of(output, kind, "input"),
                "tool_call_id": name_of(item.get("call_id"), "call_id", "input"),
            }
        role = item.get("role")
        if role == "developer":
            role = "system"
        if role not in ("system", "user"):
            raise Refusal(
                400,
                "invalid_request",
                f"input: role {shown(role)} is not known: use system, developer, user or assistant",
                "input",
            )
        message: Message = {"role": role, "content": text_of(item.get("content"), f"{role} message", "input")}
        return message | ({INSTRUCTIONS: True} if item.get(INSTRUCTIONS) else {})

    def reply(self, asked: CallRequest, reply: Reply, engine: EngineIdentity) -> dict[str, Any]:
        """The whole, non-streamed response body."""
        return response_body(asked, reply, engine.model)

    def events(self, asked: CallRequest, turn_id: str, engine: EngineIdentity) -> ResponsesEvents:
        """The reply to `asked`, streamed."""
        return ResponsesEvents(asked, turn_id, engine.model)

    def error(self, status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
        """OpenAI's error object."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _input(value: Any) -> list[dict[str, Any]]:
    """The request's items. Raises Refusal where one is of a kind that cannot be shown to the model."""
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        invalid("input", "input is neither text nor a non-empty list of items")
    for i, item in enumerate(value):
        kind = item.get("type", "message")
        if not isinstance(kind, str) or kind not in _ITEMS:
            text = f"input[{i}] of type {shown(kind)} cannot be shown to this model: send messages and tool items"
            refuse("input", text)
        only(item, _ITEMS[kind], f"input[{i}]", "input")
    return value


def _grouped(items: list[dict[str, Any]]) -> list[Any]:
    """Items with those of one assistant turn gathered in a list; what was gathered once is gathered so again.

    A turn reasons, then speaks, then calls: an item that comes too late for that begins another turn.
    """
    grouped: list[Any] = []
    latest = -1  # stage of the turn being gathered; -1: none is
    for item in items:
        kind = item.get("type", "message")
        stage = _STAGES.get(kind, -1) if kind != "message" else (1 if item.get("role") == "assistant" else -1)
        if stage < 0:
            grouped.append(item)
        elif latest < 0 or stage < latest or stage == latest == 1:
            grouped.append([item])
        else:
            grouped[-1].append(item)
        latest = stage
    return grouped


def _turn(items: list[Any]) -> Message:
    """The items of an assistant turn as one message."""
    prose, thoughts, calls = [], [], []
    for item in items:
        kind = item.get("type", "message")
        if kind == "reasoning":
            thoughts += _thoughts(item)
        elif kind == "function_call":
            name = _called(item)
            calls.append(call_of(item.get("call_id"), name, item.get("arguments") or "{}", "input"))
        elif kind == "custom_tool_call":
            given = {"input": name_of(item.get("input"), "a call's input", "input")}
            calls.append(call_of(item.get("call_id"), _called(item), given, "input"))
        else:
            prose.append(text_of(item.get("content"), "assistant message", "input"))
    message: Message = {"role": "assistant", "content": "\n".join(prose)}
    if reasoning := "\n".join(filter(None, thoughts)):
        message["reasoning"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def _thoughts(item: Mapping[str, Any]) -> list[str]:
    """What a reasoning item says: its content, or the summary where that is all it has. Raises Refusal for both."""
    content, summary = ([_thought(part) for part in list_of(item.get(k), "input")] for k in ("content", "summary"))
    if content and any(summary) and content != summary:
        text = f"input: the summary {shown(summary)} of a reasoning item beside its content cannot be shown"
        refuse("input", f"{text}: send one of them")
    return content or summary


def _thought(part: Any) -> str:
    if not isinstance(part, dict):
        invalid("input", f"input: {shown(part)} in a reasoning item is not an object")
    only(part, ("type", "text"), "input: a part of a reasoning item", "input")
    return name_of(part.get("text"), "reasoning", "input")


def _called(item: Mapping[str, Any]) -> str:
    space = name_of(item.get("namespace"), "a namespace", "input")
    return flat_name(space, name_of(item.get("name"), "a call's name", "input"))


def flat_name(namespace: str, name: str) -> str:
    """A tool's name as the model is shown it: unique over namespaces."""
    return f"{namespace}__{name}" if namespace else name


def _tools(given: list[Any]) -> tuple[list[dict[str, Any]], Mapping[str, tuple[str, str]]]:
    """Tools in the shape of Chat Completions, and what the client calls those whose name was changed."""
    if not all(isinstance(tool, dict) for tool in given):
        invalid("tools", "tools is not a list of objects")
    tools: list[dict[str, Any]] = []
    renamed: dict[str, tuple[str, str]] = {}
    for i, tool in enumerate(given):
        if tool.get("type") != "namespace":
            tools.append(_tool(tool, f"tools[{i}]"))
            continue
        where = f"tools[{i}]"
        space = name_of(tool.get("name"), f"the name of {where}", "tools")
        only(tool, ("type", "name", "description", "tools"), where, "tools")
        about = name_of(tool.get("description"), f"the description of {where}", "tools")
        for inner in list_of(tool.get("tools"), "tools"):
            plain = _tool(inner, f"{where} ({named(space)})")["function"]
            flat = flat_name(space, plain["name"])
            renamed[flat] = (space, plain["name"])
            tools.append({"type": "function", "function": {**plain, "name": flat, **_described(space, about, plain)}})
            about = ""
    return tools, renamed


def _described(space: str, about: str, tool: Mapping[str, Any]) -> dict[str, str]:
    """The description of a namespace's first tool: what there is to say about the namespace comes before its own."""
    if not about:
        return {}
    head = f"About the tools {flat_name(space, '*')}: {about}"
    return {"description": "\n\n".join(filter(None, (head, tool.get("description"))))}


def _tool(tool: Any, where: str) -> dict[str, Any]:
    kind = tool.get("type") if isinstance(tool, dict) else None
    if kind != "function":
        remedy = "turn it off in the client"
        remedy = _REMEDIES.get(str(kind), remedy)
        refuse("tools", f"{where} of type {shown(kind)} is not a function the client runs: {remedy}")
    return function_tool(tool, "parameters", where)


def _forced(choice: Any, tools: list[dict[str, Any]]) -> str | None:
    if not isinstance(choice, dict):
        return forced_tool(choice, None, tools, choice)
    kind = "tool" if choice.get("type") == "function" else choice.get("type")
    space = name_of(choice.get("namespace"), "a namespace", "tool_choice")
    name = flat_name(space, name_of(choice.get("name"), "a name", "tool_choice"))
    forced = forced_tool(kind, name, tools, choice)
    only(choice, ("type", "name", "namespace") if kind == "tool" else ("type",), "tool_choice", "tool_choice")
    return forced


def _check_reasoning(wanted: Mapping[str, Any]) -> None:
    """Raises Refusal where more is asked for than to be shown what the policy reasons."""
    for name, value in wanted.items():
        allowed = (None, "auto") if name in ("summary", "generate_summary") else (None,)
        if value not in allowed:
            refuse(
                "reasoning", f"reasoning.{named(name)}={shown(value)} cannot be honoured by this engine: leave it out"
            )


def _structure(text: Mapping[str, Any]) -> Structure | None:
    """What `text` asks for. Raises Refusal."""
    for name, value in text.items():
        if name != "format" and value is not None and (name != "verbosity" or value != "medium"):
            refuse("text", f"text.{named(name)}={shown(value)} cannot be honoured by this engine: leave it out")
    return structure_of(text.get("format"), "text")


def _include(wanted: Any) -> bool:
    """Whether reasoning items carry an opaque part. Raises Refusal for anything else to include."""
    for name in wanted:
        if name != _ENCRYPTED:
            refuse("include", f"include={shown(name)} cannot be honoured by this engine: leave it out")
    return bool(wanted)


def _previous(value: Any) -> str:
    """The turn that `previous_response_id` names; "" where it names none. Raises Refusal."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value.startswith(RESPONSE):
        raise not_found(value)
    return value.removeprefix(RESPONSE)
