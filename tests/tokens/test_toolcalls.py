"""Tool calls read from text: lossless where well-formed, visible with a reason where not."""

import pytest

from journeyman.tokens.toolcalls import read_hermes


def test_raw_arguments_keep_order_and_spacing() -> None:
    raw = '{ "b" : "x\\n  y",  "a":1 }'
    read = read_hermes('Now.\n<tool_call>\n{"name": "write", "arguments": ' + raw + "}\n</tool_call>")
    assert read.content == "Now."
    assert [(c.name, c.arguments, c.raw, c.reason) for c in read.calls] == [("write", {"b": "x\n  y", "a": 1}, raw, "")]


def test_a_string_that_looks_like_a_number_stays_a_string() -> None:
    call = read_hermes('<tool_call>{"name": "r", "arguments": {"id": "123"}}</tool_call>').calls[0]
    assert call.arguments == {"id": "123"}


def test_the_closing_tag_inside_an_argument_does_not_end_the_call() -> None:
    text = '<tool_call>{"name": "w", "arguments": {"c": "a</tool_call>b"}}</tool_call>after'
    read = read_hermes(text)
    assert read.calls[0].arguments == {"c": "a</tool_call>b"}
    assert read.content == "after"


def test_arguments_given_as_a_json_string_are_read() -> None:
    call = read_hermes('<tool_call>{"name": "w", "arguments": "{\\"a\\": 1}"}</tool_call>').calls[0]
    assert (call.arguments, call.raw, call.reason) == ({"a": 1}, '{"a": 1}', "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<tool_call>{name: read}</tool_call>", "not JSON"),
        ('<tool_call>{"name": "read", "arguments": {"a": ', "cut off"),
        ('<tool_call>{"name": "read", "arguments": {}}', "does not follow"),
        ('<tool_call>{"name": "read", "arguments": {}} or so</tool_call>', "does not follow"),
        ('<tool_call>{"arguments": {}}</tool_call>', 'no "name"'),
        ('<tool_call>{"name": "read", "arguments": [1]}</tool_call>', "not a JSON object"),
        ('<tool_call>["read"]</tool_call>', "not a JSON object"),
        ("<tool_call></tool_call>", "not JSON"),
    ],
)
def test_a_malformed_call_is_kept_raw_with_its_reason(text: str, reason: str) -> None:
    (call,) = read_hermes(text).calls
    assert reason in call.reason
    assert call.arguments == {}
    assert call.raw in text


def test_a_malformed_call_does_not_swallow_the_next_one() -> None:
    read = read_hermes('<tool_call>{oops}</tool_call>\n<tool_call>{"name": "b", "arguments": {}}</tool_call>')
    assert [bool(c.reason) for c in read.calls] == [True, False]
