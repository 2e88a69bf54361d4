"""The whole loop in miniature through the command line: every stage, then verify, explain, resume, a flipped byte."""

import json
import shutil
from pathlib import Path

import pytest

from journeyman.pipeline.actors import POLICY
from journeyman.pipeline.explain import updates
from journeyman.pipeline.recipe import STAGES
from journeyman.pipeline.state import SHIPPED_POLICY
from journeyman.pipeline.trackers.base import installed
from journeyman.pipeline.verification import verify_path
from journeyman.records.base import sha256_hex
from journeyman.records.report import Report
from journeyman.store.atomic import read_lines
from journeyman.store.dataset import Dataset
from journeyman.store.layout import Job
from tests.pipeline.conftest import Made, typed
from tests.pipeline.test_tracking import scalars

pytestmark = pytest.mark.slow


def test_every_stage_is_done_and_says_what_it_did(made: Made) -> None:
    stages = {path.stem for path in (made.directory / "ledger" / "stages").iterdir()}
    assert stages == set(STAGES)
    for stage in STAGES:
        assert stage in made.shown
    assert "next: open" in made.shown.splitlines()[-1]
    page = (made.directory / "report" / "index.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")
    report = json.loads((made.directory / "report" / "report.json").read_bytes())
    assert [arm["graded"] == arm["attempted"] for arm in report["arms"]] == [True] * 8


def test_every_dataset_and_every_record_says_whose_ids_it_holds(made: Made) -> None:
    own = sha256_hex((SHIPPED_POLICY / "tokenizer.json").read_bytes())
    found = [Dataset.open(path.parent).manifest for path in (made.directory / "data").rglob("DATASET.json")]
    assert {manifest.kind for manifest in found} == {"sft", "rl"}
    assert {manifest.tokenizer_digest for manifest in found} == {own}


def test_the_steps_asked_for_were_taken_on_the_groups_of_the_cursor(made: Made) -> None:
    found = updates(Job(made.directory))
    assert [u.step for u in found] == [0, 1]
    assert [sorted(set(u.groups) | set(u.dropped)) for u in found] == [["g00000", "g00001"], ["g00002", "g00003"]]
    assert {u.reward_name for u in found} == {"signed.v1"}


def test_every_step_is_in_the_ledger_with_what_it_took_and_the_stage_is_their_sum(made: Made) -> None:
    told = [json.loads(line) for line in read_lines(made.directory / "ledger" / "figures.jsonl")]
    assert {line["phase"] for line in told} == {"sft", "rl", "evaluate"}
    steps = [line["figures"] for line in told if line["phase"] == "rl"]
    assert len(steps) == 2
    known = {"reward", "shaped", "advantage_abs", "ratio_mean", "clip_fraction", "k3", "ess", "staleness_mean"}
    known |= {"entropy", "gradient_norm", "turns", "sampled_tokens", "invalid_calls", "turns_max", "used/seconds"}
    assert all(known <= set(figures) for figures in steps)
    types = {name for figures in steps for name in figures if name.startswith("reward/")}
    assert types <= {"reward/finance.board_forecast", "reward/operations.warehouse_exception"}
    assert types
    spent = {line["stage"]: line for line in map(json.loads, read_lines(made.directory / "ledger" / "spent.jsonl"))}
    for name in ("sampled_tokens", "prompt_tokens", "trained_tokens", "episodes", "device_seconds", "usd"):
        assert spent["rl"][name] == pytest.approx(sum(figures[f"used/{name}"] for figures in steps), abs=2e-3), name
    assert spent["rl"]["device_seconds"] <= 2 * spent["rl"]["seconds"]  # a sampler and a learner
    assert spent["sft"]["usd"] == pytest.approx(spent["sft"]["device_seconds"])  # a device hour costs 3600 here
    report = json.loads((made.directory / "report" / "report.json").read_bytes())
    assert types <= {curve["name"] for curve in report["curves"]}
    assert "USD" in report["facts"]["used: rl"]


def test_tensorboard_is_written_without_being_asked_for(made: Made) -> None:
    if not installed("tensorboard"):
        pytest.skip("tensorboardX is not installed")
    (file,) = (made.directory / "trackers" / "tensorboard").iterdir()
    tags = {tag for tag, _, _ in scalars(file)}
    assert {"sft/loss", "rl/reward", "rl/ess", "evaluate/reward.t0"} <= tags


def test_verify_finds_nothing_wrong_and_says_what_it_looked_at(made: Made) -> None:
    done = typed("verify", made.directory)
    assert done.returncode == 0, done.stdout
    for kind in ("episodes", "grades", "tasks", "datasets", "checkpoints"):
        assert kind in done.stdout
    assert done.stdout.splitlines()[-1].startswith("next: journeyman explain")


def test_explain_prints_the_chain_from_a_token_to_its_sources_and_the_arithmetic(made: Made) -> None:
    done = typed("explain", made.directory)
    assert done.returncode == 0, done.stderr
    at = [line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()]
    assert at == ["token", "turn", "segment", "episode", "grade", "task", "gradient", "next:"]
    for said in ("evidence:", "source: environment/workspace/", "advantage = ", "- mean ", "gradient on its log-prob"):
        assert said in done.stdout
    token = done.stdout.split()[1]
    again = typed("explain", token, "--runs", made.directory.parent)
    assert again.stdout == done.stdout


def test_explain_says_why_a_token_got_no_gradient(made: Made) -> None:
    token = typed("explain", made.directory).stdout.split()[1]
    first = token.rpartition(":")[0] + ":0"
    assert "its mask is 0" in typed("explain", first, "--runs", made.directory.parent).stdout
    beyond = typed("explain", token.rpartition(":")[0] + ":99999", "--runs", made.directory.parent)
    assert beyond.returncode == 2
    assert len(beyond.stderr.splitlines()) == 1


def test_a_finished_run_is_not_done_again(made: Made) -> None:
    before = {p: p.stat().st_mtime_ns for p in made.directory.rglob("*") if p.is_file() and p.name != "config.toml"}
    refused = typed("run", made.recipe, "--out", made.directory)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    done = typed("run", made.recipe, "--out", made.directory, "--resume")
    assert done.returncode == 0, done.stderr
    after = {p: p.stat().st_mtime_ns for p in made.directory.rglob("*") if p.is_file() and p.name != "config.toml"}
    assert after == before


def sealed_files(run: Path) -> dict[str, Path]:
    """One file of every kind that must never change again."""
    job = Job(run)
    episode = next(d for d in job.sealed(POLICY) if (d / "turns.jsonl").stat().st_size)
    services = next(p.parent for p in job.episodes.glob("expert/*/*/*/services.json"))
    workspace = next(p for p in sorted(job.episodes.glob("expert/*/*/*/workspace/**/*")) if p.is_file())
    release = job.tasks / "release"
    package = next((release / "tasks").iterdir())
    grade = next(job.grades_dir(job.key_of(episode)).glob("*.json"))
    found = {f"episode {p.name}": p for p in sorted(episode.iterdir()) if p.is_file() and p.stat().st_size}
    found |= {
        f"episode {p.name}": p for p in (services / "services.json", services / "service_ledger.jsonl", workspace)
    }
    found |= {"grade": grade}
    found |= {f"release {p.name}": p for p in sorted(release.iterdir()) if p.is_file()}
    found |= {
        f"release task {p.relative_to(package)}": p
        for p in sorted(package.rglob("*"))
        if p.is_file() and p.stat().st_size
    }
    found["report"] = job.report / "report.json"
    for dataset in (job.data / "sft", job.data / "rl" / "00001"):
        found |= {f"dataset {dataset.name} {p.name}": p for p in sorted(dataset.iterdir()) if p.stat().st_size}
    for policy in (job.weights / "sft", job.weights / "rl" / "v2", job.weights / "merged"):
        found |= {f"checkpoint {policy.name} {p.name}": p for p in sorted(policy.iterdir()) if p.stat().st_size}
    return found


def test_one_flipped_byte_in_any_kind_of_sealed_file_is_found_and_named(made: Made, tmp_path: Path) -> None:
    run = tmp_path / "copy"
    shutil.copytree(made.directory, run)
    assert not verify_path(run).faults
    missed = []
    for kind, path in sealed_files(run).items():
        whole = path.read_bytes()
        step = max(1, len(whole) // 3)
        for at in {0, *range(step, len(whole), step), len(whole) - 1}:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            faults = verify_part(run, path)
            if not any(path.name in fault for fault in faults):
                missed.append((kind, at, faults))
        path.write_bytes(whole)
    assert not missed
    assert not verify_path(run).faults


def verify_part(run: Path, path: Path) -> list[str]:
    """What verify says, of the whole run for what only a run can join, of the part alone for the rest: it is faster."""
    for part in path.parents:
        if any((part / marker).exists() for marker in ("DATASET.json", "CHECKPOINT.json", "RELEASED", "SEAL.json")):
            if path.name in ("DATASET.json", "CHECKPOINT.json", "RELEASED", "SEAL.json"):
                break
            return verify_path(part).faults
        if part == run:
            break
    return verify_path(run).faults


def test_an_attempt_taken_away_a_figure_written_anew_and_another_recipe_are_found(made: Made, tmp_path: Path) -> None:
    run = Job(tmp_path / "copy")
    shutil.copytree(made.directory, run.root)
    attempt = next(iter(run.sealed("rl")))
    shutil.rmtree(attempt)
    shutil.rmtree(run.grades_dir(run.key_of(attempt)))
    faults = verify_path(run.root).faults
    assert any("attempts at T = " in fault for fault in faults)
    assert any("the sealed episodes and grades say" in fault for fault in faults)
    typed("report", run.root)  # leaves attempts out, and says so of itself
    assert [fault for fault in verify_path(run.root).faults if "attempts at T = " not in fault] == []
    told = json.loads((run.report / "report.json").read_bytes())
    told["arms"][0]["reward"]["value"] += 0.5
    (run.report / "report.json").write_bytes(Report.model_validate(told).checked().canonical())
    assert any(" of base, " in fault for fault in verify_path(run.root).faults)
    run.config.write_text(run.config.read_text() + "# other\n")
    assert any(str(run.config) in fault for fault in verify_path(run.root).faults)


def test_what_a_finished_run_must_have_is_missed_and_named(made: Made, tmp_path: Path) -> None:
    run = Job(tmp_path / "copy")
    shutil.copytree(made.directory, run.root)
    evaluated, admitted = next(run.sealed("rl")), next(run.sealed("admission"))
    grades = [next(run.grades_dir(run.key_of(d)).glob("*.json")) for d in (evaluated, admitted)]
    stages = [run.ledger / "stages" / f"{name}.json" for name in ("tasks", "evaluate")]
    markers = [p / "CHECKPOINT.json" for p in (run.weights / "sft", run.weights / "rl" / "v1", run.weights / "merged")]
    pages = [run.report / "index.html", run.report / "report.json"]
    for path in (*grades, *stages, *markers, *pages, run.data / "sft" / "DATASET.json", run.data / "rl" / "00001"):
        kept = tmp_path / "kept"
        path.rename(kept)
        assert any(str(path) in fault for fault in verify_path(run.root).faults), path
        kept.rename(path)
    assert not verify_path(run.root).faults


def test_a_changed_advantage_curve_or_page_is_found(made: Made, tmp_path: Path) -> None:
    run = Job(tmp_path / "copy")
    shutil.copytree(made.directory, run.root)
    whole = updates(run)
    for change, said in (
        (lambda u: u["groups"][next(iter(u["groups"]))][0].update(advantage=0.777), "advantage is 0.777"),
        (lambda u: u["metrics"].update(entropy=0.777), "draws entropy otherwise"),
        (lambda u: u.update(step=5), "does not follow"),
    ):
        lines = [u.model_dump(mode="json") for u in whole]
        change(lines[-1])
        (run.ledger / "updates.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert any("updates.jsonl" in fault and said in fault for fault in verify_path(run.root).faults), said
    (run.ledger / "updates.jsonl").write_bytes(b"".join(u.canonical() + b"\n" for u in whole))
    page = run.report / "index.html"
    page.write_bytes(page.read_bytes() + b" ")
    assert any(f"{page} is not the page" in fault for fault in verify_path(run.root).faults)


def test_the_command_exits_1_and_names_the_file(made: Made, tmp_path: Path) -> None:
    run = tmp_path / "copy"
    shutil.copytree(made.directory, run)
    path = sealed_files(run)["episode tokens.i32"]
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    done = typed("verify", run)
    assert done.returncode == 1
    assert f"{path} changed after sealing" in done.stdout.replace("\n", " ")
