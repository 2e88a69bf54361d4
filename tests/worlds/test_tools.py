"""Types whose work is a program: each fault is told apart, and a package is used or it does not count."""

import pytest

from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.text import fold
from journeyman.records.rubric import Check
from journeyman.records.task import Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.families import losses, replenishment
from journeyman.worlds.families.replenishment import FUNCTIONS
from journeyman.worlds.registry import environment_type, make_world
from journeyman.worlds.types.loan_loss import LoanLoss
from journeyman.worlds.types.replenishment import Restocking
from tests.grading.in_process import with_answers_here
from tests.worlds.play import play

REPAIR, PACKAGE = "operations.replenishment", "finance.loan_loss"
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")
SEEDS = range(6)


def met(draft: WorldDraft, **programs: str) -> set[str]:
    """Criteria on programs that a world with these programs in it meets."""
    files = {path: f.data for path, f in draft.files.items()} | {p: t.encode() for p, t in programs.items()}
    evidence = with_answers_here(SealedEvidence("e", "s", written=files), draft.rubric)
    checks = [c for c in draft.rubric.criteria if "program_gives" in c.decide.model_dump_json()]
    return {c.id for c in checks if isinstance(c.decide, Check) and decide(c.decide, evidence).met}


@pytest.mark.parametrize("split", SPLITS)
def test_each_fault_shows_alone_and_is_gone_when_it_alone_is_mended(split: Split) -> None:
    kind = environment_type(REPAIR)
    assert isinstance(kind, Restocking)
    for seed in SEEDS:
        r, draft = kind.truth(seed, split).r, make_world(REPAIR, seed, split, "compact")
        assert 2 <= len(r.faults) <= 4
        assert met(draft) == set()
        for name in r.faults:
            left = [other for other in r.faults if other != name]
            assert met(draft, **{r.path: replenishment.tool(r, left)}) == {f"repaired_{name}"}
        mended = met(draft, **{r.path: replenishment.tool(r, ())})
        assert mended == {*(f"repaired_{name}" for name in r.faults), "whole"}


def test_every_kind_of_fault_gives_another_answer_on_held_out_inputs() -> None:
    for name, function in FUNCTIONS.items():
        cases = replenishment.held_out("any", name)
        for line in function.wrong:
            assert any(replenishment.worked(name, *given, line=line) != right for given, right in cases), (name, line)


@pytest.mark.parametrize("name", [REPAIR, PACKAGE])
def test_a_request_tells_the_symptom_and_names_no_program(name: str) -> None:
    kind = environment_type(name)
    for size in ("compact", "standard"):
        draft = make_world(name, 3, "heldout", size)  # type: ignore[arg-type]
        asked = fold(draft.instruction)
        for path in kind.programs(kind.truth(3, "heldout")):  # type: ignore[attr-defined]
            assert path not in asked
            assert path.rpartition("/")[2] not in asked
            assert path in draft.files
        assert "def " not in asked


def test_a_function_that_was_right_must_stay_so() -> None:
    kind = environment_type(REPAIR)
    assert isinstance(kind, Restocking)
    seed = next(s for s in range(50) if len(kind.truth(s, "train").r.faults) == 2)
    r = kind.truth(seed, "train").r
    sound = next(name for name in FUNCTIONS if name not in r.faults)
    broken = replenishment.tool(r.model_copy(update={"faults": {**r.faults, sound: "0"}}), (sound,))
    assert "error_regression" in met(make_world(REPAIR, seed, "train", "compact"), **{r.path: broken})


@pytest.mark.parametrize("split", SPLITS)
def test_only_the_package_earns_what_the_package_is_for(split: Split) -> None:
    kind = environment_type(PACKAGE)
    assert isinstance(kind, LoanLoss)
    for seed in SEEDS:
        p, draft = kind.truth(seed, split).p, make_world(PACKAGE, seed, split, "compact")
        assert met(draft) == set()
        assert met(draft, **{p.path: losses.finished(p)}) == {"works", "library"}
        for decorated in (False, True):
            assert met(draft, **{p.path: losses.by_hand(p, decorated=decorated)}) == {"works", "error_bypass"}
        assert met(draft, **{p.path: losses.constant(1)}) == set()


def test_a_package_of_the_same_name_beside_the_tool_is_not_the_package() -> None:
    kind = environment_type(PACKAGE)
    assert isinstance(kind, LoanLoss)
    p, draft = kind.truth(2, "train").p, make_world(PACKAGE, 2, "train", "compact")
    fake = f"def quantiles(rates, n, method):\n    return [{losses.held_out(p, 'train:2')[0][1]}] * n\n"
    assert met(draft, **{p.path: losses.finished(p), "tools/statistics.py": fake}) == {"works", "library"}


@pytest.mark.parametrize("plan", ["bypassed", "called_for_show", "hard_coded"])
def test_shortcuts_around_the_package_lose_a_third_of_the_marks(plan: str) -> None:
    for seed in SEEDS:
        draft = make_world(PACKAGE, seed, "heldout", "compact")
        assert play(draft, next(n for n in draft.negatives if n.name == plan)).reward <= 0.67
