"""The verifier image's grader: a flat reward file for a complete set, and no file at all for anything else."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from journeyman.errors import GraderFailure, UserError
from journeyman.grading.harbor import grade_harbor
from journeyman.records.grade import Grade
from journeyman.records.rubric import Judged, Rubric
from journeyman.tasks.package import public_workspace
from tests.grading.making import RUBRIC, check, criterion, make_task


def left_by_agent(root: Path, rubric: Rubric = RUBRIC, **files: str) -> tuple[Path, Path, Path, Path]:
    task = make_task(root, rubric=rubric)
    workspace = root / "workspace"
    shutil.copytree(public_workspace(task), workspace)
    for name, text in files.items():
        (workspace / name.replace("_", ".")).write_text(text)
    (root / "out").mkdir()
    return task / "tests", workspace, root / "artifacts", root / "out"


async def test_the_reward_file_is_flat_finite_and_complete(tmp_path: Path) -> None:
    places = left_by_agent(tmp_path, out_txt="basis: v7\nEBITDA: 42.5 million, 11.7x\n")
    await grade_harbor(*places)
    reward = json.loads((places[3] / "reward.json").read_bytes())
    assert reward == {
        "reward": pytest.approx(7 / 15), "signed.v1": pytest.approx(7 / 15), "raw": 7.0,
        "criterion.basis": 1.0, "criterion.ebitda": 1.0, "criterion.stale": 1.0,
    }  # fmt: skip
    assert Grade.parse((places[3] / "grade.json").read_bytes()).verdicts[0].evidence == "out.txt: basis: v7"


async def test_a_planted_reward_file_is_removed_even_where_grading_fails(tmp_path: Path) -> None:
    judged = Rubric(criteria=(criterion("j", 1, Judged(deliverables=("out.txt",))),))
    places = left_by_agent(tmp_path, rubric=judged, reward_json='{"reward": 1}')
    (places[3] / "reward.json").write_text('{"reward": 1}')
    (places[3] / "reward.txt").write_text("1")
    with pytest.raises(GraderFailure, match="no_judge"):
        await grade_harbor(*places)
    assert list(places[3].iterdir()) == []


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ("rubric.json", "rubric.json is missing: --tests"),
        ("initial.json", "initial.json is missing: --tests"),
        ("initial.json={", "initial.json is not JSON"),
        ("initial.json=[]", "initial.json holds no JSON object"),
        ("../artifacts/services.json={", "services.json is not JSON"),
        ("../artifacts/service_ledger.jsonl={}\n", "service_ledger.jsonl: "),
    ],
)
async def test_what_is_missing_or_unreadable_is_named_and_leaves_no_reward(
    tmp_path: Path, left: str, said: str
) -> None:
    tests, workspace, _, out = left_by_agent(tmp_path, out_txt="basis: v7\n")
    (tests / "../artifacts").mkdir()
    name, given, text = left.partition("=")
    (tests / name).write_text(text) if given else (tests / name).unlink()
    with pytest.raises(UserError, match=re.escape(said)):
        await grade_harbor(tests, workspace, tests / "../artifacts", out)
    assert list(out.iterdir()) == []


async def test_a_file_where_the_reward_should_go_is_named(tmp_path: Path) -> None:
    tests, workspace, artifacts, out = left_by_agent(tmp_path)
    (out / "file").touch()
    for place in (out / "file", out / "file" / "below"):
        with pytest.raises(UserError, match="is no directory: --out"):
            await grade_harbor(tests, workspace, artifacts, place)


async def test_world_files_are_compared_by_digest(tmp_path: Path) -> None:
    rubric = Rubric(
        criteria=(
            criterion("kept", 1, check("source_unchanged", path="memo.txt")),
            criterion("gone", 1, check("source_unchanged", path="other.txt")),
        )
    )
    places = left_by_agent(tmp_path / "a", rubric=rubric)
    assert [v.met for v in (await grade_harbor(*places)).verdicts] == [True, False]
    places = left_by_agent(tmp_path / "b", rubric=rubric, memo_txt="basis: v9")
    assert [v.met for v in (await grade_harbor(*places)).verdicts] == [False, False]
    places = left_by_agent(tmp_path / "c", rubric=rubric)
    (places[1] / "memo.txt").unlink()
    assert (await grade_harbor(*places)).verdicts[0].evidence == "memo.txt: deleted"


async def test_services_without_their_record_give_no_reward(tmp_path: Path) -> None:
    rubric = Rubric(criteria=(criterion("row", 1, check("service_rows", service="wms", table="holds")),))
    places = left_by_agent(tmp_path, rubric=rubric)
    with pytest.raises(GraderFailure, match=r"services\.json is missing and the rubric checks wms"):
        await grade_harbor(*places)
    places[2].mkdir()
    (places[2] / "services.json").write_text('{"wms": {"holds": [{"id": 1}]}}')
    assert (await grade_harbor(*places)).raw == 1.0


async def test_the_packages_own_oracle_gets_full_marks(tmp_path: Path) -> None:
    tests, workspace, artifacts, out = left_by_agent(tmp_path)
    oracle = ["bash", str(tests.parent / "solution/solve.sh")]
    subprocess.run(oracle, check=True, env={**os.environ, "WORKSPACE": str(workspace)})
    await grade_harbor(tests, workspace, artifacts, out)
    assert json.loads((out / "reward.json").read_bytes())["reward"] == 1.0


async def test_missing_directories_are_named(tmp_path: Path) -> None:
    tests, workspace, artifacts, out = left_by_agent(tmp_path)
    with pytest.raises(UserError, match="--tests"):
        await grade_harbor(tmp_path, workspace, artifacts, out)
    with pytest.raises(UserError, match="--workspace"):
        await grade_harbor(tests, tmp_path / "no", artifacts, out)
