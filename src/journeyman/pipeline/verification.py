"""Recheck everything immutable below a path, offline and without a model; the first fault of each part is named."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from journeyman.admission.release import MARKER as RELEASED
from journeyman.admission.release import verify_release
from journeyman.capture.verify import verify_episode, verify_job
from journeyman.errors import JourneymanError, UserError
from journeyman.records.base import sha256_hex
from journeyman.records.grade import Grade
from journeyman.records.sample import Checkpoint
from journeyman.store.dataset import MARKER as DATASET
from journeyman.store.dataset import Dataset
from journeyman.store.layout import SEAL_NAME, Job
from journeyman.store.seal import seal_digest

CHECKPOINT = "CHECKPOINT.json"


class Checked(NamedTuple):
    """What was looked at (counts by kind) and what is wrong with it."""

    counts: dict[str, int]
    faults: list[str]


def verify_path(path: Path) -> Checked:
    """Check a run, a release, an episode, a dataset or a checkpoint. Raises UserError where it is none of these."""
    if (path / SEAL_NAME).exists():
        fault = verify_episode(path)
        return Checked({"episodes": 1}, [str(fault)] if fault else [])
    for marker, check in ((RELEASED, _releases), (DATASET, _datasets), (CHECKPOINT, _checkpoints)):
        if (path / marker).exists():
            counts: dict[str, int] = {}
            faults = list(check([path], counts))
            return Checked(counts, faults)
    if not (path / "episodes").is_dir():
        raise UserError(f"{path} is no run, release, episode, dataset or checkpoint: nothing to verify there")
    return _run(Job(path))


def _run(job: Job) -> Checked:
    verified = verify_job(job.root)
    counts = {
        "episodes": verified.episodes,
        "segments": verified.segments,
        "turns": verified.turns,
        "tokens": verified.tokens,
        "sampled tokens": verified.sampled,
    }
    faults = [str(f) for f in verified.faults]
    faults += _grades(job, counts)
    faults += _releases([p.parent for p in sorted(job.tasks.glob(f"*/{RELEASED}"))], counts)
    faults += _datasets([p.parent for p in sorted(job.data.glob(f"**/{DATASET}"))], counts)
    faults += _checkpoints([p.parent for p in sorted(job.weights.glob(f"**/{CHECKPOINT}"))], counts)
    return Checked(counts, faults)


def _grades(job: Job, counts: dict[str, int]) -> Iterator[str]:
    """Every grade joins a seal that is what it was when it was graded."""
    for path in sorted(job.grades.glob("*/*/*/*/*.json")):
        counts["grades"] = counts.get("grades", 0) + 1
        episode = job.episodes / path.parent.relative_to(job.grades)
        data = path.read_bytes()
        try:
            grade = Grade.parse(data)
        except ValueError as error:
            yield f"{path} is unreadable: {str(error).splitlines()[0]}"
            continue
        if not grade.is_what(data):
            yield f"{path} changed after it was written"
        elif grade.grader.digest() != path.stem:
            yield f"{path} is not named after the grader in it"
        elif not (episode / SEAL_NAME).exists() or seal_digest(episode) != grade.seal_digest:
            yield f"{path} grades a seal that is not the one of {episode}"


def _releases(directories: list[Path], counts: dict[str, int]) -> Iterator[str]:
    for directory in directories:
        try:
            release = verify_release(directory)
            counts["tasks"] = counts.get("tasks", 0) + len(release.manifest.tasks)
        except JourneymanError as error:
            yield str(error)


def _datasets(directories: list[Path], counts: dict[str, int]) -> Iterator[str]:
    for directory in directories:
        counts["datasets"] = counts.get("datasets", 0) + 1
        try:
            Dataset.open(directory)
        except JourneymanError as error:
            yield str(error)
        except ValueError as error:
            yield f"{directory / DATASET} is unreadable: {str(error).splitlines()[0]}"


def _checkpoints(directories: list[Path], counts: dict[str, int]) -> Iterator[str]:
    for directory in directories:
        counts["checkpoints"] = counts.get("checkpoints", 0) + 1
        data = (directory / CHECKPOINT).read_bytes()
        try:
            record = Checkpoint.parse(data)
        except ValueError as error:
            yield f"{directory / CHECKPOINT} is unreadable: {str(error).splitlines()[0]}"
            continue
        if not record.is_what(data):
            yield f"{directory / CHECKPOINT} changed after it was written"
            continue
        for name, digest in sorted(record.files.items()):
            path = directory / name
            if not path.exists() or sha256_hex(path.read_bytes()) != digest:
                yield f"{path} is missing or changed after it was written"
                break
