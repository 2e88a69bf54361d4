"""One fixture per gate trips exactly that gate, with a reason; a whole task passes all of them (E-10, T-06, G-07)."""

from pathlib import Path
from typing import Any

import pytest

from journeyman.admission.decide import admit, admit_all
from journeyman.admission.funnel import funnel
from journeyman.admission.gates import GATES, gate
from journeyman.errors import UserError
from journeyman.records.grade import Grade
from journeyman.records.outcome import Quarantined
from journeyman.records.rubric import Rubric
from journeyman.records.task import Plan, PlanStep, Requirement, ServiceGrant, ToolCall
from journeyman.tasks.draft import PackageFile
from journeyman.tasks.package import write_package
from tests.admission.executing import InProcess
from tests.grading.making import check, criterion, draft

RUBRIC = Rubric(
    criteria=(
        criterion("basis", 10, check("field_equals", path="out.txt", key="basis", value="v7"), "The basis is v7."),
        criterion(
            "ebitda", 5, check("number_near", path="out.txt", label="EBITDA", value=42.5), "The EBITDA is 42.5 million."
        ),
        criterion("stale", -8, check("text_contains", path="out.txt", any=["v5"]), "The memo rests on version five."),
    )
)


def writing(name: str, content: str, kind: str = "negative") -> Plan:
    call = ToolCall(tool="write", arguments={"file_path": "out.txt", "content": content})
    return Plan(name=name, kind=kind, steps=(PlanStep(calls=(call,)), PlanStep(text="Done.")))  # type: ignore[arg-type]


NEGATIVES = (
    writing("stale", "basis: v5\n"),
    writing("half", "basis: v7\n"),
    Plan(name="claim", kind="negative", steps=(PlanStep(text="I wrote out.txt, everything is done."),)),
)


def make(root: Path, **changes: Any) -> Path:
    memo = {"memo.txt": PackageFile(b"The board took v7. Its EBITDA is 42.5 in millions. Older: v5 with 41.\n")}
    fields = {"rubric": RUBRIC, "negatives": NEGATIVES, "files": memo} | changes
    return write_package(draft(**fields), root)


def with_criterion(one: Any) -> Rubric:
    return Rubric(criteria=(*RUBRIC.criteria, one))


async def test_a_whole_task_passes_every_gate_in_order_and_each_plan_runs_once(tmp_path: Path) -> None:
    execute = InProcess(tmp_path / "runs")
    admission = await admit(make(tmp_path), execute)
    assert admission.admitted
    assert [g.gate for g in admission.gates] == list(GATES)
    assert execute.runs == ["admission_no_op", "reference", "stale", "half", "claim"]
    assert admission.gates[-1].figures["half"] == pytest.approx(10 / 15)
    assert admission.gates[-1].figures["stale"] < 0


def _reference_misses() -> dict[str, Any]:
    return {"reference": writing("reference", "basis: v7\nEBITDA: 41\n", kind="reference")}


def _hidden_identifier() -> dict[str, Any]:
    call = ToolCall(tool="wms__get_order", arguments={"order_id": "SO-99871"})
    steps = (PlanStep(calls=(call,)), *draft().reference.steps)
    return {
        "reference": draft().reference.model_copy(update={"steps": steps}),
        "services": (ServiceGrant(service="wms", actor="supervisor", tools=("get_order",)),),
        "state": {"wms": {}},
    }


CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown check": (
        "static",
        {"rubric": with_criterion(criterion("x", 1, check("vibes"), "It is very good."))},
        "vibes",
    ),
    "too few negatives": ("static", {"negatives": NEGATIVES[:2]}, "2 negatives, at least 3"),
    "missing file": ("assets", {"instruction": "Read notes.md and write out.txt."}, "notes.md, which is not there"),
    "undiscoverable id": ("visibility", _hidden_identifier(), "'SO-99871'"),
    "criterion in a file": (
        "leakage",
        {"files": {"memo.txt": PackageFile(b"basis v7, EBITDA 42.5.\nThe  EBITDA is 42.5\nmillion.")}},
        "criterion ebitda stands in memo.txt",
    ),
    "answer in the request": (
        "leakage",
        {"instruction": "Copy this to out.txt from memo.txt: basis: v7\nEBITDA: 42.5 million"},
        "deliverable of plan reference stands in instruction",
    ),
    "orphan requirement": (
        "rubric_lint",
        {"requirements": (*draft().requirements, Requirement(id="r2", text="Send it too."))},
        "requirement r2 is not graded",
    ),
    "freebie": (
        "no_op",
        {
            "rubric": with_criterion(
                criterion("kept", 2, check("source_unchanged", path="memo.txt"), "The memo is kept.")
            )
        },
        "doing nothing meets kept (memo.txt: unchanged)",
    ),
    "unsolvable": ("reference", _reference_misses(), "the reference misses ebitda (out.txt: ebitda: 41)"),
    "negative as good": (
        "negatives",
        {"negatives": (*NEGATIVES, writing("twin", "EBITDA: 42.5 million\nbasis: V7 \n"))},
        "negative twin gets 1.000, the reference 1.000",
    ),
}


def test_there_is_a_case_for_every_gate() -> None:
    assert {name for name, _, _ in CASES.values()} == set(GATES)


@pytest.mark.parametrize("case", CASES)
async def test_one_fault_trips_exactly_its_gate(tmp_path: Path, case: str) -> None:
    name, changes, says = CASES[case]
    admission = await admit(make(tmp_path, **changes), InProcess(tmp_path / "runs"))
    assert not admission.admitted
    assert admission.gates[-1].gate == name, admission.gates[-1].reason
    assert says in admission.gates[-1].reason
    assert all(g.passed for g in admission.gates[:-1])


async def test_a_package_changed_by_hand_fails_static(tmp_path: Path) -> None:
    directory = make(tmp_path)
    (directory / "instruction.md").write_text("Anything.")
    admission = await admit(directory, InProcess(tmp_path / "runs"))
    assert (admission.gates[-1].gate, admission.content_digest) == ("static", "")
    assert "changed after it was made" in admission.gates[-1].reason


async def test_a_failure_of_ours_quarantines_the_task_and_is_not_a_verdict_about_it(tmp_path: Path) -> None:
    async def broken(directory: Path, plan: Plan) -> Grade | Quarantined:
        return Quarantined(layer="sandbox", cause="lost")

    admissions = await admit_all([make(tmp_path)], broken)
    assert admissions[0].gates[-1].reason == "quarantined: plan admission_no_op: sandbox: lost"
    counted = funnel(admissions)
    assert (counted.admitted, counted.quarantined) == (0, 1)
    assert counted.gates[-1].failed == 0


async def test_the_funnel_sums_gate_by_gate(tmp_path: Path) -> None:
    made = [make(tmp_path, name=f"t{i}", **changes) for i, (_, changes, _) in enumerate(CASES.values())]
    made += [make(tmp_path, name="good")]
    seen: list[str] = []
    admissions = await admit_all(made, InProcess(tmp_path / "runs"), on_decided=lambda a: seen.append(a.task))
    counted = funnel(admissions)
    assert sorted(seen) == sorted(d.name for d in made)
    assert [a.task for a in admissions] == [d.name for d in made]
    assert counted.raw == len(CASES) + 1
    assert counted.admitted == 1
    entered = counted.raw
    for row in counted.gates:
        assert row.entered == entered == row.passed + row.failed + row.quarantined
        assert sum(row.reasons.values()) == row.failed + row.quarantined
        entered = row.passed
    assert entered == counted.admitted
    assert counted.counts()["leakage"]["failed"] == 2


def test_gates_are_named_or_refused() -> None:
    assert gate("journeyman.admission.gates.static:Static").name == "static"
    with pytest.raises(UserError, match="no gate 'statik'"):
        gate("statik")
    with pytest.raises(UserError, match="cannot be loaded"):
        gate("journeyman.admission.gates.static:Nothing")
