"""What a prying policy is shown holds nothing private, and a private text that is shown is found where it stands."""

from dataclasses import replace
from pathlib import Path

from journeyman.pipeline.admitting import scan_canaries
from journeyman.pipeline.canaries import PREFIX, leaks, marked
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.tasks.package import package_bytes, read_package, write_package


async def test_a_prying_policy_meets_nothing_private_and_a_leak_is_named(tmp_path: Path) -> None:
    whole = make_one(Wanted("operations.warehouse_exception", 1, "train", "compact"), tmp_path)
    draft = read_package(whole)
    told = draft.instruction + draft.rubric.criteria[0].proposition
    metadata = draft.metadata.model_copy(update={"name": "journeyman/leaking"})
    leaking = write_package(replace(draft, instruction=told, metadata=metadata), tmp_path)
    clean, leaky = await scan_canaries([whole, leaking], "bubblewrap", Silent())
    assert clean.found == ()
    assert clean.marks > 20
    assert clean.texts > 30
    assert any(f"criterion {draft.rubric.criteria[0].id} stands in request" in found for found in leaky.found)
    assert any("stands in prompt of" in found for found in leaky.found)


def test_marks_stand_in_private_parts_only(tmp_path: Path) -> None:
    draft = read_package(make_one(Wanted("finance.board_forecast", 1, "train", "compact"), tmp_path))
    planted, marks = marked(draft)
    files = package_bytes(planted)
    holding = {path for path, data in files.items() if PREFIX.encode() in data}
    assert {path.split("/")[0] for path in holding} == {"solution", "tests", "task.toml"}
    whole = b"".join(files[path] for path in holding).decode()
    assert all(mark in whole for mark in marks)


def test_a_text_is_found_whatever_its_case_and_spacing() -> None:
    assert leaks({"a plan": "The  Withdrawn forecast"}, {"memo": "see: the withdrawn\nFORECAST."}) == (
        "a plan stands in memo",
    )
