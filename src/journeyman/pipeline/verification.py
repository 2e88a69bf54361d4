"""Recheck everything immutable below a path, offline and without a model; the first fault of each part is named.

Invariant: a training row is bound to its segment's certificate, and where the episode is here, to the sealed ids.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from journeyman.admission.release import MARKER as RELEASED
from journeyman.admission.release import verify_release
from journeyman.capture.verify import Verified, verify_job
from journeyman.errors import JourneymanError, UserError
from journeyman.pipeline.recomputing import report_faults
from journeyman.records.base import first_fault, sha256_hex
from journeyman.records.grade import Grade
from journeyman.records.sample import Checkpoint
from journeyman.store.dataset import MARKER as DATASET
from journeyman.store.dataset import Dataset
from journeyman.store.layout import SEAL_NAME, Job
from journeyman.store.seal import seal_digest
from journeyman.tokens.certificate import Certificate

CHECKPOINT = "CHECKPOINT.json"


class Checked(NamedTuple):
    """What was looked at (counts by kind), what is wrong with it, and what an episode's certificates say."""

    counts: dict[str, int]
    faults: list[str]
    said: tuple[str, ...] = ()


def verify_path(path: Path) -> Checked:
    """Check a run, a release, an episode, a dataset or a checkpoint. Raises UserError where it is none of these."""
    if (path / SEAL_NAME).exists():
        return _episode(path)
    for marker, check in ((RELEASED, _releases), (DATASET, _datasets), (CHECKPOINT, _checkpoints)):
        if (path / marker).exists():
            counts: dict[str, int] = {}
            faults = list(check([path], counts))
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
    verified = verify_job(job.root)
    counts = _counts(verified)
    faults = [str(f) for f in verified.faults]
    faults += _grades(job, counts)
    faults += _releases([p.parent for p in sorted(job.tasks.glob(f"*/{RELEASED}"))], counts)
    faults += _datasets([p.parent for p in sorted(job.data.glob(f"**/{DATASET}"))], counts, verified)
    faults += _checkpoints([p.parent for p in sorted(job.weights.glob(f"**/{CHECKPOINT}"))], counts)
    if (job.report / "report.json").exists():
        counts["reports"] = 1
        faults += report_faults(job) if not faults else []  # what is broken already cannot be recomputed
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
            yield f"{path} is unreadable: {first_fault(error)}"
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


def _datasets(directories: list[Path], counts: dict[str, int], verified: Verified | None = None) -> Iterator[str]:
    """`verified`: the episodes that the rows are of; None: they are elsewhere, and rows are checked by themselves."""
    for directory in directories:
        counts["datasets"] = counts.get("datasets", 0) + 1
        try:
            dataset = Dataset.open(directory)
            counts["training rows"] = counts.get("training rows", 0) + len(dataset.samples)
            fault = next(filter(None, (_row_fault(dataset, i, verified) for i in range(len(dataset.samples)))), "")
            if fault:
                yield f"{directory}: {fault}"
        except JourneymanError as error:
            yield str(error)
        except ValueError as error:
            yield f"{directory / DATASET} is unreadable: {first_fault(error)}"


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


def _checkpoints(directories: list[Path], counts: dict[str, int]) -> Iterator[str]:
    for directory in directories:
        counts["checkpoints"] = counts.get("checkpoints", 0) + 1
        data = (directory / CHECKPOINT).read_bytes()
        try:
            record = Checkpoint.parse(data)
        except ValueError as error:
            yield f"{directory / CHECKPOINT} is unreadable: {first_fault(error)}"
            continue
        if not record.is_what(data):
            yield f"{directory / CHECKPOINT} changed after it was written"
            continue
        for name, digest in sorted(record.files.items()):
            path = directory / name
            if not path.exists() or sha256_hex(path.read_bytes()) != digest:
                yield f"{path} is missing or changed after it was written"
                break
