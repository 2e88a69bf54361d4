"""Whatever JSON a client sends is read or refused by name: nothing it says becomes a failure of ours."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from journeyman.capture.dialects.base import Dialect, Refusal
from journeyman.capture.dialects.body import json_body
from journeyman.capture.dialects.chat import ChatDialect
from journeyman.capture.dialects.messages import MessagesDialect
from journeyman.capture.dialects.parameters import check_engine
from journeyman.capture.dialects.responses import ResponsesDialect
from journeyman.engines.base import EngineIdentity, SamplingLimits
from journeyman.engines.scripted import SeededEngine
from journeyman.errors import EngineFailure
from journeyman.records.episode import Sampling
from journeyman.tokens.template import TemplateRenderer

from .speakers import room
from .test_dialects_wire import _post

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
FUNCTION = {"name": "read", "description": "d", "parameters": SCHEMA}


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}
BODIES: list[tuple[Dialect, dict[str, Any]]] = [
    (
        ChatDialect(),
        {
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "u"}]},
                {"role": "assistant", "content": "a", "reasoning_content": "r", "refusal": "no", "tool_calls": [CALL]},
                {"role": "tool", "content": "t", "tool_call_id": "c"},
            ],
            "tools": [{"type": "function", "function": FUNCTION}],
            "tool_choice": {"type": "function", "function": {"name": "read"}},
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
            **{"stream": True, "seed": 1, "temperature": 0.5, "top_p": 0.5, "top_k": 5, "max_tokens": 9},
            **{"n": 1, "stop": [], "logit_bias": {}, "parallel_tool_calls": True, "metadata": {"a": "b"}},
        },
    ),
    (
        ResponsesDialect(),
        {
            "instructions": "s",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "u"}]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "r"}], "content": []},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
                {"type": "function_call", "call_id": "c", "namespace": "n", "name": "read", "arguments": "{}"},
                {"type": "custom_tool_call", "call_id": "d", "name": "read", "input": "x"},
                {"type": "function_call_output", "call_id": "c", "output": "t"},
            ],
            "tools": [
                {"type": "function", "name": "read", "description": "d", "parameters": SCHEMA},
                {"type": "namespace", "name": "n", "tools": [{"type": "function", **FUNCTION}]},
            ],
            "tool_choice": {"type": "function", "namespace": "n", "name": "read"},
            "text": {"format": {"type": "json_schema", "schema": SCHEMA}, "verbosity": "medium"},
            "reasoning": {"summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "previous_response_id": "resp_x",
            **{"stream": True, "stream_options": {}, "max_output_tokens": 9, "metadata": {}, "truncation": "disabled"},
        },
    ),
    (
        MessagesDialect(),
        {
            "system": [{"type": "text", "text": "s"}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "u", "cache_control": {"type": "ephemeral"}}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "r", "signature": "s"},
                        {"type": "text", "text": "a"},
                        {"type": "tool_use", "id": "c", "name": "read", "input": {"a": 1}},
                        {"type": "tool_use", "id": "d", "name": "read", "input": {"__malformed_call__": "{"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "t", "is_error": True}],
                },
            ],
            "tools": [{"name": "read", "description": "d", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": "read", "disable_parallel_tool_use": False},
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            **{"max_tokens": 9, "stream": True, "metadata": {}, "stop_sequences": []},
        },
    ),
]
WRONG: list[Any] = [None, True, 0, -1, 1.5, "x", "", [], [5], [["x"]], {}, {"a": 1}, {"type": ["x"]}, _nested(200)]
WRONG += [{"type": "function"}, {"type": "json_schema", "json_schema": 5}, {"type": "text", "text": 5}, 1 << 70]


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*at, key))


def _put(body: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made: Any = copy.deepcopy(body)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return dict(made)


@pytest.mark.parametrize(("dialect", "body"), BODIES, ids=["chat", "responses", "messages"])
def test_any_value_in_any_place_is_read_or_refused_by_name(dialect: Dialect, body: dict[str, Any]) -> None:
    assert len([dialect.canonical(item) for item in dialect.parse(body, Sampling()).items if item]) >= 3
    refused: list[tuple[Any, ...]] = []
    for at in _places(body):
        for value in WRONG:
            try:
                asked = dialect.parse(_put(body, at, value), Sampling())
                told = [dialect.canonical(item) for item in asked.items]
            except Refusal as refusal:
                refused.append((refusal.status, refusal.param, at, value))
                continue
            assert all(isinstance(message["content"], str) for message in told), (at, value)
            assert json.dumps([told, asked.tools], allow_nan=False).encode()
    assert not [one for one in refused if one[0] != 400 or one[1] is None]
    assert len(refused) > 200


@pytest.mark.parametrize("half", [b"\\ud83d", b"\\uDE00", b"\\ud83d\\ud83d", b"\xed\xa0\xbd"])
def test_half_of_a_surrogate_pair_is_read_as_every_encoder_writes_it(half: bytes) -> None:
    body = json_body(b'{"a' + half + b'": ["x ' + half + b' y", "\\ud83d\\ude00 \\\\ud83d"]}')
    ((key, (said, whole)),) = body.items()
    assert key[0] == "a"
    assert set(key[1:]) == {"�"}
    assert said == f"x {key[1:]} y"
    assert whole == "\U0001f600 \\ud83d"


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"{", b'{"a": NaN}', b'{"a": 1e999}', b"[" * 100_000, b'"\x00"'])
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        json_body(raw)
    assert (caught.value.status, caught.value.code) == (400, "invalid_json")


FREE = frozenset({"parameters", "input_schema", "schema", "input", "cache_control"})  # whatever a client puts there


def _read(dialect: Dialect, body: dict[str, Any]) -> list[Any]:
    return [dialect.canonical(item) for item in dialect.parse(body, Sampling()).items]


@pytest.mark.parametrize(("dialect", "body"), BODIES, ids=["chat", "responses", "messages"])
def test_a_field_that_is_not_known_is_refused_by_name_wherever_it_stands(
    dialect: Dialect, body: dict[str, Any]
) -> None:
    objects = [at for at in _places(body) if not FREE & set(at[1:]) and at[0] not in ("metadata", "logit_bias")]
    tried = 0
    for at in ((), *objects):
        inner: Any = body
        for key in at:
            inner = inner[key]
        if not isinstance(inner, dict):
            continue
        tried += 1
        with pytest.raises(Refusal, match="brand_new") as caught:
            _read(dialect, _put(body, (*at, "brand_new"), 1))
        assert (caught.value.status, bool(caught.value.param)) == (400, True), at
        if at and at[0] != "thinking":
            assert _read(dialect, _put(body, (*at, "brand_new"), None)) == _read(dialect, body)
    assert tried > 10


USER, CHAT = {"role": "user", "content": "x"}, ChatDialect()
TOLD = [USER, {"role": "assistant", "content": "a"}]
SAID_TOO: list[tuple[Dialect, dict[str, Any], dict[str, Any], str]] = [
    *[
        (CHAT, {"messages": [*TOLD, {"role": role, "content": "x"}]}, {word: value}, word)
        for role in ("system", "user", "tool")
        for word, value in (("reasoning_content", "r"), ("refusal", "no"), ("tool_calls", [CALL]))
    ],
    *[
        (dialect, {history: [dict(USER)]}, {"name": "alice"}, "name")
        for dialect, history in ((CHAT, "messages"), (ResponsesDialect(), "input"), (MessagesDialect(), "messages"))
    ],
    (CHAT, {"messages": [dict(USER)]}, {"tool_call_id": "c"}, "tool_call_id"),
    (CHAT, {"messages": TOLD}, {"name": "alice"}, "name"),
    (CHAT, {"messages": TOLD}, {"function_call": {"name": "f"}}, "function_call"),
    (CHAT, {"messages": TOLD}, {"audio": {"id": "a"}}, "audio"),
    (CHAT, {"messages": [USER, {**TOLD[1], "reasoning_content": "one"}]}, {"reasoning": "two"}, "reasoning="),
    (
        ResponsesDialect(),
        {"input": [USER, {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "t"}]}]},
        {"summary": [{"type": "summary_text", "text": "lost"}]},
        "summary",
    ),
    *[
        (ResponsesDialect(), {"input": "x", "tools": [{"type": "function", "name": "f"}]}, {word: value}, word)
        for word, value in (("defer_loading", True), ("output_schema", SCHEMA), ("allowed_callers", ["code"]))
    ],
]


@pytest.mark.parametrize(
    ("dialect", "body", "more", "word"), SAID_TOO, ids=[f"{i}-{word}" for i, (*_, word) in enumerate(SAID_TOO)]
)
def test_what_is_said_that_cannot_be_shown_is_refused(
    dialect: Dialect, body: dict[str, Any], more: dict[str, Any], word: str
) -> None:
    last = next(key for key in ("tools", "messages", "input") if key in body)
    said = {**body, last: [*body[last][:-1], {**body[last][-1], **more}]}
    with pytest.raises(Refusal, match=word) as caught:
        _read(dialect, said)
    assert (caught.value.status, caught.value.param) == (400, last)
    empty = {**body, last: [*body[last][:-1], {**body[last][-1], **dict.fromkeys(more)}]}
    assert _read(dialect, empty) == _read(dialect, body)


def test_two_names_of_one_number_say_the_same_or_are_refused() -> None:
    body = {"messages": [USER], "max_tokens": 5}
    assert CHAT.parse({**body, "max_completion_tokens": 5}, Sampling()).sampling.max_tokens == 5
    with pytest.raises(Refusal, match="max_completion_tokens=40 beside max_tokens=5") as caught:
        CHAT.parse({**body, "max_completion_tokens": 40}, Sampling())
    assert caught.value.param == "max_completion_tokens"


def test_what_is_said_of_a_namespace_is_shown_once() -> None:
    tools = [{"type": "function", "name": name, "description": name} for name in ("a", "b")]
    space = {"type": "namespace", "name": "n", "description": "files of the user", "tools": tools}
    asked = ResponsesDialect().parse({"input": "x", "tools": [space]}, Sampling())
    told = [tool["function"]["description"] for tool in asked.tools]
    assert told == ["About the tools n__*: files of the user\n\na", "b"]


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"properties": 7}, "properties=7"),
        ({"properties": {"x": 3}}, "properties.x=3"),
        ({"type": 7}, "type=7"),
        ({"type": ["string", 7]}, "type="),
        ({"required": "x"}, 'required="x"'),
        ({"required": [7]}, "required="),
        ({"properties": {"x": {"items": {"anyOf": [{"enum": 1}]}}}}, "properties.x.items.anyOf[0].enum=1"),
        ({"properties": {"x\ny": {"description": 1}}}, "properties.x\\ny.description=1"),
    ],
)
def test_a_schema_that_is_none_is_the_tools_fault(schema: dict[str, Any], where: str) -> None:
    for dialect, body, name in (
        (CHAT, {"messages": [USER], "tools": [{"type": "function", "function": {"name": "f"}}]}, "parameters"),
        (ResponsesDialect(), {"input": "x", "tools": [{"type": "function", "name": "f"}]}, "parameters"),
        (MessagesDialect(), {"messages": [USER], "tools": [{"name": "f"}]}, "input_schema"),
    ):
        tool: Any = copy.deepcopy(body["tools"][0])
        assert dialect.parse(body, Sampling()).tools[0]["function"]["parameters"] == {
            "type": "object",
            "properties": {},
        }
        tool.get("function", tool)[name] = schema
        with pytest.raises(Refusal) as caught:
            dialect.parse({**body, "tools": [tool]}, Sampling())
        assert caught.value.param == "tools"
        assert f"tools[0].{name}.{where}" in caught.value.message


@pytest.mark.parametrize("name", ["x\ny", "a" * 5000, "\u2028\x7f\t"])
def test_a_refusal_is_one_short_line_whatever_the_client_wrote(name: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", name: 1}}
    for body in (
        {name: 1},
        {"messages": [{"role": name}]},
        {"messages": [{**USER, name: 1}]},
        {"messages": [{"role": "user", "content": [{"type": name}]}]},
        {"messages": [USER, {"role": "assistant", "tool_calls": [call]}]},
        {"stream_options": {name: 1}},
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": name}},
    ):
        with pytest.raises(Refusal) as caught:
            _read(CHAT, {"messages": [USER], **body})
        assert caught.value.message.isprintable()
        assert len(caught.value.message) < 400
        assert len(caught.value.param or "") <= 80
        assert caught.value.param is None or caught.value.param.isprintable()


def test_an_integer_of_more_digits_than_are_read_is_refused_with_its_length() -> None:
    with pytest.raises(Refusal, match="an integer of 5000 digits is out of range: use at most 4300"):
        json_body(b'{"seed": ' + b"9" * 5000 + b"}")


def test_what_a_message_says_besides_its_content_is_shown() -> None:
    refused = ChatDialect().canonical({"role": "assistant", "content": None, "refusal": "I will not"})
    assert refused["content"] == "I will not"
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "content": []}
    assert ResponsesDialect().canonical([thought])["reasoning"] == "hm"
    failed = {"type": "tool_result", "tool_use_id": "c", "content": "no such file", "is_error": True}
    assert MessagesDialect().canonical(failed)["content"] == "Error: no such file"


@pytest.mark.parametrize(
    ("dialect", "param", "value"),
    [
        (dialect, param, value)
        for dialect, _ in BODIES
        for param, value in (
            *(("seed", seed) for seed in (-1, 1 << 63, True, 1.5)),
            *(("top_p", p) for p in (0, -0.5, 1.5)),
            *(("temperature", t) for t in (-1, 1e-30, 11, "hot")),
            ("top_k", 1 << 31),
        )
    ]
    + [
        (ChatDialect(), "stream_options", {"bogus": 1}),
        (MessagesDialect(), "thinking", {"type": "adaptive", "display": "weird"}),
        (MessagesDialect(), "thinking", {"type": "adaptive", "bogus": 1}),
    ],
)
def test_a_value_that_no_engine_has_is_refused_by_name(dialect: Dialect, param: str, value: Any) -> None:
    history = "input" if isinstance(dialect, ResponsesDialect) else "messages"
    with pytest.raises(Refusal) as caught:
        dialect.parse({history: [{"role": "user", "content": "x"}], param: value}, Sampling())
    assert caught.value.param == param
    assert "e+" not in caught.value.message


LIMITS = [
    (SamplingLimits(tempered=False, truncated="never"), {"temperature": 0.7}, "temperature"),
    (SamplingLimits(tempered=False, truncated="never"), {"top_p": 0.9}, "top_p"),
    (SamplingLimits(tempered=False, truncated="never"), {"top_k": 9}, "top_k"),
    (SamplingLimits(truncated="by_top_k", top_k=32), {"top_p": 0.9}, "top_p"),
    (SamplingLimits(truncated="by_top_k", top_k=32), {"top_k": 33}, "top_k"),
    (SamplingLimits(top_k=0), {"top_k": 9}, "top_k"),
    (SamplingLimits(truncated="by_top_k", top_k=32), {"top_p": 0.9, "top_k": 32}, ""),
    (SamplingLimits(tempered=False, truncated="never"), {"top_p": 0.9, "temperature": 0}, ""),
    (SamplingLimits(), {"top_p": 0.9, "top_k": 9, "temperature": 2}, ""),
]


@pytest.mark.parametrize(("limits", "body", "param"), LIMITS)
def test_a_distribution_that_the_engine_does_not_report_is_refused_before_the_stream(
    limits: SamplingLimits, body: dict[str, Any], param: str
) -> None:
    engine = EngineIdentity(kind="vllm", model="m", token_exact=True, sampling=limits)
    asked = ChatDialect().parse({"messages": [{"role": "user", "content": "x"}], **body}, Sampling())
    if not param:
        return check_engine(asked, engine, Sampling())
    with pytest.raises(Refusal) as caught:
        check_engine(asked, engine, Sampling())
    assert (caught.value.status, caught.value.param) == (400, param)
    with pytest.raises(EngineFailure):  # the episode's own, which no client can leave out, is ours
        check_engine(asked, engine, asked.sampling)
    return None


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
async def test_a_broken_request_leaves_its_episode_whole(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine, dialect: str
) -> None:
    asked = {"chat": {"stream_options": [1]}, "responses": {"text": "x"}, "messages": {"thinking": "x"}}
    async with room(tmp_path, seeded, renderer) as place:
        for body in (asked[dialect], {"seed": -1}, {"top_p": 0}, {"tools": [{"type": "function", "function": {}}]}):
            status, text = await _post(place, dialect, body)
            assert (status, json.loads(text)["error"]["param"]) == (400, next(iter(body)))
        history = "input" if dialect == "responses" else "messages"
        half = {history: [{"role": "user", "content": "cut \ud83d here"}]}
        keyed = {"Idempotency-Key": '"k-1"'}
        first, again = [await _post(place, dialect, half, keyed) for _ in range(2)]
        assert first == again
        assert first[0] == 200
        assert seeded.calls == 1
        sealed = await place.sealed()
    assert [turn.turn_id for turn in sealed.turns] == ["k-1"]
    assert sealed.turns[0].new_messages[-1]["content"] == "cut � here"
    assert sealed.turns[0].trainable


def test_a_response_says_again_what_was_asked() -> None:
    told = {
        "instructions": "be brief",
        "metadata": {"a": "b"},
        "tool_choice": "required",
        "tools": [{"type": "function", "name": "read", "description": "d", "parameters": SCHEMA}],
    }
    dialect = ResponsesDialect()
    asked = dialect.parse({"input": "x", **told}, Sampling())
    engine = EngineIdentity(kind="seeded", model="m", token_exact=True)
    data = dialect.events(asked, "t", engine).opening(1, 0).split(b"\n")[1]
    response = json.loads(data.removeprefix(b"data: "))["response"]
    assert {name: response[name] for name in told} == told


def test_a_property_of_an_old_draft_that_says_it_is_required_is_taken() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "required": True}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    assert CHAT.parse({"messages": [USER], "tools": [tool]}, Sampling()).tools[0]["function"]["parameters"] == schema
