"""The learner: one update a batch, the same result whatever was split, reordered, killed or repeated."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from journeyman.errors import UserError
from journeyman.records.sample import Checkpoint, Update
from journeyman.store.atomic import read_lines
from journeyman.store.config_file import parse_config
from journeyman.store.dataset import RowTokens
from journeyman.training.config import LearnerConfig, OptimiserConfig
from journeyman.training.learner import Learner

from .conftest import VOCABULARY, learner_config, random_row, write_rl

MakeBatch = Callable[[int], Path]


def weights(directory: Path) -> dict[str, torch.Tensor]:
    return load_file(directory / "model.safetensors")


def same(a: Path, b: Path) -> bool:
    left, right = weights(a), weights(b)
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def ledger(root: Path) -> list[Update]:
    return [Update.parse(line) for line in read_lines(root / "ledger.jsonl")]


def gradients(policy: Path, batch: Path, root: Path, **changes: Any) -> dict[str, torch.Tensor]:
    """Gradients of one batch as the optimiser saw them."""
    learner = Learner(learner_config(policy, root, optimiser=OptimiserConfig(lr=1e-30, clip_norm=None), **changes))
    learner.step(0, batch)
    return {n: p.grad.clone() for n, p in learner.model.named_parameters() if p.grad is not None}


def close(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    scale = max(float(g.abs().max()) for g in b.values())
    return a.keys() == b.keys() and all(float((a[k] - b[k]).abs().max()) < 2e-5 * scale for k in a)


def test_a_batch_makes_one_update_one_version_and_one_record(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    learner = Learner(learner_config(policy, tmp_path))
    reply = learner.step(0, rl_batches(0))
    assert (reply["stepped"], reply["version"]) == (True, 1)
    directory = tmp_path / "weights" / "v1"
    marker = Checkpoint.parse((directory / "CHECKPOINT.json").read_bytes())
    assert set(marker.files) == {p.name for p in directory.iterdir()} - {"CHECKPOINT.json"}
    assert not same(directory, policy)
    AutoModelForCausalLM.from_pretrained(directory)
    (update,) = ledger(tmp_path)
    assert (update.version_before, update.version_after, update.objective) == (0, 1, "cispo")
    assert update.tokens == reply["tokens"] == reply["metrics"].get("tokens", update.tokens)
    member = next(iter(update.groups.values()))[0]
    assert member.versions == (0, 0)
    assert member.shaped == pytest.approx(member.raw - sum(member.shaping.values()))
    assert abs(sum(m.advantage for m in update.groups["g0-0"])) < 1e-9
    wanted = {"ratio_mean", "clip_fraction", "k3", "ess", "entropy", "gradient_norm", "staleness_mean", "reward"}
    assert wanted <= set(update.metrics)


def test_the_gradient_is_the_closed_form(policy: Path, rl_batches: MakeBatch, tmp_path: Path) -> None:
    """-(1/N) sum min(rho, 5) A grad logp, computed row by row with the plain model."""
    batch = rl_batches(0)
    found = gradients(policy, batch, tmp_path)
    from journeyman.store.dataset import Dataset

    data = Dataset.open(batch)
    model = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
    n = data.manifest.trained_tokens
    for group in data.groups:
        rewards = [m.reward or 0.0 for m in group.members]
        for member in group.members:
            row = data.row(member.rows[0])
            logits = model(torch.from_numpy(row.ids.astype(np.int64))[None]).logits[0]
            at = np.flatnonzero(row.mask)
            logp = torch.log_softmax(logits[:-1], -1)[at - 1, row.ids[at].astype(np.int64)]
            weight = torch.exp(logp.detach() - torch.from_numpy(row.logprobs[at])).clamp(max=5.0)
            (-(weight * logp).sum() * ((member.reward or 0.0) - np.mean(rewards)) / n).backward()
    assert close(found, {k: p.grad for k, p in model.named_parameters() if p.grad is not None})


@pytest.mark.parametrize(
    "changes", [{"micro_tokens": 64}, {"micro_tokens": 100_000}, {"kind": "rows"}, {"kind": "packed"}]
)
def test_micro_batches_and_packing_do_not_change_the_gradient(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path, changes: dict[str, Any]
) -> None:
    batch = rl_batches(0)
    base = gradients(policy, batch, tmp_path / "a")
    assert close(gradients(policy, batch, tmp_path / "b", forward=changes), base)


def members_of(seed: int = 3) -> dict[str, list[tuple[float | None, list[RowTokens]]]]:
    rng = np.random.default_rng(seed)
    prefix = rng.integers(0, VOCABULARY, 40).tolist()
    return {f"g{g}": [(float(rng.random()), [random_row(rng, prefix)]) for _ in range(4)] for g in range(2)}


def test_the_order_of_groups_and_members_does_not_change_the_gradient(policy: Path, tmp_path: Path) -> None:
    groups = members_of()
    backwards = {name: list(reversed(groups[name])) for name in reversed(groups)}
    a, b = write_rl(tmp_path / "a", groups), write_rl(tmp_path / "b", backwards)
    assert close(gradients(policy, b, tmp_path / "rb"), gradients(policy, a, tmp_path / "ra"))


@pytest.mark.parametrize("objective", [{"name": "cispo"}, {"name": "ppo", "aggregation": "sample"}, {"name": "gspo"}])
def test_splitting_a_trajectory_into_segments_leaves_the_gradient_unchanged(
    policy: Path, tmp_path: Path, objective: dict[str, Any]
) -> None:
    """Segment k repeats the history as masked context and trains the k-th part of the tokens."""
    groups = members_of()

    def split(row: RowTokens) -> list[RowTokens]:
        at = np.flatnonzero(row.mask)
        made = []
        for part in np.array_split(at, 3):
            end = int(part[-1]) + 1
            mask = np.zeros(end, dtype=np.uint8)
            mask[part] = 1
            made.append(RowTokens(row.ids[:end], mask, row.logprobs[:end], row.versions[:end]))
        return made

    pieces = {n: [(r, [s for row in rows for s in split(row)]) for r, rows in g] for n, g in groups.items()}
    a, b = write_rl(tmp_path / "a", groups), write_rl(tmp_path / "b", pieces)
    forward = {"micro_tokens": 120}
    whole = gradients(policy, a, tmp_path / "ra", objective=objective)
    assert close(gradients(policy, b, tmp_path / "rb", objective=objective, forward=forward), whole)


def test_a_quarantined_member_and_a_dropped_group_leave_the_rest_as_it_was(policy: Path, tmp_path: Path) -> None:
    groups = members_of()
    rng = np.random.default_rng(9)
    more = {
        **groups,
        "flat": [(0.5, [random_row(rng, [1] * 40)]), (0.5, [random_row(rng, [1] * 40)])],
    }
    more["g0"] = [*groups["g0"], (None, [])]
    a, b = write_rl(tmp_path / "a", groups), write_rl(tmp_path / "b", more)
    ra, rb = (
        Learner(learner_config(policy, tmp_path / n, credit={"shaping": {"output_rate": 0.0}})).step(0, batch)
        for n, batch in (("x", a), ("y", b))
    )
    assert ra["tokens"] == rb["tokens"]
    assert list(rb["dropped"]) == ["flat"]
    assert same(tmp_path / "x" / "weights" / "v1", tmp_path / "y" / "weights" / "v1")


def test_without_a_trained_token_there_is_no_step_and_no_version(policy: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    flat = write_rl(tmp_path / "flat", {"g": [(0.5, [random_row(rng, [1] * 9)]) for _ in range(2)]})
    learner = Learner(learner_config(policy, tmp_path))
    before = {n: p.detach().clone() for n, p in learner.model.named_parameters()}
    reply = learner.step(0, flat)
    assert (reply["stepped"], reply["version"], reply["tokens"]) == (False, 0, 0)
    assert not (tmp_path / "weights").exists()
    assert all(torch.equal(before[n], p) for n, p in learner.model.named_parameters())
    assert ledger(tmp_path)[0].version_after == 0


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_resuming_after_every_step_gives_the_same_weights(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path, kind: str
) -> None:
    batches = [rl_batches(i) for i in range(3)]
    optimiser = OptimiserConfig(kind=kind, lr=1e-3)  # type: ignore[arg-type]
    straight = Learner(learner_config(policy, tmp_path / "straight", optimiser=optimiser))
    for i, batch in enumerate(batches):
        straight.step(i, batch)
    for i, batch in enumerate(batches):
        Learner(learner_config(policy, tmp_path / "resumed", optimiser=optimiser)).step(i, batch)
    assert same(tmp_path / "straight/weights/v3", tmp_path / "resumed/weights/v3")
    assert [u.step for u in ledger(tmp_path / "resumed")] == [0, 1, 2]


@pytest.mark.parametrize("lost", ["reply", "ledger", "state"])
def test_a_crash_between_publishing_and_answering_repeats_nothing(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path, lost: str
) -> None:
    first, second = rl_batches(0), rl_batches(1)
    Learner(learner_config(policy, tmp_path / "whole")).step(0, first)
    whole = Learner(learner_config(policy, tmp_path / "whole"))
    whole.step(1, second)

    root = tmp_path / "crashed"
    Learner(learner_config(policy, root)).step(0, first)
    kept = tmp_path / "kept"
    shutil.copytree(root / "state", kept)
    line = (root / "ledger.jsonl").read_bytes()
    Learner(learner_config(policy, root)).step(1, second)
    if lost in ("ledger", "state"):
        (root / "ledger.jsonl").write_bytes(line + b'{"torn')
    if lost == "state":
        shutil.rmtree(root / "state")
        kept.rename(root / "state")
    again = Learner(learner_config(policy, root))
    assert again.version == (1 if lost == "state" else 2)
    reply = again.step(1, second)
    assert reply["version"] == 2
    assert same(root / "weights/v2", tmp_path / "whole/weights/v2")
    assert [u.step for u in ledger(root)] == [0, 1]


def test_weights_that_do_not_follow_from_the_state_are_never_removed(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    learner = Learner(learner_config(policy, tmp_path))
    notes = tmp_path / "weights" / "v1" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    with pytest.raises(UserError, match="v1 exists and is no checkpoint"):
        learner.step(0, rl_batches(0))
    with pytest.raises(UserError, match="v1 does not follow from the state"):
        Learner(learner_config(policy, tmp_path))
    assert notes.read_text() == "mine"
    shutil.rmtree(notes.parent)
    learner.step(0, tmp_path / "batch0")  # what was refused trained nothing
    learner.step(1, rl_batches(1))
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(UserError, match=r"v2 does not follow from the state .* version 0"):
        Learner(learner_config(policy, tmp_path))
    assert (tmp_path / "weights" / "v1" / "CHECKPOINT.json").exists()


def test_a_group_is_consumed_once_and_a_step_never_goes_back(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    learner = Learner(learner_config(policy, tmp_path))
    learner.step(0, rl_batches(0))
    with pytest.raises(UserError, match="exactly once"):
        Learner(learner_config(policy, tmp_path)).step(1, tmp_path / "batch0")
    learner.step(1, rl_batches(1))
    with pytest.raises(UserError, match="was done already"):
        learner.step(0, tmp_path / "batch0")


def test_a_run_that_was_begun_with_other_settings_is_not_gone_on_with(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    Learner(learner_config(policy, tmp_path, total_steps=1)).step(0, rl_batches(0))
    Learner(learner_config(policy, tmp_path, total_steps=2, threads=2))
    for changes in ({"seed": 3}, {"objective": {"name": "ppo"}}, {"optimiser": OptimiserConfig(lr=1e-2)}):
        with pytest.raises(UserError, match="holds a training with other settings"):
            Learner(learner_config(policy, tmp_path, **changes))


def test_two_reward_names_are_never_mixed(policy: Path, tmp_path: Path) -> None:
    batch = write_rl(tmp_path / "b", members_of(), reward_name="rubric.v1")
    with pytest.raises(UserError, match=r"rubric\.v1"):
        Learner(learner_config(policy, tmp_path)).step(0, batch)


def test_a_stale_batch_without_correction_and_a_batch_from_the_future_are_refused(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    learner = Learner(learner_config(policy, tmp_path / "a", objective={"name": "reinforce"}))
    learner.step(0, rl_batches(0))
    with pytest.raises(UserError, match="does not correct"):
        learner.step(1, rl_batches(1))
    capped = Learner(learner_config(policy, tmp_path / "capped", objective={"name": "reinforce", "cap": 2.0}))
    capped.step(0, tmp_path / "batch0")
    assert capped.step(1, tmp_path / "batch1")["metrics"]["lag_1"] == 8
    groups = members_of()
    late = [
        (r, [row._replace(versions=np.where(row.mask == 1, 9, -1).astype(np.int32)) for row in rows])
        for r, rows in groups["g0"]
    ]
    with pytest.raises(UserError, match="version 9"):
        Learner(learner_config(policy, tmp_path / "b")).step(0, write_rl(tmp_path / "late", {"g0": late}))


def test_training_moves_probability_towards_the_better_member(policy: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    good, bad = random_row(rng, [1, 2, 3] * 12), random_row(rng, [1, 2, 3] * 12)
    learner = Learner(learner_config(policy, tmp_path, optimiser=OptimiserConfig(lr=5e-3)))

    def logp(row: RowTokens) -> float:
        at = np.flatnonzero(row.mask)
        with torch.no_grad():
            logits: torch.Tensor = learner.model(torch.from_numpy(row.ids.astype(np.int64))[None]).logits[0]
        return float(torch.log_softmax(logits[:-1], -1)[at - 1, row.ids[at].astype(np.int64)].sum())

    before = logp(good) - logp(bad)
    for step in range(5):
        learner.step(step, write_rl(tmp_path / f"b{step}", {f"g{step}": [(1.0, [good]), (0.0, [bad])]}))
    assert logp(good) - logp(bad) > before + 1


def test_lora_trains_adapters_only_and_publishes_plain_weights(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    changes = {"model": {"lora": {"rank": 4}}, "optimiser": OptimiserConfig(lr=1e-2)}
    learner = Learner(learner_config(policy, tmp_path, **changes))
    learner.step(0, rl_batches(0))
    learner.step(1, rl_batches(1))
    base, published = weights(policy), weights(tmp_path / "weights/v2")
    assert base.keys() == published.keys()
    moved = {k for k in base if not torch.equal(base[k], published[k])}
    assert moved
    assert all("_proj" in k for k in moved)
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "weights/v2", dtype=torch.float32)
    ids = torch.arange(20)[None]
    with torch.no_grad():
        torch.testing.assert_close(plain(ids).logits, learner.model(ids).logits, atol=1e-4, rtol=1e-4)
    resumed = Learner(learner_config(policy, tmp_path, **changes))
    with torch.no_grad():
        assert torch.equal(resumed.model(ids).logits, learner.model(ids).logits)


def test_a_schedule_needs_the_number_of_steps(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="total_steps"):
        Learner(learner_config(policy, tmp_path, schedule={"kind": "cosine"}))


def test_an_unknown_key_names_the_nearest_one() -> None:
    with pytest.raises(UserError, match="did you mean 'weights'"):
        parse_config({"wieghts": "x"}, LearnerConfig)


def start(path: Path, *extra: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "journeyman.training.learner", "--config", str(path), *extra]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen[str], request: dict[str, Any] | None = None) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    if request is not None:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
    reply: dict[str, Any] = json.loads(process.stdout.readline())
    return reply


def test_the_process_speaks_json_lines_and_survives_a_kill(
    policy: Path, rl_batches: MakeBatch, write_config: Callable[..., Path], tmp_path: Path
) -> None:
    path = write_config("learner.json", **learner_config(policy, tmp_path).model_dump(mode="json"))
    first = start(path)
    try:
        assert ask(first) == {"event": "ready", "step": -1, "version": 0, "weights": str(policy)}
        done = ask(first, {"step": 0, "batch": str(rl_batches(0))})
        assert ask(first, {"step": 0, "batch": str(tmp_path / "batch0")}) == done
        assert ask(first, {"step": 1, "batch": str(tmp_path / "nothing")})["event"] == "error"
    finally:
        first.kill()
        first.wait()
    address = tmp_path / "learner.sock"
    second = start(path, "--socket", str(address))
    try:
        deadline = time.monotonic() + 300
        while not address.exists() and second.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(address))
            with client.makefile("rw") as stream:
                assert json.loads(stream.readline())["version"] == 1
                stream.write(json.dumps({"step": 0, "batch": "ignored"}) + "\n" + '{"stop": true}\n')
                stream.flush()
                assert json.loads(stream.readline()) == done
        assert second.wait(120) == 0
    finally:
        second.kill()
        second.wait()
