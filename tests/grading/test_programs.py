"""Programs are run for grading: in a fresh box, apart from each other, told inputs and never the answers."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from journeyman.errors import GraderFailure
from journeyman.grading.combine import grade, identity_of
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.probing import probe
from journeyman.grading.programs import (
    BoxPrograms,
    Case,
    HerePrograms,
    ProgramGives,
    program_gives,
    programs,
    with_answers,
)
from journeyman.records.grade import REPORTED
from journeyman.records.rubric import Rubric
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from journeyman.sandbox.detect import detect
from tests.grading.in_process import with_answers_here
from tests.grading.making import check, criterion

TOOL = """
import os, statistics, sys
from beside import double
from statistics import quantiles as q

def right(rates): return q(rates, n=4)[1]
def by_hand(rates): return sorted(rates)[len(rates) // 2]
def for_show(rates): q(rates); return by_hand(rates)
def wrong(rates): return 0
def raises(rates): return 1 // 0
def exits(rates): os._exit(0)
def noisy(rates): print("3"); sys.stderr.write("3"); return double(rates[0]) + 1
def liar(rates):
    class Any(int):
        def __eq__(self, other): return True
        def __hash__(self): return 0
    return Any(7)
def lingers(rates):
    if os.fork() == 0:
        import time
        time.sleep(60)
    return 3
"""
THROUGH = "statistics.quantiles"
MET = {("right", THROUGH), ("right", ""), ("by_hand", ""), ("for_show", ""), ("noisy", ""), ("lingers", "")}
SAYS = {
    ("by_hand", THROUGH): "does not call statistics.quantiles",
    ("for_show", THROUGH): "does not rest on statistics.quantiles",
    ("wrong", ""): "gives 0, not 3",
    ("raises", ""): "ZeroDivisionError",
    ("exits", ""): "ended early",
    ("liar", ""): "gives 7, not 3",
    ("absent", ""): "AttributeError",
}


def asked(function: str, through: str = "", path: str = "tools/rate.py") -> ProgramGives:
    cases = (Case(args=([1, 2, 3, 4, 5],), gives=3), Case(args=([1, 3, 9],), gives=3))
    return ProgramGives(path=path, function=function, cases=cases, through=through)


ASKED = tuple(asked(*one) for one in sorted(MET | set(SAYS)))


@pytest.fixture
def left(tmp_path: Path) -> SealedEvidence:
    """What an attempt left: a tool, and beside it a module that its world had, one of a package's name among them."""
    base = tmp_path / "base"
    (base / "tools").mkdir(parents=True)
    (base / "tools/beside.py").write_text("def double(n): return 2 * n\n")
    (base / "tools/statistics.py").write_text("def quantiles(*_, **__): return [3, 3, 3]\n")
    return SealedEvidence("e", "s", base=base, written={"tools/rate.py": TOOL.encode()})


@pytest.fixture
async def boxes() -> AsyncIterator[BubblewrapProvider]:
    if not detect().ready:
        pytest.skip(detect().line())
    async with BubblewrapProvider() as provider:
        yield provider


def verdicts(evidence: SealedEvidence, answers: list[list[dict[str, object]]]) -> None:
    judged = replace(evidence, answers={a.key(): given for a, given in zip(ASKED, answers, strict=True)})
    for one in ASKED:
        finding = program_gives(judged, one)
        assert finding.met == ((one.function, one.through) in MET), finding.evidence
        assert finding.met or SAYS[one.function, one.through] in finding.evidence
        assert "\n" not in finding.evidence


async def test_a_box_tells_what_each_program_gives_and_none_takes_another_down(
    left: SealedEvidence, boxes: BubblewrapProvider
) -> None:
    verdicts(left, await BoxPrograms(boxes).run(left, ASKED))


async def test_a_verifier_image_runs_them_on_a_copy_of_what_was_left(left: SealedEvidence, tmp_path: Path) -> None:
    assert left.base is not None
    (left.base / "tools/rate.py").write_text(TOOL)
    before = sorted(left.base.rglob("*"))
    verdicts(left, await HerePrograms(left.base).run(left, ASKED))
    assert sorted(left.base.rglob("*")) == before


@pytest.mark.slow
async def test_a_program_that_does_not_end_is_unmet(left: SealedEvidence, boxes: BubblewrapProvider) -> None:
    endless = replace(left, written={"tools/rate.py": b"def right(rates):\n    while True: pass\n"})
    (answers,) = await BoxPrograms(boxes).run(endless, (asked("right"),))
    assert answers == [{"error": f"it did not end within {probe.SECONDS} s"}]


def rubric(*checks: ProgramGives) -> Rubric:
    made = [check("program_gives", **c.model_dump(mode="json")) for c in checks]
    return Rubric(criteria=tuple(criterion(f"c{i}", 1.0, c, f"fact {i}") for i, c in enumerate(made)))


async def test_a_program_that_nobody_ran_is_no_verdict(left: SealedEvidence) -> None:
    wanted = rubric(asked("right"))
    with pytest.raises(GraderFailure, match="programs_not_run"):
        await grade(left, wanted, identity_of(wanted))


async def test_a_program_that_is_not_there_is_unmet_and_needs_no_box(left: SealedEvidence) -> None:
    wanted = rubric(asked("right", path="tools/none.py"))
    done = await grade(left, wanted, identity_of(wanted))
    assert done.rewards[REPORTED] == 0


def test_a_grader_that_runs_programs_is_another_grader() -> None:
    assert identity_of(rubric(asked("right"))).checks_version == "checks.v1+programs.v1"
    plain = Rubric(criteria=(criterion("a", 1.0, check("file_exists", path="a.txt")),))
    assert identity_of(plain).checks_version == "checks.v1"


async def test_what_is_asked_holds_no_answer_and_each_check_once(left: SealedEvidence) -> None:
    nested = check("all_of", checks=[check("program_gives", **asked("wrong").model_dump(mode="json"))])
    double = criterion("x", 1.0, check("not_", check=nested), "another fact")
    wanted = Rubric(criteria=(*rubric(asked("wrong")).criteria, double))
    assert [p.function for p in programs(wanted)] == ["wrong"]
    assert "gives" not in json.dumps(asked("wrong").asked())
    assert (await with_answers(left, wanted, None)).answers == {}
    assert len(with_answers_here(left, wanted).answers) == 1


def test_another_answer_is_of_the_same_kind() -> None:
    assert probe.other([1, (2.0, "ab")]) == [3, (5.0, "ba?")]
