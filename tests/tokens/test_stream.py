"""What is shown while a turn is sampled is always a prefix of what the finished message says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.tokens.template import TemplateRenderer

PIECES = st.sampled_from(
    [
        "hello ",
        "the report",
        "\n",
        "  ",
        "<tool",
        "<tool_call>",
        '{"name": "read", "arguments": {}}',
        "</tool_call>",
        "<think>",
        "</think>",
        "é",
        "日",
        "<",
    ]
)


@pytest.mark.parametrize("family", ["chatml", "thinking", "policy"])
@settings(max_examples=150, deadline=None)
@given(text=st.lists(PIECES, max_size=8).map("".join), sizes=st.integers(1, 5))
def test_shown_prose_is_a_prefix_of_the_finished_message(
    renderers: dict[str, TemplateRenderer], family: str, text: str, sizes: int
) -> None:
    renderer = renderers[family]
    ids = [*renderer.encoder.encode(renderer.encoder.escape(text)), renderer.stop_token_ids[0]]
    stream = renderer.stream()
    shown, thought, late = "", "", ""
    for i in range(0, len(ids), sizes):
        prose = stream.push(ids[i : i + sizes])
        late += stream.reasoning() if shown else ""
        thought += stream.reasoning()
        shown += prose
    message = renderer.parse(ids, ()).message
    assert message["content"].startswith(shown)
    assert message.get("reasoning", "").startswith(thought)
    assert not late
    assert not shown or thought == message.get("reasoning", "")


def test_reasoning_is_shown_as_it_comes(renderers: dict[str, TemplateRenderer]) -> None:
    renderer = renderers["thinking"]
    stream = renderer.stream()
    thoughts = []
    for token in renderer.encoder.encode("<think>\nhello the report\n</think>\n\nyes"):
        stream.push([token])
        thoughts.append(stream.reasoning())
    assert sum(bool(thought) for thought in thoughts) > 1
    assert "".join(thoughts) == "hello the report"


def test_plain_prose_is_shown_as_it_comes(renderer: TemplateRenderer) -> None:
    stream = renderer.stream()
    ids = renderer.encoder.encode("hello the report says yes")
    parts = [stream.push([token]) for token in ids]
    assert sum(bool(part) for part in parts) > 3
    assert "".join(parts) == "hello the report says yes"


def test_nothing_of_a_call_is_shown(renderer: TemplateRenderer) -> None:
    stream = renderer.stream()
    ids = renderer.encoder.encode('Reading.\n<tool_call>\n{"name": "read", "arguments": {}}\n</tool_call>')
    assert "".join(stream.push([token]) for token in ids) == "Reading."


def test_calls_written_with_special_tokens_are_read_and_not_shown(renderers: dict[str, TemplateRenderer]) -> None:
    renderer = renderers["policy"]
    call = {"id": "c", "name": "read", "arguments": {"file_path": "a.txt"}, "raw": ""}
    ids = renderer.assistant({"role": "assistant", "content": "Reading.", "tool_calls": [call]})
    assert renderer.encoder.added["<tool_call>"] in ids
    stream = renderer.stream()
    assert "".join(stream.push([token]) for token in ids) == "Reading."
    assert renderer.parse(ids, ()).message["tool_calls"][0]["arguments"] == {"file_path": "a.txt"}
