"""What rubrics of cases demand: only sources the right answer is derived from, and figures that a rule makes single."""

from functools import lru_cache

import pytest

from journeyman.worlds.base import WorldDraft
from journeyman.worlds.cases.kind import CaseType
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
