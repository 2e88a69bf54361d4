"""T-03 and T-04: what dangles and what is an orphan is cited."""

from pathlib import Path
from typing import Any

import pytest

from journeyman.records.rubric import Rubric
from journeyman.records.task import Requirement, ServiceGrant
from journeyman.tasks.package import initial_state, load_task, plans, public_workspace, write_package
from journeyman.tasks.references import dangling, orphans
from journeyman.tasks.rubric_lint import rubric_faults
from tests.grading.making import RUBRIC, check, criterion, draft


def found(root: Path, **changes: Any) -> tuple[str, ...]:
    directory = write_package(draft(**changes), root)
    reference, negatives, _ = plans(directory)
    files = [p.name for p in public_workspace(directory).iterdir()]
    return dangling(load_task(directory), files, initial_state(directory), (reference, *negatives))


def added(one: Any) -> Rubric:
    return Rubric(criteria=(*RUBRIC.criteria, one))


NESTED = check("all_of", checks=[check("not_", check=check("file_exists", path="z"))])
UNSEEN = criterion("x", 1, check("file_exists", path="out.txt")).model_copy(update={"evidence": ("n.txt",)})
NO_SERVICE = criterion("x", 1, check("service_rows", service="wms", table="t"))
READS_ONLY = draft().reference.model_copy(update={"steps": draft().reference.steps[:1]})


def test_a_whole_task_has_nothing_dangling(tmp_path: Path) -> None:
    assert found(tmp_path) == ()
    assert orphans(load_task(tmp_path / "tiny")) == ()
    assert rubric_faults(RUBRIC) == tuple(
        f"criterion {c.id} is too short to be a proposition: {c.proposition!r}" for c in RUBRIC.criteria
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"instruction": "Read memo.txt and old/budget.xlsx, write out.txt."}, "instruction names old/budget.xlsx"),
        ({"files": {}}, "instruction names memo.txt"),
        ({"rubric": added(criterion("x", 1, check("file_exists", path="other.md")))}, "criterion x checks other.md"),
        ({"rubric": added(criterion("x", 1, NESTED))}, "criterion x checks z"),
        ({"rubric": added(NO_SERVICE)}, "service wms, which is not"),
        ({"rubric": added(UNSEEN)}, "rests on n.txt"),
        ({"reference": READS_ONLY}, "criterion basis checks"),
    ],
)
def test_what_is_referred_to_and_is_not_there_is_cited(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    if "reference" in changes:
        changes["metadata"] = draft().metadata.model_copy(update={"deliverables": ()})
    assert any(says in line for line in found(tmp_path, **changes)), found(tmp_path / "again", **changes)


def test_a_revoked_tool_is_cited(tmp_path: Path) -> None:
    call = draft().reference.steps[0].calls[0].model_copy(update={"tool": "wms__get_order"})
    step = draft().reference.steps[0].model_copy(update={"calls": (call,)})
    reference = draft().reference.model_copy(update={"steps": (step, *draft().reference.steps[1:])})
    granted = ServiceGrant(service="wms", actor="supervisor", tools=("get_order",))
    revoked = granted.model_copy(update={"tools": ("get_capacity",)})
    kept = {"reference": reference, "state": {"wms": {}}}
    assert found(tmp_path / "a", services=(granted,), **kept) == ()
    assert found(tmp_path / "b", services=(revoked,), **kept) == (
        "plan reference calls wms__get_order, which is not granted",
    )


def test_orphans_are_reported_both_ways(tmp_path: Path) -> None:
    ungrounded = criterion("x", 1, check("file_exists", path="out.txt")).model_copy(update={"requirement": "r9"})
    task = load_task(write_package(draft(rubric=added(ungrounded)), tmp_path / "a"))
    assert orphans(task) == ("criterion x is justified by requirement 'r9', which the task does not have",)
    two = (*draft().requirements, Requirement(id="r2", text="Also send it."))
    task = load_task(write_package(draft(requirements=two), tmp_path / "b"))
    assert orphans(task) == ("requirement r2 is not graded by any criterion",)


def test_rubric_lint_names_weights_wording_and_duplicates() -> None:
    base = criterion("a", 1, check("file_exists", path="o"), "The file is there.")
    cases = {
        "has weight 0.0": base.model_copy(update={"id": "b", "weight": 0.0}),
        "too short": base.model_copy(update={"id": "b", "proposition": "Good."}),
        "names no evidence": base.model_copy(update={"id": "b", "evidence": ()}),
        "repeats the proposition of a": base.model_copy(update={"id": "b"}),
        "is decided exactly like a": base.model_copy(update={"id": "b", "proposition": "Something else entirely."}),
    }
    assert rubric_faults(Rubric(criteria=(base,))) == ()
    for says, other in cases.items():
        assert any(says in line for line in rubric_faults(Rubric(criteria=(base, other)))), says
    assert rubric_faults(Rubric(criteria=(base.model_copy(update={"weight": -1.0}),)))
