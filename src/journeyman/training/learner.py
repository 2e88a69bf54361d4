"""The learner: one full batch in, one optimiser step, one version out; kill it anywhere and nothing is repeated.

`python -m journeyman.training.learner --config FILE [--socket PATH]` speaks JSON lines:

    -> {"step": 3, "batch": "data/rl/3"}
    <- {"event": "step", "step": 3, "stepped": true, "version": 4, "weights": "weights/v4", "metrics": {...}, ...}
    -> {"stop": true}

The first line out is {"event": "ready", "step": last done, "version": current, "weights": its directory}. A request for
the last done step is answered from the record, without a second update.
"""

import json
import shutil
import socket
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.records.sample import MemberUpdate, Update
from journeyman.store.atomic import append_line, read_lines
from journeyman.store.config_file import load_config
from journeyman.store.dataset import Dataset
from journeyman.store.json_process import Emit, run
from journeyman.store.lock import hold
from journeyman.store.reading import ANEW, read_records
from journeyman.store.unfinished import check_free
from journeyman.training.batch import RlBatch, assemble
from journeyman.training.config import CriticConfig, LearnerConfig, made_with
from journeyman.training.cpu import settle
from journeyman.training.credit import GroupCredit, credit
from journeyman.training.critic import Critic
from journeyman.training.diagnostics import RatioSums
from journeyman.training.drift import inspect
from journeyman.training.figures import finite, group_figures
from journeyman.training.methods import make_objective
from journeyman.training.objectives.sao import Sao
from journeyman.training.optim import NotFinite, Optimiser
from journeyman.training.policy import (
    check_goes_with,
    checkpoint_digest,
    full_state,
    left_by_a_kill,
    load_critic,
    load_whole,
    publish,
    restore,
    trained_state,
)
from journeyman.training.routing_replay import uncovered
from journeyman.training.schedule import factor
from journeyman.training.state import StateStore, check_made_with
from journeyman.training.update import backward


class Learner:
    """Owns the model, its optimiser and its cursor. Construction resumes from the last complete state."""

    def __init__(self, config: LearnerConfig) -> None:
        scheduled = config.schedule.kind != "constant" or config.schedule.warmup_fraction > 0
        if scheduled and config.total_steps is None:
            raise UserError("total_steps is missing: a schedule with warm-up or cosine needs the number of steps")
        settle(config.threads)
        self.config = config
        self.objective = make_objective(config.objective)
        self.model = self._load()
        self.optimiser = Optimiser(self.model, config.optimiser)
        self.critic: Critic | None = None
        if isinstance(self.objective, Sao):
            self.critic = self._make_critic(self.objective.critic)
        self.store = StateStore(config.state)
        self.made_with = config.recipe_digest or made_with(config, checkpoint_digest(config.initial))
        self.step_done = -1
        self.version = 0
        self.consumed: set[str] = set()
        self.reply: dict[str, Any] = {}
        self.history: list[dict[str, float]] = []  # figures of every step, to see behaviour drift
        self._resume()

    @property
    def weights(self) -> Path:
        """Policy directory of the current version."""
        return self._directory(self.version)

    def _directory(self, version: int) -> Path:
        return self.config.weights / f"v{version}" if version else self.config.initial

    def _load(self) -> nn.Module:
        return load_whole(self.config, "journeyman.training.distributed")

    def _make_critic(self, settings: CriticConfig) -> Critic:
        config = self.config
        model = load_critic(config.initial, config.model, settings.freeze_attention, config.seed)
        return Critic(model, settings, config.forward)

    def step(self, step: int, batch_directory: Path) -> dict[str, Any]:
        """One batch, one update. Raises UserError for a batch this learner must not train on.

        After NotFinite nothing was written, and this learner must take no further step.
        """
        if step == self.step_done and self.reply:
            return self.reply
        if step <= self.step_done:
            raise UserError(f"step {step} was done already (the last is {self.step_done}): send the next one")
        started = time.perf_counter()
        dataset = Dataset.open(batch_directory)
        self._check(dataset)
        check_free(self._directory(self.version + 1), "checkpoint")
        credits = [credit(group, self.config.credit) for group in dataset.groups]
        batch = assemble(dataset, credits, None if self.critic is None else self.critic.settings.max_segment_tokens)
        self._check_versions(batch)
        figures = group_figures(credits, batch.oldest, self.version)
        tokens = batch.totals.tokens
        before = self.version
        acting = True
        try:
            if tokens and self.critic is not None:
                acting = not self.critic.pretraining
                figures |= self.critic.advise(batch)
            if tokens and acting:
                figures |= self._update(step, batch, dataset.manifest.temperature or 1.0)
                self.version += 1
        except NotFinite as error:
            raise error.of(f"step {step}") from None
        figures["seconds"] = time.perf_counter() - started
        self.history.append(figures)
        figures |= inspect(self.history)
        update = Update(
            step=step,
            objective=self.objective.name,
            reward_name=self.config.reward_name,
            version_before=before,
            version_after=self.version,
            groups={c.group.id: _members(c, batch, dataset) for c in credits if c.kept},
            dropped={c.group.id: c.dropped for c in credits if not c.kept},
            tokens=tokens,
            metrics=finite(figures),
        )
        self._commit(step, update, {c.group.id for c in credits})
        return self.reply

    def _check(self, dataset: Dataset) -> None:
        manifest = dataset.manifest
        if manifest.kind != "rl":
            raise UserError(f"{dataset.directory} is a dataset of kind {manifest.kind!r}: RL trains on rl batches")
        if not dataset.groups:
            raise UserError(f"{dataset.directory} holds no group: type journeyman data rl RUN to build one that does")
        if manifest.reward_name != self.config.reward_name:
            raise UserError(
                f"{dataset.directory} carries reward {manifest.reward_name!r}, this learner optimises "
                f"{self.config.reward_name!r}: two rewards are never mixed"
            )
        check_goes_with(dataset, self.config.initial)
        if again := sorted(g.id for g in dataset.groups if g.id in self.consumed):
            raise UserError(f"group {again[0]!r} was trained on already: a group is consumed exactly once")

    def _check_versions(self, batch: RlBatch) -> None:
        if batch.newest and max(batch.newest.values()) > self.version:
            raise UserError(
                f"the batch was sampled by version {max(batch.newest.values())}, this learner is at {self.version}: "
                "its state is older than the job; restore it or start the job anew"
            )
        if not self.objective.corrects and batch.oldest and min(batch.oldest.values()) < self.version:
            raise UserError(
                f"objective {self.objective.name!r} does not correct for tokens of an older policy and the batch has "
                "some: use cispo, give reinforce a cap, or generate and learn in turn"
            )

    def _update(self, step: int, batch: RlBatch, temperature: float) -> dict[str, float]:
        """Forward and backward over micro-batches, then the one optimiser step."""
        self.optimiser.zero()
        sums = self._gradient(batch, temperature)
        rate = factor(step + 1, self.config.total_steps or 1, self.config.schedule)
        norm = self.optimiser.step(rate, sums.loss)
        lengths = sum(len(row.ids) for row in batch.rows)
        extra = {"gradient_norm": norm, "lr": next(iter(self.optimiser.rates()), 0.0), "row_tokens": float(lengths)}
        return sums.figures() | extra | uncovered(batch.rows)

    def _gradient(self, batch: RlBatch, temperature: float) -> RatioSums:
        return backward(self.model, self.objective, batch, self.config.forward, temperature)

    def _commit(self, step: int, update: Update, groups: set[str]) -> None:
        """Publish, then save the state, then tell the ledger: a crash in between is finished on resume."""
        if update.version_after > update.version_before:
            self._publish(step, full_state(self.model))
        self._keep(step, update, groups, self._tensors())

    def _publish(self, step: int, weights: dict[str, Tensor]) -> None:
        publish(
            weights,
            self.config.initial,
            self.weights,
            name=self._name(self.version),
            version=self.version,
            step=step,
            objective=self.objective.name,
            parents=(checkpoint_digest(self._directory(self.version - 1)),),
            recipe_digest=self.config.recipe_digest,
        )

    def _name(self, version: int) -> str:
        return f"{self.config.name}-v{version}"

    def _tensors(self) -> dict[str, Any]:
        """What the state holds."""
        tensors = {
            "parameters": trained_state(self.model),
            "optimiser": self.optimiser.state(),
            "rng": torch.get_rng_state(),
        }
        if self.critic is not None:
            tensors["critic"] = self.critic.state()
        return tensors

    def _keep(
        self, step: int, update: Update, groups: set[str], tensors: dict[str, Any], place: dict[str, str] | None = None
    ) -> None:
        """Save the state (`place`: what of it lies elsewhere), then tell the ledger and have the reply ready."""
        self.step_done = step
        self.consumed |= groups
        self.reply = {
            "event": "step",
            "step": step,
            "stepped": update.version_after > update.version_before,
            "version": self.version,
            "weights": str(self.weights),
            "tokens": update.tokens,
            "kept": sorted(update.groups),
            "dropped": update.dropped,
            "metrics": update.metrics,
        }
        cursor = {
            "step": step,
            "version": self.version,
            "consumed": sorted(self.consumed),
            "reply": self.reply,
            "made_with": self.made_with,
            "update": update.model_dump(mode="json"),
            **(place or {}),
        }
        self.store.save(step, tensors, cursor)
        append_line(self.config.ledger, update.canonical())

    def _resume(self) -> None:
        if taken := self._take_up():
            tensors, _ = taken
            with self.store.taking_up():
                restore(self.model, tensors["parameters"])
                self.optimiser.load(tensors["optimiser"])
                if self.critic is not None:
                    self.critic.load(tensors["critic"])
                torch.set_rng_state(tensors["rng"])

    def _take_up(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Go on after the last committed step: the ledger made whole, weights of a step that was not committed removed.

        Returns the step's tensors and cursor, None at the beginning.
        """
        self.config.ledger.parent.mkdir(parents=True, exist_ok=True)
        complete = b"".join(line + b"\n" for line in read_lines(self.config.ledger))
        if self.config.ledger.exists() and self.config.ledger.stat().st_size != len(complete):
            with self.config.ledger.open("r+b") as file:
                file.truncate(len(complete))
        saved = self.store.load()
        if saved is not None:
            _, cursor = saved
            check_made_with(cursor, self.made_with, self.config.state)
            with self.store.taking_up():
                self.step_done, self.version = int(cursor["step"]), int(cursor["version"])
                self.consumed, self.reply = set(cursor["consumed"]), cursor["reply"]
                update = Update.model_validate(cursor["update"])
            told = read_records(self.config.ledger, Update, ANEW)
            if not told or told[-1].step != update.step:
                append_line(self.config.ledger, update.canonical())
                told = (*told, update)
            self.history = [one.metrics for one in told]
        self._clear()
        return saved

    def _clear(self) -> None:
        """Remove the next version: its step was never committed and will be made again. Raises UserError for others."""
        found = (p for p in self.config.weights.glob("v*") if p.is_dir() and p.name[1:].isdigit())
        ahead = {int(p.name[1:]): p for p in found}
        for version in sorted(n for n in ahead if n > self.version):
            directory = ahead[version]
            ours = version == self.version + 1 and left_by_a_kill(directory, self._name(version), self.weights)
            if any(directory.iterdir()) and not ours:
                raise UserError(
                    f"{directory} does not follow from the state in {self.config.state}, which is at version "
                    f"{self.version}: bring the state that made it, or give another directory for weights"
                )
        if self.version + 1 in ahead:
            shutil.rmtree(ahead[self.version + 1])


def _members(credit: GroupCredit, batch: RlBatch, dataset: Dataset) -> tuple[MemberUpdate, ...]:
    return tuple(
        MemberUpdate(
            episode=member.episode,
            raw=float(member.reward or 0.0),
            shaping=shaped.terms,
            shaped=shaped.reward,
            advantage=batch.mean_advantage(member.episode, advantage),
            samples=tuple(dataset.samples[i].ref for i in member.rows),
            versions=(batch.oldest.get(member.episode, -1), batch.newest.get(member.episode, -1)),
        )
        for member, shaped, advantage in credit.valid
    )


def serve(learner: Learner, requests: Iterable[str], emit: Emit) -> None:
    """Answer requests until the input ends or asks to stop. A UserError is an answer; NotFinite also ends it."""
    emit({"event": "ready", "step": learner.step_done, "version": learner.version, "weights": str(learner.weights)})
    for line in requests:
        if not line.strip():
            continue
        request = json.loads(line)
        if request.get("stop"):
            return
        try:
            emit(learner.step(int(request["step"]), Path(request["batch"])))
        except UserError as error:
            emit({"event": "error", "step": request["step"], "message": str(error)})
            if isinstance(error, NotFinite):  # what this process holds follows from no state
                raise


def _serve_socket(learner: Learner, path: Path) -> None:
    """One client at a time on a unix socket; a client that leaves may come back."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o600)
        server.listen(1)
        connection, _ = server.accept()
        with connection, connection.makefile("r") as reader, connection.makefile("w") as writer:
            serve(learner, reader, _line_writer(writer.write, writer.flush))
    path.unlink(missing_ok=True)


def _line_writer(write: Callable[[str], object], flush: Callable[[], object]) -> Emit:
    def emit(line: dict[str, Any]) -> None:
        write(json.dumps(line, allow_nan=False) + "\n")
        flush()

    return emit


def main(arguments: Namespace, emit: Emit) -> None:
    """Serve one job's learner."""
    config = load_config(arguments.config, LearnerConfig)
    with hold(config.state / "lock", wait=True):  # a learner whose driver was killed ends its step first
        _serve(Learner(config), arguments, emit)


def _serve(learner: Learner, arguments: Namespace, emit: Emit) -> None:
    if arguments.socket is not None:
        _serve_socket(learner, arguments.socket)
    else:
        serve(learner, sys.stdin, emit)


if __name__ == "__main__":
    sys.exit(run("RL learner", main, socket="unix socket to serve on instead of stdin and stdout"))
