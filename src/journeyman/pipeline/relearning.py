"""Whether the learner's ledger says what follows: every step's groups, rewards, advantages and figures again.

From sealed batches, grades and the recipe's credit alone, without a model: what only weights could tell (loss, ratios,
a critic's advantages) is taken as it stands.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from journeyman.pipeline.finished import Told
from journeyman.records.sample import MemberUpdate, Update
from journeyman.store.dataset import Dataset
from journeyman.training.credit import CreditConfig, GroupCredit, credit
from journeyman.training.figures import finite, group_figures

CLOSE = 1e-9
Rewards = Mapping[str, Mapping[str, float]]  # episode -> its official grade's rewards by name
Seen = Mapping[str, tuple[int, int]]  # episode -> oldest and newest version among its trained tokens


def step_faults(told: Told, datasets: Mapping[Path, Dataset], rewards: Rewards) -> Iterator[str]:
    """The first fault of each step. `datasets`: the sound ones by directory."""
    path = told.run.job.ledger / "updates.jsonl"
    consumed: dict[str, int] = {}
    for update in told.updates:
        where = f"{path}, step {update.step}"
        for name in (*update.groups, *update.dropped):
            if consumed.setdefault(name, update.step) != update.step:
                yield f"{where}: group {name} was trained on in step {consumed[name]} already"
        dataset = datasets.get(told.run.job.data / "rl" / f"{update.step:05d}")
        if dataset is not None and (fault := next(_step(update, dataset, told.run.recipe.rl.credit, rewards), "")):
            yield f"{where}: {fault}"


def _step(update: Update, dataset: Dataset, config: CreditConfig, rewards: Rewards) -> Iterator[str]:
    name = dataset.manifest.reward_name or ""
    if update.reward_name != name:
        yield f"reward {update.reward_name}, and {dataset.directory} carries {name}"
    for member in (m for group in dataset.groups for m in group.members if m.valid and m.episode in rewards):
        if member.reward != rewards[member.episode].get(name):
            said = rewards[member.episode].get(name)
            yield f"{member.episode} has reward {member.reward} in {dataset.directory}, and {said} in its grade"
    credits = [credit(group, config) for group in dataset.groups]
    kept = {c.group.id: c for c in credits if c.kept}
    if (set(update.groups), set(update.dropped)) != (set(kept), {c.group.id for c in credits if not c.kept}):
        yield f"its groups are not those that {dataset.directory} has and credit keeps"
        return
    seen = _versions(dataset, credits)
    critic = config.advantage == "critic"
    for name, one in kept.items():
        expected = tuple(_member(one, dataset, seen))
        yield from _differing(name, update.groups[name], expected, critic)
    if not critic:
        yield from _sums(update, dataset, credits, {e: oldest for e, (oldest, _) in seen.items()})


def _versions(dataset: Dataset, credits: list[GroupCredit]) -> Seen:
    seen = {}
    for member, _, _ in (entry for one in credits for entry in one.valid):
        rows = [dataset.row(i) for i in member.rows]
        found = [int(v) for row in rows for v in row.versions[row.mask == 1]]
        if found:
            seen[member.episode] = (min(found), max(found))
    return seen


def _member(one: GroupCredit, dataset: Dataset, seen: Seen) -> Iterator[MemberUpdate]:
    """What the learner must have written of a group."""
    for member, shaped, advantage in one.valid:
        yield MemberUpdate(
            episode=member.episode,
            raw=float(member.reward or 0.0),
            shaping=shaped.terms,
            shaped=shaped.reward,
            advantage=advantage,
            samples=tuple(dataset.samples[i].ref for i in member.rows),
            versions=seen.get(member.episode, (-1, -1)),
        )


def _differing(
    group: str, told: tuple[MemberUpdate, ...], expected: tuple[MemberUpdate, ...], critic: bool
) -> Iterator[str]:
    if [m.episode for m in told] != [m.episode for m in expected]:
        yield f"group {group} has other members than its batch"
        return
    for one, other in zip(told, expected, strict=True):
        skipped = {"advantage"} if critic else set[str]()
        said, found = one.model_dump(exclude=skipped), other.model_dump(exclude=skipped)
        for name in said:
            if name == "samples" and said[name] != found[name]:
                yield f"{one.episode}: its samples are not its rows in the batch"
            elif not _same(said[name], found[name]):
                yield f"{one.episode}: {name} is {said[name]}, and {found[name]} follows from its batch"


def _sums(update: Update, dataset: Dataset, credits: list[GroupCredit], oldest: dict[str, int]) -> Iterator[str]:
    rows = [i for one in credits if one.kept for member, _, _ in one.valid for i in member.rows]
    if (tokens := sum(dataset.samples[i].trained_tokens for i in rows)) != update.tokens:
        yield f"N is {update.tokens}, and its batch has {tokens} trained tokens"
    figures = finite(group_figures(credits, oldest, update.version_before))
    for name in sorted(figures.keys() & update.metrics.keys()):
        if not _same(update.metrics[name], figures[name]):
            yield f"{name} is {update.metrics[name]}, and {figures[name]} follows from its batch"


def _same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= CLOSE * max(1.0, abs(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    return one == other
