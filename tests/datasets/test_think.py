"""Empty think spans carry no loss: the character vectors of the design, and their ids."""

import pytest

from journeyman.datasets.think import empty_think_chars, empty_think_tokens


@pytest.mark.parametrize(
    ("text", "default", "strict"),
    [
        ("<think>\n\n</think>\n\nHello", 19, 19),
        ("<think>ok</think>\nHello", 0, 0),
        ("Hi <think></think>", 0, 0),
        ("<think>\n</think>\n\n    return x", 22, 18),
    ],
)
def test_vectors_of_masked_characters(text: str, default: int, strict: int) -> None:
    assert empty_think_chars(text) == default
    assert empty_think_chars(text, strict_whitespace=True) == strict


def test_a_tag_opened_by_the_prompt_is_recognised_by_its_end() -> None:
    assert empty_think_chars("</think>\n\nHello", opened=True) == 10


def test_only_ids_wholly_inside_the_span_lose_their_weight() -> None:
    pieces = ["<think>", "\n\n", "</think>", "\n\n", "Hello"]
    assert empty_think_tokens(range(5), lambda ids: "".join(pieces[i] for i in ids)) == 4
    merged = ["<think>", "</think>", "\n\nHel", "lo"]
    assert empty_think_tokens(range(4), lambda ids: "".join(merged[i] for i in ids)) == 2
