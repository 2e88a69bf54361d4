"""Requests of cases: a colleague's words, short in the compact size, that give no answer and defuse no trap."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from journeyman.records.task import Split
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import COUNTS
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type

CASES = sorted(name for name in ENVIRONMENT_TYPES if isinstance(environment_type(name), CaseType))
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")


def cases(name: str, seeds: int = 12) -> Iterator[tuple[CaseType[Any], Any]]:
    """The type and truths of it, of every split."""
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    for split in SPLITS:
        for seed in range(seeds):
            yield kind, kind.truth(seed, split)


def stands(words: str, text: str) -> bool:
    """Whether `words` stand in `text` as whole words."""
    return re.search(rf"(?<![\w.-]){re.escape(words.casefold())}(?![\w-])", text.casefold()) is not None


@pytest.mark.parametrize("name", CASES)
def test_a_request_does_not_name_an_answer_that_is_a_word(name: str) -> None:
    """Which of several words it is, is left open: one that is an answer stands there with another that is not."""
    answers: dict[str, set[str]] = {}
    for kind, truth in cases(name, 40):
        values = kind.right(truth)
        for f in kind.fields:
            answers.setdefault(f.key, set()).add(f.show(values[f.step]))
    for kind, truth in cases(name, 6):
        values = kind.right(truth)
        for request in (kind.compact(truth).instruction, kind.standard(truth).instruction):
            for f in kind.fields:
                right = f.show(values[f.step])
                figure = right.replace(".", "").lstrip("-").rstrip("%").isdigit()
                if figure or len(right) == 1 or not stands(right, request):
                    continue
                assert any(stands(a, request) for a in answers[f.key] - {right}), (f.key, right, request)


@pytest.mark.parametrize("name", CASES)
def test_a_request_does_not_name_what_a_remark_has_to_find_out(name: str) -> None:
    """Words of a remark that are drawn: for instance which cost is not recoverable, which limit binds."""
    drawn: dict[str, set[frozenset[str]]] = {}
    for kind, truth in cases(name, 40):
        for remark in kind.remarks(truth):
            drawn.setdefault(remark.id, set()).add(frozenset(re.findall(r"[\w.-]+", remark.says.casefold())))
    for kind, truth in cases(name, 6):
        request = kind.standard(truth).instruction
        for remark in kind.remarks(truth):
            if len(re.findall(r'"[^"]+"', remark.asks)) > 1:  # all that it may be are given
                continue
            said = frozenset(re.findall(r"[\w.-]+", remark.says.casefold()))
            own = said - frozenset.intersection(*drawn[remark.id]) - set(COUNTS)  # whether it counts is asked
            others = [other - said for other in drawn[remark.id] if other - said]
            told = bool(own) and all(stands(word, request) for word in own)
            assert not told or any(all(stands(w, request) for w in other) for other in others), (remark.id, own)


@pytest.mark.parametrize("name", CASES)
def test_a_compact_request_is_a_few_whole_sentences(name: str) -> None:
    for kind, truth in cases(name):
        request = kind.compact(truth).instruction
        assert len(request.split()) <= 90, request
        sentences = re.split(r"(?<=[.?]) (?=[A-Z])", request)
        assert 4 <= len(sentences) <= 9, sentences
        assert truth.stakeholder.replace("_", " ") in request


@pytest.mark.parametrize("name", CASES)
def test_what_is_asked_for_is_worded_anew_in_every_split(name: str) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    asked = [ask for split in SPLITS for ask in kind.asks[split]]
    assert len(set(asked)) == len(asked)
    for ask in asked:
        assert re.fullmatch(r"[A-Z{].*[.?]", ask), ask
        assert len(ask.split()) >= 5, ask
