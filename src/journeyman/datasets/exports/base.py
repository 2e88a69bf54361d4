"""The export seam: one segment in, one project's row out. What a project cannot take is left out whole and counted.

A row's prompt is what precedes the first trained token; its response is the rest, trained where the mask is 1. Nothing
is re-tokenised: ids, log-probs and versions are those of the dataset.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from journeyman.errors import UserError
from journeyman.records.outcome import StopReason
from journeyman.records.sample import Sample
from journeyman.store.dataset import Dataset
from journeyman.store.seam import made

CUT_OFF = {StopReason.MAX_TURNS, StopReason.CONTEXT_FULL, StopReason.TOKEN_BUDGET, StopReason.TIME_BUDGET}


@dataclass(frozen=True)
class Row:
    """One segment. Lists over the response have its length R; `logprobs` is 0.0 and `versions` -1 where mask is 0."""

    episode: str
    run: int
    segment: int
    group: str  # "" for SFT
    task: str
    attempt: int  # index in its group
    number: int  # of this segment among the episode's exported ones
    segments: int  # how many the episode has
    prompt: list[int]
    response: list[int]
    mask: list[int]
    logprobs: list[float]
    versions: list[int]
    reward: float | None  # None for SFT
    reward_name: str | None
    advantage: float | None  # None where nobody computed one
    temperature: float
    turns: int
    stop: str

    @property
    def cut_off(self) -> bool:
        """Whether a budget ended the episode."""
        return self.stop in CUT_OFF

    @property
    def last(self) -> bool:
        """Whether the episode ends with this segment."""
        return self.number == self.segments - 1


class Target(Protocol):
    """One project. `single`: it takes one segment per episode, so episodes of several are left out whole."""

    name: str
    version: str  # of the project whose fields these are
    fields: frozenset[str]  # every key a row may have
    single: bool
    use: str  # how the project loads the rows, in one line

    def row(self, row: Row) -> dict[str, Any]:
        """The project's own row, JSON values only."""
        ...


MEMBERS = ("name", "version", "fields", "single", "use", "row")
RL = {
    "trl": "journeyman.datasets.exports.trl:TrlRollout",
    "skyrl": "journeyman.datasets.exports.skyrl:SkyRlRow",
    "slime": "journeyman.datasets.exports.slime:SlimeSample",
    "verl": "journeyman.datasets.exports.verl:VerlOutput",
    "prime-rl": "journeyman.datasets.exports.prime_rl:PrimeSample",
}
SFT = {"trl": "journeyman.datasets.exports.trl:TrlTokens"}


def make_target(kind: str, name: str) -> Target:
    """The project's row of that kind ("rl" or "sft"); outsiders give module:Class. Raises UserError."""
    target: Target = made(f"{kind} export target", name, RL if kind == "rl" else SFT, MEMBERS)
    return target


def rows(dataset: Dataset, advantages: Mapping[str, float] | None = None) -> Iterator[Row]:
    """Every row of a dataset in order; `advantages` by episode. An episode's segments follow each other."""
    temperature = dataset.manifest.temperature if dataset.manifest.temperature is not None else 1.0
    if dataset.manifest.kind == "sft":
        for index, sample in enumerate(dataset.samples):
            yield _row(dataset, index, sample, temperature, {"turns": 0})
        return
    for group in dataset.groups:
        for attempt, member in enumerate(group.members):
            for number, index in enumerate(member.rows):
                given = {
                    "group": group.id,
                    "task": group.task,
                    "attempt": attempt,
                    "number": number,
                    "segments": len(member.rows),
                    "turns": member.turns,
                    "advantage": None if advantages is None else advantages.get(member.episode),
                }
                yield _row(dataset, index, dataset.samples[index], temperature, given)


def _row(dataset: Dataset, index: int, sample: Sample, temperature: float, given: Mapping[str, Any]) -> Row:
    tokens = dataset.row(index)
    trained = np.flatnonzero(tokens.mask)
    if not len(trained):
        raise UserError(f"{sample.ref.episode}: row {index} trains no token: build the dataset again")
    at = int(trained[0])
    mask = tokens.mask[at:]
    logprobs = np.where(mask == 1, np.nan_to_num(tokens.logprobs[at:], nan=0.0), 0.0)
    values: dict[str, Any] = {
        "group": "",
        "task": "",
        "attempt": 0,
        "number": 0,
        "segments": 1,
        "advantage": None,
        "reward": sample.reward,
        "reward_name": sample.reward_name,
        **given,
    }
    return Row(
        episode=sample.ref.episode,
        run=sample.ref.run,
        segment=sample.ref.segment,
        prompt=tokens.ids[:at].tolist(),
        response=tokens.ids[at:].tolist(),
        mask=mask.tolist(),
        logprobs=logprobs.tolist(),
        versions=np.where(mask == 1, tokens.versions[at:], -1).tolist(),
        temperature=temperature,
        stop=sample.stop,
        **values,
    )
