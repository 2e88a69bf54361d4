"""One row per try of an evaluated attempt, read from seal and grade; a try that failed has no reward, not zero."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from journeyman.grading.episode import grade_path, outcome_of, read_grade
from journeyman.records.base import Record
from journeyman.records.episode import EpisodeSpec, Usage
from journeyman.records.grade import OPTIMISED, REPORTED, Grade
from journeyman.records.outcome import Graded, Quarantined
from journeyman.records.rubric import Rubric
from journeyman.records.task import Task
from journeyman.store.layout import Job
from journeyman.store.sealed import SealedEpisode


class Decided(Record):
    """One verdict with what the rubric says about its criterion."""

    criterion: str
    proposition: str
    group: str
    weight: float
    met: bool


class EpisodeRow(Record):
    """What evaluation needs of one try."""

    spec: EpisodeSpec
    environment_type: str
    reward: float | None  # None: not graded
    signed: float | None
    decided: tuple[Decided, ...]
    usage: Usage
    tool_errors: int  # executed calls that answered with an error
    timing: dict[str, float]  # seconds
    stop: str  # "" where the try failed
    failure: Quarantined | None

    @property
    def attempt(self) -> tuple[str, float, str, str, int]:
        """Identity of the attempt this is a try of."""
        spec = self.spec
        return spec.policy, spec.sampling.temperature, spec.task, spec.group, spec.attempt

    def passes(self, pass_reward: float) -> bool:
        """Whether the try passes: full reward and no error criterion MET."""
        errors = any(d.met and d.weight < 0 for d in self.decided)
        return self.reward is not None and self.reward >= pass_reward - 1e-9 and not errors


def read_row(job: Job, directory: Path, task: Task) -> EpisodeRow:
    """One sealed try with its official outcome. Raises SealBroken where there is no seal, Unreadable."""
    sealed = SealedEpisode(directory)
    episode = sealed.episode
    grades = job.grades_dir(episode.spec.key)
    outcome = outcome_of(directory, grades)
    grade = read_grade(grade_path(grades, episode.grader_digest)) if isinstance(outcome, Graded) else None
    return EpisodeRow(
        spec=episode.spec,
        environment_type=task.metadata.environment_type,
        reward=None if grade is None else grade.rewards[REPORTED],
        signed=None if grade is None else grade.rewards[OPTIMISED],
        decided=() if grade is None else _decided(grade, task.rubric),
        usage=episode.usage,
        tool_errors=sum(event.valid and event.is_error for event in sealed.dispatch),
        timing=episode.timing,
        stop="" if episode.stop is None else str(episode.stop),
        failure=outcome if isinstance(outcome, Quarantined) else None,
    )


def _decided(grade: Grade, rubric: Rubric) -> tuple[Decided, ...]:
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    return tuple(
        Decided(criterion=c.id, proposition=c.proposition, group=c.group, weight=c.weight, met=verdict.met)
        for verdict in grade.verdicts
        for c in (criteria[verdict.criterion],)
    )


def read_rows(
    job: Job,
    directories: Iterable[Path],
    tasks: Mapping[str, Task],
    on_row: Callable[[EpisodeRow], None] = lambda row: None,
) -> list[EpisodeRow]:
    """Rows of sealed episode directories; `tasks` by slug. `on_row` is told of each, for progress."""
    rows = []
    for directory in directories:
        slug = directory.relative_to(job.episodes).parts[1]
        row = read_row(job, directory, tasks[slug])
        on_row(row)
        rows.append(row)
    return rows


def last_tries(rows: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    """The last try of every attempt: the one that counts."""
    last: dict[tuple[str, float, str, str, int], EpisodeRow] = {}
    for row in rows:
        held = last.get(row.attempt)
        if held is None or row.spec.try_ > held.spec.try_:
            last[row.attempt] = row
    return list(last.values())
