"""Recheck everything immutable below a path, offline and without a model; the first fault of each part is named.

Invariant: a training row is bound to its segment's certificate, and where the episode is here, to the sealed ids.
What cannot be read is a fault like any other.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from journeyman.admission.release import MARKER as RELEASED
from journeyman.admission.release import verify_release
from journeyman.capture.verify import Verified, verify_job
from journeyman.errors import JourneymanError, UserError
from journeyman.grading.base import OFFICIAL
from journeyman.pipeline.finished import CHECKPOINT, Told, missing, read_told, unmarked
from journeyman.pipeline.recomputing import report_faults
from journeyman.pipeline.relearning import step_faults
from journeyman.records.base import first_fault
from journeyman.records.episode import Seal
from journeyman.records.grade import Grade
from journeyman.records.sample import Checkpoint
from journeyman.store.checkpoint import first_changed
from journeyman.store.dataset import MARKER as DATASET
from journeyman.store.dataset import Dataset
from journeyman.store.layout import SEAL_NAME, Job
from journeyman.store.seal import is_sealed, seal_digest
from journeyman.tokens.certificate import Certificate

ATTEMPT_DEPTH = 5  # of JOB/episodes/policy/task/group/attempt.try


class Checked(NamedTuple):
    """What was looked at (counts by kind), what is wrong with it, and what an episode's certificates say."""

    counts: dict[str, int]
    faults: list[str]
    said: tuple[str, ...] = ()


@dataclass
class _Seen:
    """What one part says that another is held against."""

    told: Told | None = None  # None: of no run
    verified: Verified | None = None  # None: the episodes are elsewhere
    graded: set[str] = field(default_factory=set)  # keys of episodes with an official grade, sound or not
    rewards: dict[str, dict[str, float]] = field(default_factory=dict)  # episode -> those of its official grade
    datasets: dict[Path, Dataset] = field(default_factory=dict)  # sound ones

    def half(self, directory: Path, names: Iterable[str]) -> bool:
        """Whether a killed run left only part of the directory, and may have."""
        may = self.told is not None and not self.told.settled(directory)
        return may and not all((directory / name).exists() for name in names)


def verify_path(path: Path) -> Checked:
    """Check a run, a release, an episode, a dataset or a checkpoint. Raises UserError where it is none of these."""
    try:
        return _checked(path)
    except OSError as error:
        return Checked({}, [_unreadable(error)])


def _unreadable(error: OSError) -> str:
    return f"{error.filename} cannot be read: {error.strerror}"


def _checked(path: Path) -> Checked:
    if (path / SEAL_NAME).exists():
        return _episode(path)
    for marker, check in ((RELEASED, _releases), (DATASET, _datasets), (CHECKPOINT, _checkpoints)):
        if (path / marker).exists():
            counts: dict[str, int] = {}
            faults = list(check([path], counts, _Seen()))
            return Checked(counts, faults)
    if (path / "turns.jsonl").exists():
        raise UserError(
            f"{path} is not sealed: its attempt is going on, or was killed; the command that began it goes on with it "
            "(journeyman gateway: the same --out and --episode, then Ctrl-C)"
        )
    if not (path / "episodes").is_dir():
        raise UserError(f"{path} is no run, release, episode, dataset or checkpoint: nothing to verify there")
    return _run(Job(path))


def _episode(directory: Path) -> Checked:
    verified = Verified()
    verified.add(directory)
    said = [
        f"segment {c.run}.{c.segment}: {c.turns} turns, {c.length:,} ids, {c.sampled:,} sampled by "
        f"{_versions(c)}, certificate {c.ids_sha256[:16]}"
        for found in verified.certificates.values()
        for c in found
    ]
    return Checked(_counts(verified), [str(f) for f in verified.faults], tuple(said))


def _versions(certificate: Certificate) -> str:
    versions = sorted({span.version for span in certificate.versions})
    if not versions or versions == [-1]:
        return "no policy"
    shown = f"{versions[0]}" if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
    return f"policy version {shown}"


def _counts(verified: Verified) -> dict[str, int]:
    return {
        "episodes": verified.episodes,
        "sealed files": verified.files,
        "segments with a certificate": verified.segments,
        "turns": verified.turns,
        "turns nobody was told": verified.orphans,
        "tokens": verified.tokens,
        "sampled tokens": verified.sampled,
    }


def _run(job: Job) -> Checked:
    if closed := list(_closed(job.root, ATTEMPT_DEPTH)):
        return Checked({}, closed)  # what lies in there would be told missing
    told, faults = read_told(job)
    verified = verify_job(job.root)
    counts = _counts(verified)
    seen = _Seen(told, verified)
    faults += _grades(job, counts, seen)
    faults += [str(f) for f in verified.faults if not _in_flight(job, f.episode, seen)]
    faults += _releases([p.parent for p in sorted(job.tasks.glob(f"*/{RELEASED}"))], counts, seen)
    faults += _datasets([p.parent for p in sorted(job.data.glob(f"**/{DATASET}"))], counts, seen)
    faults += _checkpoints([p.parent for p in sorted(job.weights.glob(f"**/{CHECKPOINT}"))], counts, seen)
    whole = not faults  # what is broken already cannot be recomputed
    if told is None:
        faults += [f"{path} is missing" for path in unmarked(job, None)]
    else:
        sound, broken = {n.partition("/")[2] for n in verified.seals}, {job.key_of(f.episode) for f in verified.faults}
        faults += missing(told, sound | broken, seen.graded | broken)
        counts["optimiser steps"] = len(told.updates)
        faults += step_faults(told, seen.datasets, seen.rewards)
    if (job.report / "report.json").exists():
        counts["reports"] = 1
        faults += report_faults(job) if whole else []
    return Checked({kind: n for kind, n in counts.items() if n or kind != "optimiser steps"}, faults)


def _in_flight(job: Job, episode: Path, seen: _Seen) -> bool:
    """Whether an attempt was never sealed because the run was killed before."""
    key = job.key_of(episode)
    return seen.told is not None and seen.told.going(key) and key not in seen.graded and not is_sealed(episode)


def _closed(directory: Path, depth: int) -> Iterator[str]:
    """Directories down to `depth` that cannot be listed or entered."""
    if not os.access(directory, os.R_OK | os.X_OK):
        yield f"{directory} cannot be read: nothing in it was checked"
    elif depth:
        with os.scandir(directory) as found:
            inner = sorted(entry.path for entry in found if entry.is_dir())
        for path in inner:
            yield from _closed(Path(path), depth - 1)


def _grades(job: Job, counts: dict[str, int], seen: _Seen) -> Iterator[str]:
    """Every grade joins a seal that is what it was when it was graded."""
    for path in sorted(job.grades.glob("*/*/*/*/*.json")):
        counts["grades"] = counts.get("grades", 0) + 1
        key = path.parent.relative_to(job.grades).as_posix()
        try:
            data = path.read_bytes()
            grade = Grade.parse(data)
        except (OSError, ValueError) as error:
            seen.graded.add(key)
            yield _unparsed(path, error)
            continue
        if grade.grader.name == OFFICIAL:
            seen.graded.add(key)
            seen.rewards[grade.episode] = grade.rewards
        episode = job.episode_dir(key)
        if not grade.is_what(data):
            yield f"{path} changed after it was written"
        elif grade.grader.digest() != path.stem:
            yield f"{path} is not named after the grader in it"
        elif not _sealed_as(episode, grade.seal_digest):
            yield f"{path} grades a seal that is not the one of {episode}"


def _sealed_as(episode: Path, digest: str) -> bool:
    try:
        return seal_digest(episode) == digest
    except OSError:
        return False


def _unparsed(path: Path, error: OSError | ValueError) -> str:
    return _unreadable(error) if isinstance(error, OSError) else f"{path} is unreadable: {first_fault(error)}"


def _releases(directories: list[Path], counts: dict[str, int], _seen: _Seen) -> Iterator[str]:
    for directory in directories:
        try:
            release = verify_release(directory)
            counts["tasks"] = counts.get("tasks", 0) + len(release.manifest.tasks)
        except JourneymanError as error:
            yield str(error)


def _datasets(directories: list[Path], counts: dict[str, int], seen: _Seen) -> Iterator[str]:
    """Every byte, and every row against its episode; where the episodes are elsewhere, rows by themselves."""
    for directory in directories:
        counts["datasets"] = counts.get("datasets", 0) + 1
        try:
            if seen.half(directory, Seal.parse((directory / DATASET).read_bytes()).files):
                continue
            dataset = Dataset.open(directory)
            counts["training rows"] = counts.get("training rows", 0) + len(dataset.samples)
            rows = range(len(dataset.samples))
            fault = next(filter(None, (_row_fault(dataset, i, seen.verified) for i in rows)), "")
            if fault:
                yield f"{directory}: {fault}"
            else:
                seen.datasets[directory] = dataset
        except JourneymanError as error:
            yield str(error)
        except (OSError, ValueError) as error:
            yield _unparsed(directory / DATASET, error)


def _row_fault(dataset: Dataset, index: int, verified: Verified | None) -> str:
    """How a row differs from the certificate of its segment; "" where it does not."""
    ref = dataset.samples[index].ref
    where = f"row {index} ({ref.episode}#{ref.run}.{ref.segment})"
    if not ref.ids_sha256:
        return f"{where} carries no certificate: nothing vouches for its ids; build the dataset again"
    if (
        hashlib.sha256(np.ascontiguousarray(dataset.row(index).ids, dtype="<i4").tobytes()).hexdigest()
        != ref.ids_sha256
    ):
        return f"{where} has other ids than the certificate it carries"
    if verified is None:
        return ""
    if ref.episode not in verified.seals:
        return f"{where} is of an episode that is not here, or not sound"
    if verified.seals[ref.episode] != ref.seal_digest:
        return f"{where} is of another seal than the episode has"
    certified = {(c.run, c.segment): c.ids_sha256 for c in verified.certificates[ref.episode]}
    if certified.get((ref.run, ref.segment)) != ref.ids_sha256:
        return f"{where} carries another certificate than its segment has"
    return ""


def _checkpoints(directories: list[Path], counts: dict[str, int], seen: _Seen) -> Iterator[str]:
    for directory in directories:
        counts["checkpoints"] = counts.get("checkpoints", 0) + 1
        try:
            data = (directory / CHECKPOINT).read_bytes()
            record = Checkpoint.parse(data)
        except (OSError, ValueError) as error:
            yield _unparsed(directory / CHECKPOINT, error)
            continue
        if not record.is_what(data):
            yield f"{directory / CHECKPOINT} changed after it was written"
        elif not seen.half(directory, record.files):
            yield from _first_changed(directory, record)


def _first_changed(directory: Path, record: Checkpoint) -> Iterator[str]:
    try:
        if changed := first_changed(directory, record):
            yield changed
    except OSError as error:
        yield _unreadable(error)
