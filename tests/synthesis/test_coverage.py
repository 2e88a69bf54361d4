"""Coverage counts structure: renamings add nothing, levels are told by what changed, the emptiest cell comes next."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.records.task import Plan, PlanStep, ServiceGrant, ToolCall
from journeyman.services.definitions import SERVICES, load_service
from journeyman.synthesis.coverage import AXES, coverage, next_targets, profile, topology, variation_level
from journeyman.tasks.contract import handlers_digest
from journeyman.tasks.draft import PackageFile
from journeyman.tasks.package import load_task, plans
from tests.grading.making import RUBRIC, check, criterion, draft, make_task


def renamed(root: Path, number: int) -> Path:
    """The same task with another version, figure and company."""
    memo = PackageFile(f"basis: v{number}\nEBITDA: {40 + number}.5 million for Company{number}\n".encode())
    return make_task(root, name=f"r{number}", files={"memo.txt": memo})


def test_a_hundred_renamings_are_one_cell(tmp_path: Path) -> None:
    one = coverage([profile(renamed(tmp_path, 1))])
    many = coverage([profile(renamed(tmp_path, n)) for n in range(2, 102)])
    assert (one.cells, many.cells, many.tasks) == (1, 1, 100)
    assert many.variation == {"finance.board_forecast": 0}


def test_levels_are_told_by_what_changed_structurally(tmp_path: Path) -> None:
    base = profile(renamed(tmp_path, 1))
    assert variation_level(base, profile(renamed(tmp_path, 2))) == "presentation"
    more = {"memo.txt": PackageFile(b"basis: v7"), "annex.txt": PackageFile(b"EBITDA: 42.5")}
    assert variation_level(base, profile(make_task(tmp_path, name="sources", files=more))) == "realization"
    edge = criterion("x", 1, check("file_exists", path="out.txt")).model_copy(
        update={"evidence": ("memo.txt", "instruction")}
    )
    rubric = RUBRIC.model_copy(update={"criteria": (*RUBRIC.criteria, edge)})
    assert variation_level(base, profile(make_task(tmp_path, name="edge", rubric=rubric))) == "compositional"
    call = ToolCall(tool="grep", arguments={"pattern": "v"})
    plan = Plan(name="reference", kind="reference", steps=(PlanStep(calls=(call,)), *draft().reference.steps))
    other = make_task(tmp_path, name="tool", reference=plan)
    assert topology(load_task(other), plans(other)[0]) != base.axes["topology"]


def test_ten_axes_are_counted_and_what_was_asked_for_stands_apart_from_what_is_realised(tmp_path: Path) -> None:
    types = ("finance.board_forecast", "operations.warehouse_exception")
    made = [make_one(Wanted(name, seed, "train", "compact"), tmp_path) for name in types for seed in range(1, 5)]
    found = coverage([profile(d) for d in made])
    assert tuple(found.by_axis) == AXES
    assert len(AXES) == 10
    assert found.by_axis["domain"] == {"finance": 4, "operations": 4}
    assert found.by_axis["recovery"] == {"none": 4, "faults": 4}
    assert found.by_axis["deliverable"] == {"txt": 4, "state": 4}
    assert found.requested_tools == found.realised_tools > 4
    assert all(0 <= index <= 4 for index in found.variation.values())


@pytest.fixture
def swapped() -> Iterator[Callable[[str], None]]:
    """Puts other handlers behind the service name "thing"."""

    def install(name: str) -> None:
        SERVICES["thing"] = f"tests.admission.dishonest:{name}"
        load_service.cache_clear()
        handlers_digest.cache_clear()

    yield install
    del SERVICES["thing"]
    load_service.cache_clear()
    handlers_digest.cache_clear()


def test_substituted_handlers_lower_what_is_realised_and_not_what_was_requested(
    tmp_path: Path, swapped: Callable[[str], None]
) -> None:
    swapped("LIAR")
    grant = ServiceGrant(service="thing", actor="supervisor", tools=("peek",))
    made = make_task(tmp_path, services=(grant,), state={"thing": {}})
    before = coverage([profile(made)])
    swapped("SLEEPER")
    after = coverage([profile(made)])
    assert (before.requested_tools, before.realised_tools) == (1, 1)
    assert (after.requested_tools, after.realised_tools) == (1, 0)


def test_the_emptiest_cell_is_the_next_target(tmp_path: Path) -> None:
    made = [make_one(Wanted("finance.board_forecast", seed, "train", "compact"), tmp_path) for seed in range(1, 9)]
    profiles = [profile(d) for d in made]
    targets = next_targets(profiles, 5000)
    counts = [tasks for _, _, tasks in targets]
    assert counts == sorted(counts)
    assert targets[0][0] != "finance.board_forecast"
    seen = profiles[0].drawn
    axis = next(iter(seen))
    by_cell = {(name, cell): tasks for name, cell, tasks in targets}
    assert by_cell["finance.board_forecast", f"{axis} = {seen[axis]}"] == sum(
        p.drawn[axis] == seen[axis] for p in profiles
    )
