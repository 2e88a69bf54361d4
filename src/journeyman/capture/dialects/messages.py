"""Anthropic Messages. A user message's tool results are messages of their own; nothing is dropped."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from journeyman.capture.dialects.base import CallRequest, Refusal, Reply, Structure
from journeyman.capture.dialects.content import call_of, text_of
from journeyman.capture.dialects.messages_events import MALFORMED, MessagesEvents, error_body, message_body
from journeyman.capture.dialects.parameters import Fields, seed_of, structure_of
from journeyman.capture.dialects.refusing import fields_of, flag, invalid, list_of, name_of, named, only, refuse, shown
from journeyman.capture.dialects.tools import forced_tool, function_tool, parallel_calls
from journeyman.engines.base import EngineIdentity
from journeyman.records.episode import Sampling
from journeyman.tokens.base import Message

_FIELDS = Fields(
    read=frozenset(
        {
            *("model", "messages", "system", "tools", "tool_choice", "stream", "seed"),
            *("thinking", "output_config", "context_management"),
        }
    ),
    numbers={
        "temperature": (float, "temperature"),
        "top_p": (float, "top_p"),
        "top_k": (int, "top_k"),
        "max_tokens": (int, "max_tokens"),
    },
    neutral={
        "stop_sequences": (None, []),
        "container": (None,),
        "mcp_servers": (None, []),
        "speed": (None, "standard"),
    },
    no_effect={
        "metadata": "the caller's labels",
        "user_profile_id": "names the caller's own user",
        "workspace_id": "the provider's bookkeeping",
        "service_tier": "the provider's price and queue",
        "inference_geo": "where the provider computes; nothing leaves this machine",
        "cache_control": "the provider's cache; what is sampled is the same",
        "diagnostics": "asks what the provider's cache did",
    },
)
# What a message may hold, and what our own replies say besides.
_MESSAGE = frozenset({"role", "content", "type", "model", "stop_reason", "stop_sequence", "usage", "x_journeyman"})
_BLOCKS: dict[str, frozenset[str]] = {
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),  # opaque: the gateway holds what was reasoned
    "tool_use": frozenset({"type", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
}
_BOOKKEEPING = "x-anthropic-billing-header:"  # Claude Code's first system block; its provider takes it off, too
_ERROR = "Error: "  # begins what the model is shown of a tool_result with is_error
_COUNT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"/v1/messages/count_tokens": {}, "/messages/count_tokens": {}}
)


class MessagesDialect:
    """capture.dialects.base.Dialect for /v1/messages."""

    paths: tuple[str, ...] = ("/v1/messages", "/messages")
    count_paths: Mapping[str, Mapping[str, str]] = _COUNT

    def parse(self, body: Any, default: Sampling) -> CallRequest:
        """Raises Refusal naming any field that cannot be honoured."""
        _FIELDS.check(body)
        items = [*_system(body.get("system")), *_history(body.get("messages"))]
        tools = _tools(list_of(body.get("tools"), "tools"))
        _check_context(fields_of(body.get("context_management"), "context_management"))
        return CallRequest(
            items=items,
            tools=tools,
            sampling=_FIELDS.sampling(body, default),
            seed=seed_of(body),
            forced=_forced(body.get("tool_choice"), tools),
            stream=flag(body, "stream"),
            structure=_structure(fields_of(body.get("output_config"), "output_config")),
            reasoning=_shows_reasoning(fields_of(body.get("thinking"), "thinking") or {"type": "adaptive"}),
        )

    def canonical(self, item: Any) -> Message:
        """One raw item as a canonical message. Raises Refusal."""
        if item.get("role") == "assistant":
            return _turn(item.get("content"))
        if item.get("type") == "tool_result":
            only(item, _BLOCKS["tool_result"], "messages: a tool_result", "messages")
            told, failed = text_of(item.get("content"), "tool_result", "messages"), flag(item, "is_error")
            message: Message = {
                "role": "tool",
                "content": _ERROR + told if failed else told,  # templates have no other place for it
                "tool_call_id": name_of(item.get("tool_use_id"), "tool_use_id", "messages"),
            }
            return message | ({"is_error": True} if failed else {})
        return {"role": item["role"], "content": text_of(item.get("content"), f"{item['role']} message", "messages")}

    def reply(self, asked: CallRequest, reply: Reply, engine: EngineIdentity) -> dict[str, Any]:
        """The whole, non-streamed response body."""
        return message_body(asked, reply, engine.model)

    def events(self, asked: CallRequest, turn_id: str, engine: EngineIdentity) -> MessagesEvents:
        """The reply to `asked`, streamed."""
        return MessagesEvents(asked, turn_id, engine.model)

    def error(self, status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
        """Anthropic's error object."""
        return error_body(status, code, message, param)


def _bare(content: Any) -> Any:
    """Content without cache marks, which move from message to message as a history grows."""
    if not isinstance(content, list) or not any(isinstance(b, dict) and "cache_control" in b for b in content):
        return content
    return [{k: v for k, v in b.items() if k != "cache_control"} if isinstance(b, dict) else b for b in content]


def _system(given: Any) -> Iterator[dict[str, Any]]:
    """The system prompt as the first item, where there is one."""
    blocks = [given] if isinstance(given, str) else list_of(given, "system")
    texts = [text_of([block] if isinstance(block, dict) else block, "system prompt", "system") for block in blocks]
    if kept := [text for text in texts if text and not text.startswith(_BOOKKEEPING)]:
        yield {"role": "system", "content": "\n".join(kept)}


def _history(messages: Any) -> list[Any]:
    """One item per canonical message: tool results are apart."""
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        invalid("messages", "messages is not a non-empty list of objects")
    items: list[Any] = []
    for i, message in enumerate(messages):
        role, content = message.get("role"), _bare(message.get("content"))
        if role not in ("system", "user", "assistant"):
            invalid("messages", f"messages[{i}]: role {shown(role)} is not known: use user, assistant or system")
        only(message, _MESSAGE, f"messages[{i}]", "messages")
        if role == "user" and isinstance(content, list):
            items.extend(_parts(content))
        else:
            items.append({"role": role, "content": content})
    return items


def _parts(content: list[Any]) -> Iterator[dict[str, Any]]:
    """Tool results, and what stands between them, in order."""
    run: list[Any] = []
    for block in content:
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            run.append(block)
            continue
        if run:
            yield {"role": "user", "content": run}
            run = []
        yield {**block, "content": _bare(block.get("content"))}
    if run or not content:
        yield {"role": "user", "content": run}


def _turn(content: Any) -> Message:
    """An assistant's blocks as one message."""
    prose, thoughts, calls = [], [], []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content, "messages")
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in _BLOCKS:
            only(block, _BLOCKS[kind], f"messages: a {kind} block", "messages")
        if kind == "thinking":
            thoughts.append(name_of(block.get("thinking"), "thinking", "messages"))
        elif kind == "tool_use":
            calls.append(_call(block))
        elif kind != "redacted_thinking":
            prose.append(text_of([block], "assistant message", "messages"))
    told: Message = {"role": "assistant", "content": "\n".join(prose)}
    if reasoning := "\n".join(filter(None, thoughts)):
        told["reasoning"] = reasoning
    if calls:
        told["tool_calls"] = calls
    return told


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    given = block.get("input")
    if isinstance(given, dict) and given.keys() == {MALFORMED}:
        call = call_of(block.get("id"), block.get("name"), {}, "messages")
        raw = name_of(given[MALFORMED], MALFORMED, "messages")
        return call | {"raw": raw, "invalid": "told as malformed"}
    return call_of(block.get("id"), block.get("name"), given, "messages")


def _tools(given: list[Any]) -> list[dict[str, Any]]:
    if not all(isinstance(tool, dict) for tool in given):
        invalid("tools", "tools is not a list of objects")
    return [_tool(tool, f"tools[{i}]") for i, tool in enumerate(given)]


def _tool(tool: Mapping[str, Any], where: str) -> dict[str, Any]:
    if tool.get("type") not in (None, "custom"):
        refuse("tools", f"{where} of type {shown(tool['type'])} has no schema to show to this model: use a custom tool")
    return function_tool(tool, "input_schema", where)


def _forced(choice: Any, tools: list[dict[str, Any]]) -> str | None:
    if choice is None:
        return None
    if not isinstance(choice, dict):
        invalid("tool_choice", "tool_choice is not an object")
    parallel_calls(not choice.get("disable_parallel_tool_use"), "tool_choice", tools)
    kind = "required" if choice.get("type") == "any" else choice.get("type")
    forced = forced_tool(kind, choice.get("name"), tools, choice)
    known = ("type", "disable_parallel_tool_use", *(("name",) if kind == "tool" else ()))
    only(choice, known, "tool_choice", "tool_choice")
    return forced


def _check_context(wanted: Mapping[str, Any]) -> None:
    """Raises Refusal where the history would have to be edited here: the client does that, and declares it."""
    only(wanted, ("edits",), "context_management", "context_management")
    for edit in list_of(wanted.get("edits"), "context_management"):
        if not isinstance(edit, dict) or edit.get("type") != "clear_thinking_20251015" or edit.get("keep") != "all":
            text = f"context_management edit {shown(edit)} cannot be honoured: prune in the client and declare it"
            refuse("context_management", text)
        only(edit, ("type", "keep"), "context_management", "context_management")


def _structure(wanted: Mapping[str, Any]) -> Structure | None:
    """What `output_config` asks for. Raises Refusal."""
    for name, value in wanted.items():
        if name != "format" and value is not None:
            remedy = "leave it out (Claude Code: CLAUDE_CODE_EFFORT_LEVEL=unset)"
            refuse("output_config", f"output_config.{named(name)}={shown(value)} cannot be honoured: {remedy}")
    return structure_of(wanted.get("format"), "output_config")


def _shows_reasoning(wanted: Mapping[str, Any]) -> bool:
    """Whether thinking blocks carry their text. Raises Refusal where the policy would have to think otherwise."""
    for name, value in wanted.items():
        if name not in ("type", "display") and value is not None:
            refuse("thinking", f"thinking.{named(name)}={shown(value)} cannot be honoured: leave it out")
    if wanted.get("display") not in (None, "summarized", "omitted"):
        refuse("thinking", f"thinking.display={shown(wanted['display'])} is not known: use summarized or omitted")
    if wanted.get("type") != "adaptive":
        raise Refusal(
            400,
            "unsupported_parameter",
            f"thinking={shown(wanted)} cannot be honoured: how long this policy thinks is its own affair "
            '(use {"type": "adaptive"})',
            "thinking",
        )
    return wanted.get("display") != "omitted"
