"""Records are frozen, closed, and identified by their canonical bytes; a checked one shows one changed byte."""

import inspect
import json
import pkgutil
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

import journeyman.records
from journeyman.records.base import Record, canonical_json, first_fault
from journeyman.records.episode import EpisodeSpec, Seal
from journeyman.records.grade import Grade, GraderIdentity
from journeyman.records.outcome import Graded, Outcome, Quarantined
from journeyman.records.rubric import Check, Criterion, Judged, Rubric, Verdict
from journeyman.records.sample import Checkpoint

MODULES = [import_module(f"journeyman.records.{m.name}") for m in pkgutil.iter_modules(journeyman.records.__path__)]
KINDS = sorted(
    {kind for m in MODULES for _, kind in inspect.getmembers(m, inspect.isclass) if issubclass(kind, Record)},
    key=lambda kind: kind.__name__,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_record_is_frozen_closed_and_says_what_it_is(kind: type[Record]) -> None:
    assert kind.model_config.get("frozen")
    assert kind.model_config.get("extra") == "forbid"
    assert kind.__doc__


@given(value=values)
def test_canonical_json_reads_back_and_is_stable(value: object) -> None:
    data = canonical_json(value)
    assert json.loads(data) == value
    assert canonical_json(json.loads(data)) == data


def test_numbers_that_are_none_have_no_canonical_form() -> None:
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            canonical_json({"x": bad})


def test_an_outcome_is_one_of_two_and_never_both() -> None:
    read = TypeAdapter(Outcome).validate_python
    assert isinstance(read({"kind": "graded", "reward": 0.5, "reward_name": "rubric.v1", "grade_digest": "d"}), Graded)
    assert isinstance(read({"kind": "quarantined", "layer": "engine", "cause": "died"}), Quarantined)
    for bad in (
        {"kind": "quarantined", "layer": "engine", "cause": "died", "reward": 0.0},
        {"kind": "graded", "reward_name": "rubric.v1", "grade_digest": "d"},
        {"kind": "graded", "reward": None, "reward_name": "rubric.v1", "grade_digest": "d"},
        {"kind": "quarantined", "layer": "policy", "cause": "died"},
    ):
        with pytest.raises(ValidationError):
            read(bad)


GRADE = Grade(
    episode="j/p/t/g/0.0",
    seal_digest="s" * 64,
    grader=GraderIdentity(name="official", checks_version="1", rubric_digest="r" * 64),
    verdicts=(Verdict(criterion="a", met=True, evidence="out.txt: é", source="check"),),
    raw=2.0,
    rewards={"rubric.v1": 1.0, "signed.v1": 1.0},
)
CHECKPOINT = Checkpoint(
    name="rl-v2", version=2, parents=("p" * 64,), step=1, objective="cispo", files={"model.safetensors": "f" * 64}
)


@pytest.mark.parametrize("record", [GRADE, CHECKPOINT], ids=["grade", "checkpoint"])
def test_any_one_flipped_bit_of_a_checked_record_shows(record: Grade | Checkpoint) -> None:
    whole = record.checked().canonical()
    assert type(record).parse(whole).is_what(whole)
    for at in range(len(whole)):
        for bit in (1, 4, 32):
            data = whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
            try:
                read = type(record).parse(data)
            except ValueError:
                continue
            assert not read.is_what(data), (at, bit)


def test_a_record_that_was_never_checked_is_not_what_it_says() -> None:
    assert not GRADE.is_what(GRADE.canonical())


def test_a_seal_is_of_a_known_format() -> None:
    with pytest.raises(ValidationError):
        Seal(format="journeyman-seal-0", files={})  # type: ignore[arg-type]


def criterion(name: str, weight: float) -> Criterion:
    return Criterion(id=name, proposition="p", weight=weight, decide=Check(kind="file_exists"), requirement="r")


def test_a_rubric_has_criteria_whose_ids_are_their_own() -> None:
    for bad in ((), (criterion("a", 1), criterion("a", 2))):
        with pytest.raises(ValidationError):
            Rubric(criteria=bad)
    assert Rubric(criteria=(criterion("a", 2), criterion("b", -5), criterion("c", 1))).positive_weight == 3


def test_a_judged_criterion_and_a_check_are_told_apart() -> None:
    judged = Criterion(
        id="j", proposition="p", weight=1, decide=Judged(deliverables=("out.md",)), requirement="r", evidence=("a",)
    )
    assert isinstance(Criterion.parse(judged.canonical()).decide, Judged)
    assert isinstance(Criterion.parse(criterion("c", 1).canonical()).decide, Check)


def test_every_try_of_an_attempt_has_its_own_place() -> None:
    spec = EpisodeSpec(job="job", policy="rl", task="t", group="g", attempt=3)
    assert spec.id == "job/rl/t/g/3.0"
    assert spec.model_copy(update={"try_": 1}).key == "rl/t/g/3.1"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "seal.json: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ('{"files": {"a": 7}}', "files.a: Input should be a valid string (got 7)"),
        ('{"files": {}, "more": 1}', "more: Extra inputs are not permitted"),
        ("{}", "files: Field required"),
    ],
)
def test_what_reading_a_record_found_wrong_is_one_line_with_its_place(data: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Seal.parse(data)
    assert first_fault(caught.value, "seal.json") == said
