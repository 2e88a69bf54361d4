"""Figures go to the ledger and from there to trackers; a tracker that breaks costs one line and nothing else."""

import json
import struct
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import UserError
from journeyman.pipeline.account import Account, spent
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe, TrackingRecipe
from journeyman.pipeline.run import open_run
from journeyman.pipeline.seen import Seen
from journeyman.pipeline.state import Run
from journeyman.pipeline.trackers.base import NEEDS, TRACKERS, Session, installed, make_tracker
from journeyman.pipeline.tracking import tracked
from journeyman.records.episode import Usage
from journeyman.store.atomic import read_lines
from journeyman.store.layout import Job

KEEPS, BREAKS = "tests.pipeline.tracking_parts:Keeps", "tests.pipeline.tracking_parts:Breaks"


def run_in(root: Path, *names: str, **tracking: Any) -> Run:
    job = Job(root / "job")
    job.ledger.mkdir(parents=True, exist_ok=True)
    return Run(Recipe(name="r", tracking=TrackingRecipe(to=names, **tracking)), job, Silent())


def attempt(kind: str, reward: float | None, tokens: int = 10, tool: str = "read") -> Seen:
    usage = Usage(turns=2, prompt_tokens=100, sampled_tokens=tokens)
    return Seen(kind, reward, usage, "finished", {tool: 2}, 1)


def test_a_step_is_told_with_its_types_tools_and_cost_and_the_total_is_the_sum_of_the_steps(tmp_path: Path) -> None:
    run = run_in(tmp_path, usd_per_device_hour=3600.0)
    with tracked(run) as told:
        account = Account(told, 2, time.monotonic(), {"g0"})
        batch = [attempt("a", 1.0), attempt("b", 0.0, tool="wms")]
        account.group("g1", batch)
        account.step(0, {"reward": 0.5}, 7, batch)
        account.group("g0", [attempt("a", 1.0, 99)])  # ended before this process, and was counted there
        account.group("g2", [attempt("a", 0.5, 30), attempt("b", None, 5)])
        account.step(1, {"reward": 0.5}, 3, [attempt("a", 0.5, 30), attempt("b", None, 5)])
    first, second = (json.loads(line)["figures"] for line in read_lines(run.job.ledger / "figures.jsonl"))
    assert (first["reward"], first["reward/a"], first["reward/b"]) == (0.5, 1.0, 0.0)
    assert (first["calls/read"], first["calls/wms"], first["tool_errors"]) == (1.0, 1.0, 0.5)
    assert (second["sampled_tokens_max"], second["used/sampled_tokens"], second["used/episodes"]) == (30.0, 35.0, 2.0)
    assert "reward/b" not in second  # its only attempt was set aside: no reward, not zero
    total = spent(run)
    assert (total["episodes"], total["sampled_tokens"], total["trained_tokens"]) == (4, 55, 10)
    assert total["usd"] == pytest.approx(total["device_seconds"], abs=2e-3)  # a device hour costs 3600


def test_without_a_price_the_ledger_has_no_money(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    Account(run, 1, time.monotonic(), set()).step(0, {}, 1, [attempt("a", 1.0)])
    run.spend("sft", time.monotonic(), 1, tokens=3)
    (line,) = read_lines(run.job.ledger / "spent.jsonl")
    assert "usd" not in json.loads(line)
    assert "usd" not in spent(run)


def test_a_drift_is_told_when_it_begins_and_again_only_after_it_ended(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    account = Account(run, 1, time.monotonic(), set())
    for step, drift in enumerate(({}, {"inspect_turns": 0.3}, {"inspect_turns": 0.4}, {}, {"inspect_turns": -0.2})):
        account.step(step, drift, 1, [])
    assert isinstance(run.progress, Silent)
    assert run.progress.lines == [
        "look: turns moved by +30% while reward stood still, to step 1",
        "look: turns moved by -20% while reward stood still, to step 4",
    ]


def test_a_tracker_gets_every_figure_of_this_session_and_closes(tmp_path: Path) -> None:
    run = run_in(tmp_path, KEEPS, project="p")
    (run.job.ledger / "figures.jsonl").write_bytes(b'{"phase":"sft","step":1,"figures":{"loss":9}}\n')
    with tracked(run) as told:
        told.progress.figures("sft", 2, {"loss": 0.5, "odd": float("nan")})
        told.progress.figures("rl", 0, {"reward": 0.25})
    kept = (run.job.root / "trackers" / "kept.txt").read_text().splitlines()
    assert kept == ["open p/job r", "sft 2 {'loss': 0.5}", "rl 0 {'reward': 0.25}", "closed"]


def test_a_tracker_that_breaks_costs_one_line_and_the_run_goes_on(tmp_path: Path) -> None:
    run = run_in(tmp_path, BREAKS)
    with tracked(run) as told:
        for step in range(3):
            told.progress.figures("rl", step, {"reward": 0.5})
    assert isinstance(run.progress, Silent)
    (line,) = run.progress.lines
    assert "RuntimeError: the server said no" in line
    assert "goes on without it" in line
    assert len(read_lines(run.job.ledger / "figures.jsonl")) == 3


def test_nothing_is_started_where_no_tracker_is_asked_for(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    with tracked(run) as told:
        told.progress.figures("rl", 0, {"reward": 0.5})
    assert not list(run.job.ledger.glob("tracker-*"))


@pytest.mark.parametrize("name", TRACKERS)
def test_a_tracker_whose_package_is_missing_names_the_extra_before_the_run_begins(tmp_path: Path, name: str) -> None:
    if installed(name):
        pytest.skip(f"{name} is installed")
    recipe = Recipe(name="r", tracking=TrackingRecipe(to=(name,)))
    with pytest.raises(UserError, match=rf"needs the package .*pip install 'journeyman\[{NEEDS[name][1]}\]'"):
        open_run(recipe, tmp_path / "run", Silent(), resume=False)
    assert not (tmp_path / "run").exists()


def test_where_figures_go_is_no_part_of_what_a_recipe_is() -> None:
    assert Recipe(name="r", tracking=TrackingRecipe(to=("wandb",))).identity() == Recipe(name="r").identity()


def scalars(path: Path) -> list[tuple[str, int, float]]:
    """Every scalar of a TensorBoard event file: records of length, its checksum, an Event, its checksum."""
    event = import_module("tensorboardX.proto.event_pb2").Event
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        read = event.FromString(data[at + 12 : at + 12 + size])
        found += [(value.tag, read.step, value.simple_value) for value in read.summary.value]
        at += 12 + size + 4
    return found


def test_tensorboard_holds_what_it_was_told(tmp_path: Path) -> None:
    if not installed("tensorboard"):
        pytest.skip("tensorboardX is not installed")
    tracker = make_tracker("tensorboard", Session("p", "r", tmp_path, {}))
    tracker.log("rl", 3, {"reward/finance.board_forecast": 0.5})
    tracker.close()
    (file,) = (tmp_path / "trackers" / "tensorboard").iterdir()
    assert scalars(file) == [("rl/reward/finance.board_forecast", 3, 0.5)]
