"""Each dialect's own spelling of a conversation is read as that conversation, and stays so as it grows."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.capture.dialects.base import Dialect
from journeyman.capture.dialects.chat import ChatDialect
from journeyman.capture.dialects.messages import MessagesDialect
from journeyman.capture.dialects.responses import ResponsesDialect
from journeyman.capture.messages import INSTRUCTIONS
from journeyman.records.episode import Sampling
from journeyman.tokens.base import Message

TEXT = st.text(max_size=12)
WORDS = st.text(min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(WORDS, VALUES, max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["read", "write"]), ARGUMENTS), max_size=3)
ROUNDS = st.lists(st.tuples(WORDS, TEXT, WORDS, CALLS), min_size=1, max_size=4)  # user, reasoning, prose, calls


def _history(system: str, rounds: list[tuple[str, str, str, list[tuple[str, dict[str, Any]]]]]) -> list[Message]:
    """Canonical messages: a user speaks, the assistant answers and calls, every call has its result; a user ends it."""
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for n, (user, reasoning, prose, calls) in enumerate(rounds):
        messages.append({"role": "user", "content": user})
        turn: Message = {"role": "assistant", "content": prose}
        if reasoning:
            turn["reasoning"] = reasoning
        made = [
            {"id": f"c{n}_{i}", "name": name, "arguments": given, "raw": json.dumps(given)}
            for i, (name, given) in enumerate(calls)
        ]
        if made:
            turn["tool_calls"] = made
        messages.append(turn)
        messages += [{"role": "tool", "tool_call_id": c["id"], "content": f"result {c['id']}"} for c in made]
    return [*messages, {"role": "user", "content": "go on"}]


def _chat(messages: list[Message]) -> dict[str, Any]:
    told = []
    for m in messages:
        if m["role"] != "assistant":
            told.append(m)
            continue
        calls = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["raw"]}}
            for c in m.get("tool_calls", ())
        ]
        more = {"tool_calls": calls} if calls else {}
        told.append({"role": "assistant", "content": m["content"], "reasoning_content": m.get("reasoning"), **more})
    return {"messages": told}


def _responses(messages: list[Message]) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    lead = messages[0]["content"] if messages[0]["role"] == "system" else None
    for m in messages[lead is not None :]:
        if m["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": m["tool_call_id"], "output": m["content"]})
            continue
        if reasoning := m.get("reasoning"):
            part = {"type": "reasoning_text", "text": reasoning}
            items.append({"type": "reasoning", "summary": [], "content": [part]})
        kind = "output_text" if m["role"] == "assistant" else "input_text"
        items.append({"type": "message", "role": m["role"], "content": [{"type": kind, "text": m["content"]}]})
        for c in m.get("tool_calls", ()):
            items.append({"type": "function_call", "call_id": c["id"], "name": c["name"], "arguments": c["raw"]})
    return {"input": items, "instructions": lead}


def _messages(messages: list[Message]) -> dict[str, Any]:
    told: list[dict[str, Any]] = []
    lead = messages[0]["content"] if messages[0]["role"] == "system" else None
    for m in messages[lead is not None :]:
        if m["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": m["tool_call_id"], "content": m["content"]}
            if told[-1]["role"] == "user":
                told[-1]["content"].append(block)
            else:
                told.append({"role": "user", "content": [block]})
            continue
        blocks: list[dict[str, Any]] = []
        if reasoning := m.get("reasoning"):
            blocks.append({"type": "thinking", "thinking": reasoning, "signature": "s"})
        blocks.append({"type": "text", "text": m["content"]})
        for c in m.get("tool_calls", ()):
            blocks.append({"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["arguments"]})
        if told and told[-1]["role"] == m["role"]:
            told[-1]["content"] += blocks
        else:
            told.append({"role": m["role"], "content": blocks})
    return {"messages": told} | ({"system": lead} if lead is not None else {})


SPELLINGS: list[tuple[Dialect, Any]] = [
    (ChatDialect(), _chat),
    (ResponsesDialect(), _responses),
    (MessagesDialect(), _messages),
]


@settings(max_examples=120, deadline=None)
@given(system=TEXT, rounds=ROUNDS)
def test_each_dialects_spelling_of_a_conversation_is_read_as_that_conversation(system: str, rounds: Any) -> None:
    messages = _history(system, rounds)
    for dialect, spell in SPELLINGS:
        body = json.loads(json.dumps(spell(messages)))
        asked = dialect.parse({"model": "m", **body}, Sampling())
        told = [dialect.canonical(item) for item in asked.items]
        assert [{k: v for k, v in m.items() if k != INSTRUCTIONS} for m in told] == messages


@settings(max_examples=60, deadline=None)
@given(system=TEXT, rounds=ROUNDS)
def test_items_stay_what_they_were_as_the_history_grows(system: str, rounds: Any) -> None:
    for dialect, spell in SPELLINGS:
        items = [
            dialect.parse({"model": "m", **spell(_history(system, rounds[:n])[:-1])}, Sampling()).items
            for n in range(1, len(rounds) + 1)
        ]
        for shorter, longer in pairwise(items):
            assert longer[: len(shorter)] == shorter
