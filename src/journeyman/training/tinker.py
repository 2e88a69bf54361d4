"""The Tinker API as a second learner behind the same seam: batches in, one update each, versions and records out.

`python -m journeyman.training.tinker --config FILE` speaks what `journeyman.training.learner` speaks. Weights live with
the service (hosted, or a server of the same protocol at `base_url`); a version's directory holds TINKER.json, which
names where its sampler and its state are. The key comes from the environment (TINKER_API_KEY).

A row becomes a Datum shifted by one: input ids[:-1], targets ids[1:], log-probs as recorded, advantages A/N where a
token is trained and 0 elsewhere, so that the service's sum over tokens is our mean over the batch's N.
"""

import json
import sys
from argparse import Namespace
from importlib import import_module
from typing import Any, cast

import numpy as np
import torch

from journeyman.errors import UserError
from journeyman.records.base import sha256_hex
from journeyman.records.sample import Checkpoint, Update
from journeyman.store.atomic import write_atomic
from journeyman.store.checkpoint import MARKER
from journeyman.store.config_file import load_config
from journeyman.store.json_process import Emit, run
from journeyman.store.lock import hold
from journeyman.store.unfinished import begin, finish
from journeyman.training.batch import RlBatch
from journeyman.training.config import LearnerConfig
from journeyman.training.diagnostics import RatioSums
from journeyman.training.learner import Learner, serve
from journeyman.training.methods import make_objective
from journeyman.training.objectives.cispo import Cispo
from journeyman.training.optim import check_finite
from journeyman.training.policy import checkpoint_digest
from journeyman.training.schedule import factor
from journeyman.training.state import StateStore

PLACE = "TINKER.json"


class TinkerConfig(LearnerConfig):
    """`python -m journeyman.training.tinker --config FILE`. `initial` holds the tokenizer and template of the model."""

    base_model: str  # as the service calls it
    base_url: str | None = None  # None: the hosted service
    rank: int = 32


class TinkerLearner(Learner):
    """`Learner` whose model and optimiser are the service's."""

    def __init__(self, config: TinkerConfig) -> None:
        objective = make_objective(config.objective)
        if not isinstance(objective, Cispo) or objective.policies != 2:
            raise UserError(f"the Tinker API computes no {objective.name!r} as we define it: choose cispo")
        if config.optimiser.kind != "adamw":
            raise UserError(f"optimiser {config.optimiser.kind!r}: the Tinker API is asked for adamw")
        try:
            self._tinker: Any = import_module("tinker")
        except ImportError as error:
            raise UserError(f"the Tinker API needs its client ({error}): pip install tinker==0.38.0") from None
        self.config = config
        self.settings = config
        self.objective = objective
        self.critic = None
        self.store = StateStore(config.state)
        self.step_done = -1
        self.version = 0
        self.consumed: set[str] = set()
        self.reply: dict[str, Any] = {}
        self.history: list[dict[str, float]] = []
        service = self._tinker.ServiceClient(base_url=config.base_url)
        if taken := self._take_up():
            state = str(taken[1]["tinker_state"])
            self.client: Any = service.create_training_client_from_state_with_optimizer(state).result()
        else:
            made = service.create_lora_training_client(config.base_model, rank=config.rank, seed=config.seed)
            self.client = made.result()

    def _update(self, step: int, batch: RlBatch, temperature: float) -> dict[str, float]:
        if temperature != 1.0:
            raise UserError(
                f"the batch was sampled at temperature {temperature}; the Tinker API scores at 1: sample at 1"
            )
        objective, optimiser = cast(Cispo, self.objective), self.config.optimiser
        bounds = {"clip_low_threshold": objective.clip_low, "clip_high_threshold": objective.clip_high}
        rate = factor(step + 1, self.config.total_steps or 1, self.config.schedule)
        scored = self.client.forward_backward(self._datums(batch), "cispo", bounds).result()
        sums = self._sums(batch, [np.asarray(one["logprobs"].to_numpy()) for one in scored.loss_fn_outputs])
        check_finite("the loss of the policy", sums.loss)
        stepped = self.client.optim_step(
            self._tinker.AdamParams(
                learning_rate=optimiser.lr * rate,
                beta1=optimiser.betas[0],
                beta2=optimiser.betas[1],
                eps=optimiser.epsilon,
                weight_decay=optimiser.weight_decay,
                grad_clip_norm=optimiser.clip_norm or 0.0,
            )
        )
        stepped.result()
        figures = sums.figures()
        figures.pop("entropy", None)  # the service does not tell it
        return figures | {"lr": optimiser.lr * rate, "row_tokens": float(sum(len(row.ids) for row in batch.rows))}

    def _datums(self, batch: RlBatch) -> list[Any]:
        count = batch.totals.tokens
        made = []
        for index, row in enumerate(batch.rows):
            advantages, logprobs = np.zeros(len(row.ids), np.float32), np.zeros(len(row.ids), np.float32)
            tokens = batch.tokens([index], torch.from_numpy(batch.behaviour[index]))
            advantages[row.targets] = tokens.advantage.numpy() / count
            logprobs[row.targets] = batch.behaviour[index]
            inputs = {"target_tokens": row.ids[1:], "logprobs": logprobs[1:], "advantages": advantages[1:]}
            prompt = self._tinker.ModelInput.from_ints(row.ids[:-1].tolist())
            made.append(self._tinker.Datum(model_input=prompt, loss_fn_inputs=inputs))
        return made

    def _sums(self, batch: RlBatch, logprobs: list[Any]) -> RatioSums:
        sums, objective = RatioSums(), cast(Cispo, self.objective)
        for index, row in enumerate(batch.rows):
            logp = torch.from_numpy(logprobs[index].astype(np.float32))[torch.from_numpy(row.targets - 1)]
            tokens = batch.tokens([index], logp)
            loss = objective.loss(tokens, batch.totals)
            sums.add(logp, tokens.behaviour, torch.zeros_like(logp), loss.clipped, float(loss.value))
        return sums

    def _commit(self, step: int, update: Update, groups: set[str]) -> None:
        """Let the service keep the state, name it here, then tell the ledger: what is not named never happened."""
        name = self._name(self.version)
        state = str(self.client.save_state(name, overwrite=True).result().path)
        if update.version_after > update.version_before:
            sampler = str(self.client.save_weights_for_sampler(name).result().path)
            self._name_place(step, name, {"sampler": sampler, "state": state, "base_model": self.settings.base_model})
        self._keep(step, update, groups, {}, {"tinker_state": state})

    def _name_place(self, step: int, name: str, place: dict[str, str]) -> None:
        begin(self.weights, "checkpoint")
        data = json.dumps(place, indent=1, sort_keys=True).encode()
        write_atomic(self.weights / PLACE, data)
        record = Checkpoint(
            name=name,
            version=self.version,
            parents=(checkpoint_digest(self._directory(self.version - 1)),),
            step=step,
            objective=self.objective.name,
            files={PLACE: sha256_hex(data)},
            recipe_digest=self.config.recipe_digest,
        ).checked()
        write_atomic(self.weights / MARKER, record.canonical())
        finish(self.weights)


def main(arguments: Namespace, emit: Emit) -> None:
    """Serve one job's learner."""
    config = load_config(arguments.config, TinkerConfig)
    with hold(config.state / "lock", wait=True):
        serve(TinkerLearner(config), sys.stdin, emit)


if __name__ == "__main__":
    sys.exit(run("RL learner on the Tinker API", main))
