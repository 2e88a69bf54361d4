"""What rubrics of cases demand: sources the right answer is derived from, figures that a rule makes single, words."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest

from journeyman.admission.denials import DENIAL
from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.text import fold
from journeyman.office.render import render
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import Remark, decimal
from journeyman.worlds.cases.rubric import stated
from journeyman.worlds.families import losses
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type, make_world

CASES = sorted(name for name in ENVIRONMENT_TYPES if isinstance(environment_type(name), CaseType))
SEEDS = range(8)
# type -> (a value of the solution that says which paper holds, that value, the file that is not relied on)
DECOYS = {
    ("law.contract_renewal", "governing", "contract"): "amendment",
    ("operations.service_charge", "holds", "lease"): "survey",
    ("operations.carrier_claim", "governing", "terms"): "agreement",
    ("consulting.survey_reading", "reading", "open"): "wave_before",
    ("consulting.survey_reading", "reading", "shows"): "wave_before",
    ("law.contract_renewal", "verdict", "late"): "proposal",
    ("law.contract_renewal", "verdict", "timely"): "proposal",
    ("law.limitation_date", "extra", 0): "standstill",
    ("law.sanctions_screening", "reach", ()): "holder",
}


@lru_cache(maxsize=256)
def world(name: str, seed: int) -> WorldDraft:
    return make_world(name, seed, "train", "standard")


def relied(draft: WorldDraft) -> set[str]:
    """Files that have to be named for full marks."""
    return set(next(c for c in draft.rubric.criteria if c.id == "basis").evidence)


@pytest.mark.parametrize("name", CASES)
def test_no_file_has_to_be_named_that_no_answer_rests_on(name: str) -> None:
    for seed in range(2):
        draft = world(name, seed)
        credits = [c for c in draft.rubric.criteria if c.weight > 0 and c.id not in {"basis", "addressee"}]
        rested = {path for c in credits for path in c.evidence}
        assert relied(draft) <= rested, sorted(relied(draft) - rested)


@pytest.mark.parametrize(("name", "step", "value"), DECOYS)
def test_a_paper_that_does_not_hold_has_not_to_be_named(name: str, step: str, value: object) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    seeds = [s for s in range(40) if kind.right(kind.truth(s, "train"))[step] == value][:2]
    assert seeds
    for seed in seeds:
        wrong = [path for path in relied(world(name, seed)) if DECOYS[name, step, value] in path]
        assert not wrong, wrong


class Watched(int):
    """A whole number that notes where a division of it leaves a rest."""

    rests: list[tuple[int, int]] = []

    def _of(self, value: object) -> object:
        return Watched(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def __floordiv__(self, other: int) -> "Watched":
        if int(self) % int(other):
            Watched.rests.append((int(self), int(other)))
        return Watched(int(self) // int(other))

    def __rfloordiv__(self, other: int) -> "Watched":
        return Watched(other) // self


def _closed(name: str) -> None:
    def operation(self: Watched, *given: int) -> object:
        return self._of(getattr(int, name)(self, *given))

    setattr(Watched, name, operation)


for _name in ("add", "sub", "mul", "radd", "rsub", "rmul", "neg", "abs", "mod"):
    _closed(f"__{_name}__")


def watched(value: object) -> object:
    """The same value with every whole number in it watched."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Watched(value)
    if isinstance(value, dict):
        return {key: watched(inner) for key, inner in value.items()}
    return tuple(map(watched, value)) if isinstance(value, tuple) else value


def rounded(kind: CaseType[Any], seed: int) -> Iterator[str]:
    """Steps of the right answer to a figure in which a division leaves a rest; dates have months, which are whole."""
    values: dict[str, object] = {name: watched(v) for name, v in kind.facts(kind.truth(seed, "train")).items()}
    for step in kind.derivation.steps:
        Watched.rests.clear()
        values[step.name] = watched(step.compute(*(values[i] for i in step.inputs)))
        if Watched.rests and not isinstance(values[step.name], str):
            yield step.name


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rate_that_a_library_gives_needs_no_rounding(seed: int) -> None:
    kind = environment_type("finance.loan_loss")
    assert isinstance(kind, CaseType)
    right = kind.right(kind.truth(seed, "train"))
    assert right["rate"] == losses.cut_of(right["window"], right["parts"], right["cut"], right["method"])


@pytest.mark.parametrize("name", sorted({*CASES} - {"finance.loan_loss"}))
def test_where_a_figure_is_not_whole_the_request_or_a_document_says_how_it_is_rounded(name: str) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    decimals = {f.step for f in kind.fields if f.show is decimal}
    for seed in SEEDS:
        found = set(rounded(kind, seed))
        if not found:
            continue
        for draft in (make_world(name, seed, "train", "compact"), world(name, seed) if seed < 2 else None):
            if draft is None:
                continue
            texts = [draft.instruction, *(render(path, f.data).plain for path, f in draft.files.items())]
            told = fold(" ".join(texts))
            rest = found - decimals
            assert found == rest or "two decimals" in told, found & decimals
            assert not rest or re.search(r"rounded (down|up|half up)", told), rest


# what a reader of the documents may write in words of his own: type -> sentences that say it
NATURAL = {
    "law.limitation_date": ("The standstill agreement of 8 September 2022 counts, because both parties signed it.",),
    "law.breach_notice": ("Records that are encrypted are not counted.", "We excluded the encrypted records."),
    "finance.three_way_match": ("{rejected} of the {received} {unit} received were rejected.",),
    "consulting.headcount_plan": ("{offered} offers (not yet joined) are not counted.",),
    "operations.service_charge": ("{capital} works are capital and not recoverable.",),
    "consulting.survey_reading": ("Mentions are not respondents.", "A mention is not a person: one may mention two."),
    "finance.dividend_check": ("{binding} of this year are the binding limit.",),
    "finance.debt_capacity": ("The {strict} sets the lower limit.",),
    "operations.batch_release": ("The reading of piece {void} is void and was left out.",),
}


def _values(name: str, truth: Any) -> dict[str, object]:
    if name == "finance.three_way_match":
        return {"rejected": truth.purchase.rejected, "received": truth.purchase.received, "unit": truth.purchase.unit}
    if name == "finance.dividend_check":
        d = truth.dividend
        return {"binding": "Payments under the loan" if d.basket - d.interim < d.reserves else "Free reserves"}
    if name == "finance.debt_capacity":
        multiples = truth.capital.multiples
        return {"strict": "loan agreement" if multiples["loan"] < multiples["bond"] else "indenture"}
    made = {"consulting.headcount_plan": lambda: {"offered": truth.m.entries["offered"]}}
    made["operations.service_charge"] = lambda: {"capital": truth.capital.capitalize()}
    made["operations.batch_release"] = lambda: {"void": truth.made.void}
    return made[name]() if name in made else {}


def met(remark: Remark, text: str) -> bool:
    evidence = SealedEvidence("e", "", written={"out.md": text.encode()})
    return decide(stated(remark, "out.md"), evidence).met


@pytest.mark.parametrize("name", CASES)
def test_a_remark_is_met_by_its_sentence_and_not_by_the_opposite_or_by_both(name: str) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    for seed in SEEDS:
        for remark in kind.remarks(kind.truth(seed, "train")):
            denial = DENIAL.format(remark.says)
            assert met(remark, f"{remark.says}."), remark.says
            assert not met(remark, f"{denial}."), remark.says
            assert not met(remark, f"{remark.says}. {denial}."), remark.says
            assert not met(remark, ", ".join(remark.about[0])), remark.says


@pytest.mark.parametrize("name", NATURAL)
def test_a_remark_is_met_in_natural_words(name: str) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    for seed in SEEDS:
        truth = kind.truth(seed, "train")
        if name == "law.limitation_date" and not truth.c.signed:
            continue
        (remark,) = kind.remarks(truth)
        for sentence in NATURAL[name]:
            said = sentence.format(**_values(name, truth))
            assert met(remark, said), said
