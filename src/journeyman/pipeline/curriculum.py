"""The curriculum gate over rollouts: what policies made of a release, and a release of what is worth training on.

Invariant: only sealed, graded attempts are evidence; the given release stays as it is, the new one names its origin.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import journeyman
from journeyman.admission.curriculum import Concentration, Rules, Trial, Tried, choose, concentration
from journeyman.admission.release import DECISIONS, create_release, verify_release
from journeyman.errors import UserError
from journeyman.grading.episode import outcome_of
from journeyman.records.admission import Admission, GateResult
from journeyman.records.outcome import Graded
from journeyman.store.atomic import read_lines
from journeyman.store.layout import Job
from journeyman.store.sealed import SealedEpisode
from journeyman.tasks.package import load_task


class Chosen(NamedTuple):
    """What the curriculum gate decided."""

    results: dict[str, GateResult]
    concentration: Concentration


def _trials(source: str, bypassed: Collection[str]) -> dict[str, list[Trial]]:
    """Task -> attempts of RUN or RUN:POLICY, the last try of each. Raises UserError where there is none."""
    run, _, policy = source.partition(":")
    job, last = Job(Path(run)), {}
    for directory in job.sealed(policy or None):
        last[directory.with_suffix("")] = directory  # group/attempt.try: the highest try comes last
    if not last:
        raise UserError(f"{source} has no sealed episode: give RUN or RUN:POLICY after journeyman rollout")
    found: dict[str, list[Trial]] = defaultdict(list)
    for directory in last.values():
        sealed = SealedEpisode.open(directory, verify=False)
        outcome = outcome_of(directory, job.grades_dir(job.key_of(directory)))
        found[sealed.episode.spec.task].append(
            Trial(
                reward=outcome.reward if isinstance(outcome, Graded) else None,
                sampled_tokens=sum(turn.sampled.end - turn.sampled.start for turn in sealed.turns),
                bypass=sealed.episode.spec.id in bypassed,
            )
        )
    return found


def curriculum(
    release: Path, base: str, strong: str | None, weak: str | None, out: Path, rules: Rules, bypassed: Collection[str]
) -> Chosen:
    """Decide every training task of `release` by rollouts, and write `out` with those kept; other splits go along.

    Raises UserError: no rollouts, a task nobody tried, a mixture of one kind, or `out` exists.
    """
    given = verify_release(release)
    sources = {"base": base, "strong": strong, "weak": weak}
    trials = {name: _trials(source, bypassed) if source else {} for name, source in sources.items()}
    tasks = {d.name: load_task(d, handlers=False) for d in given.task_dirs("train")}
    if untried := sorted(tasks.keys() - trials["base"].keys()):
        raise UserError(f"{base} has no attempt at {untried[0]} (of {len(untried)}): roll out the whole training split")
    tried = [
        Tried(
            task=name,
            cell=task.metadata.environment_type,
            base=tuple(trials["base"][name]),
            strong=tuple(trials["strong"].get(name, ())),
            weak=tuple(trials["weak"].get(name, ())),
        )
        for name, task in tasks.items()
    ]
    results = choose(tried, rules)
    decided = [_with(Admission.parse(line), results) for line in read_lines(release / DECISIONS)]
    created_from = {
        "release": given.manifest.digest(),
        "curriculum": rules.digest(),
        "journeyman": journeyman.__version__,
    }
    create_release(out, _released(decided, given.manifest.tasks), given.task_dirs(), created_from)
    return Chosen(results, concentration(tried))


def _with(admission: Admission, results: dict[str, GateResult]) -> Admission:
    result = results.get(admission.task)
    return admission if result is None else admission.model_copy(update={"gates": (*admission.gates, result)})


def _released(decided: Sequence[Admission], tasks: Collection[str]) -> list[Admission]:
    """Decisions about the tasks that the release holds; others were refused or merged before."""
    return [admission for admission in decided if admission.task in tasks]
