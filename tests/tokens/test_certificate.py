"""A certificate names the first invariant a segment breaks."""

from typing import Any

import numpy as np
import pytest

from journeyman.records.turn import Span, Turn
from journeyman.tokens.certificate import Certificate, CertificateError, certify

NAN = float("nan")


def _turn(name: str, start: int, context: int, sampled: int, prompt: int, closing: int = 0, **more: Any) -> Turn:
    end = start + context + sampled
    return Turn(
        turn_id=name,
        run=0,
        segment=0,
        index=0,
        context=Span(start=start, end=start + context),
        sampled=Span(start=start + context, end=end),
        closing=Span(start=end, end=end + closing) if closing else None,
        prompt_tokens=prompt,
        finish_reason="stop",
        **more,
    )


TURNS = [_turn("a", 0, 3, 2, 3, closing=1), _turn("b", 6, 1, 2, 7)]


def _arrays() -> dict[str, Any]:
    return {
        "ids": np.arange(9, dtype=np.int32),
        "mask": np.array([0, 0, 0, 1, 1, 0, 0, 1, 1], dtype=np.uint8),
        "logprobs": np.array([NAN, NAN, NAN, -1, -2, NAN, NAN, 0, -1], dtype=np.float32),
        "versions": np.array([-1, -1, -1, 3, 3, -1, -1, 3, 4], dtype=np.int32),
    }


def _certify(turns: list[Turn] = TURNS, **changes: Any) -> Certificate:
    return certify(0, 0, **(_arrays() | changes), turns=turns)


def test_an_exact_segment_gets_a_certificate_with_its_version_spans() -> None:
    found = _certify()
    assert (found.length, found.sampled, found.turns) == (9, 4, 2)
    assert [(s.start, s.end, s.version) for s in found.versions] == [(3, 5, 3), (7, 8, 3), (8, 9, 4)]


def test_an_empty_segment_is_exact() -> None:
    empty = {k: v[:0] for k, v in _arrays().items()}
    assert certify(0, 0, **empty, turns=[]).length == 0


def _with(name: str, at: int, value: Any) -> dict[str, Any]:
    array = _arrays()[name]
    array[at] = value
    return {name: array}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"mask": np.zeros(8, dtype=np.uint8)}, "lengths"),
        (_with("mask", 0, 1), "mask"),
        (_with("mask", 3, 0), "mask"),
        (_with("mask", 5, 1), "mask"),  # the end marker after a length cut was not sampled
        (_with("logprobs", 0, -1.0), "mask"),
        (_with("versions", 5, 3), "mask"),
        (_with("logprobs", 3, NAN), "logprobs"),
        (_with("logprobs", 3, -np.inf), "logprobs"),
        (_with("logprobs", 3, 0.5), "logprobs"),
        (_with("versions", 3, -1), "versions"),
        (_with("versions", 8, 2), "versions"),
    ],
)
def test_a_broken_array_is_named(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(CertificateError) as caught:
        _certify(**changes)
    assert caught.value.name == name


def test_a_prompt_that_is_not_the_recorded_prefix_is_named() -> None:
    with pytest.raises(CertificateError) as caught:
        _certify([TURNS[0], _turn("b", 6, 1, 2, 8)])
    assert caught.value.name == "prefix"


def test_a_turn_that_sampled_nothing_is_named() -> None:
    with pytest.raises(CertificateError) as caught:
        _certify([_turn("a", 0, 9, 0, 9)])
    assert caught.value.name == "lengths"


def test_scripted_turns_need_neither_log_probs_nor_versions() -> None:
    turns = [_turn("a", 0, 3, 2, 3, closing=1, source="scripted"), _turn("b", 6, 1, 2, 7, source="scripted")]
    found = _certify(turns, logprobs=np.full(9, NAN, np.float32), versions=np.full(9, -1, np.int32))
    assert found.sampled == 4
