"""Releases: admitted packages, copied, with manifest and decisions; create-only, marker last (W-01, W-02).

Invariant: a directory without its marker is not a release; one with it never changes. Splits are part of each package's
digest and of the manifest, and no ground truth stands in two splits.
"""

import platform
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from journeyman.admission.funnel import funnel
from journeyman.errors import UserError
from journeyman.records.admission import Admission, ReleaseManifest
from journeyman.records.base import Record, canonical_json, first_fault, sha256_hex
from journeyman.records.task import Split, Task
from journeyman.store.atomic import create_only, write_atomic
from journeyman.tasks.package import load_task

MARKER, MANIFEST, DECISIONS, TASKS = "RELEASED", "manifest.json", "admissions.jsonl", "tasks"
SCREENS, RECEIPT = ".screens", ".receipt.json"  # beside a release, after its name: what was learned or happened later


R = TypeVar("R", bound=Record)


class Screening(Record):
    """A release screened again by detectors it had not met; what they found is withdrawn, the release stays (G-12)."""

    release: str  # digest of the manifest
    screen: str  # identity of the detectors
    screened: int
    withdrawn: dict[str, str]  # task -> what was found


@dataclass(frozen=True)
class Release:
    """An opened release."""

    directory: Path
    manifest: ReleaseManifest
    withdrawn: Mapping[str, str] = field(default_factory=dict)  # task -> why, by later screenings

    def task_dirs(self, split: Split | None = None) -> tuple[Path, ...]:
        """Package directories, of one split or of all, by name; withdrawn ones are left out."""
        splits = self.manifest.splits.items()
        names = [name for name, of in sorted(splits) if split in (None, of) and name not in self.withdrawn]
        return tuple(self.directory / TASKS / name for name in names)


def create_release(
    directory: Path, admissions: Sequence[Admission], task_dirs: Sequence[Path], created_from: Mapping[str, str]
) -> Release:
    """Copy what was admitted to `directory` and mark it released.

    `task_dirs` are the candidates by the decisions' names; packages of equal content merge into the first (G-05).
    Raises UserError: `directory` exists, a package changed since its decision, or two splits share a ground truth.
    """
    by_name = {path.name: path for path in task_dirs}
    admitted = [a for a in admissions if a.admitted]
    first = {a.content_digest: a for a in reversed(admitted)}
    kept = {a.task: _unchanged(by_name, a) for a in admitted if first[a.content_digest] is a}
    _check_splits(kept)
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        raise UserError(f"{directory} exists and releases are create-only: choose another name") from None
    for name in kept:
        shutil.copytree(by_name[name], directory / TASKS / name)
    counts = _counts(admissions, kept, len(admitted) - len(kept))
    create_only(directory / DECISIONS, b"".join(a.canonical() + b"\n" for a in admissions))
    manifest = ReleaseManifest(
        name=directory.name,
        created_from=dict(created_from),
        tasks={name: task.content_digest for name, task in kept.items()},
        splits={name: task.metadata.split for name, task in kept.items()},
        counts=counts,
        funnel=funnel(admissions).counts(),
        sizes={name: _bytes(directory / TASKS / name) for name in kept},
        files=_hashes(directory),
    )
    data = canonical_json(manifest.model_dump(mode="json"))
    create_only(directory / MANIFEST, data)
    create_only(directory / MARKER, sha256_hex(data).encode())
    _receipt(directory, sha256_hex(data))
    return Release(directory, manifest)


def _receipt(directory: Path, manifest: str) -> None:
    """When and where the release was made: beside it, never part of it, so that equal work has equal bytes (G-02)."""
    path = directory.with_name(directory.name + RECEIPT)
    made = {
        "manifest": manifest,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "path": str(directory.resolve()),
        "host": platform.node(),
        "python": platform.python_version(),
    }
    write_atomic(path, canonical_json(made))


def _unchanged(by_name: Mapping[str, Path], admission: Admission) -> Task:
    path = by_name.get(admission.task)
    if path is None:
        raise UserError(f"{admission.task} was decided and is not among the packages given")
    task = load_task(path)
    if task.content_digest != admission.content_digest:
        raise UserError(f"{path} changed after it was admitted: admit it again")
    return task


def _check_splits(tasks: Mapping[str, Task]) -> None:
    seen: dict[str, tuple[str, Split]] = {}
    for name, task in tasks.items():
        truth, split = task.metadata.lineage.get("ground_truth", ""), task.metadata.split
        other = seen.setdefault(truth, (name, split)) if truth else (name, split)
        if other[1] != split:
            raise UserError(f"{name} ({split}) and {other[0]} ({other[1]}) share a ground truth: keep splits disjoint")


def _counts(admissions: Sequence[Admission], kept: Mapping[str, Task], merged: int) -> dict[str, int]:
    passed = funnel(admissions)
    verified = sum(any(g.gate == "static" and g.passed for g in a.gates) for a in admissions)
    totals = {
        "raw": passed.raw,
        "verified": verified,
        "admitted": passed.admitted,
        "quarantined": passed.quarantined,
        "failed": passed.raw - passed.admitted - passed.quarantined,
        "merged": merged,
        "released": len(kept),
    }
    sources = Counter(task.metadata.environment_type for task in kept.values())
    return totals | {f"released {source}": n for source, n in sorted(sources.items())}


def _bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _hashes(directory: Path) -> dict[str, str]:
    files = [directory / DECISIONS, *sorted((directory / TASKS).rglob("*"))]
    return {path.relative_to(directory).as_posix(): sha256_hex(_read(path)) for path in files if path.is_file()}


def open_release(directory: Path) -> Release:
    """Open a release by its marker. Raises UserError where it was never finished or its manifest changed."""
    marker, path = directory / MARKER, directory / MANIFEST
    if not marker.exists():
        raise UserError(f"{directory} has no {MARKER} marker: it was never finished; make the release again")
    data = _read(path) if path.exists() else b""
    if sha256_hex(data).encode() != _read(marker):
        raise UserError(f"{path} or {marker} changed after the release: restore it or make a new release")
    manifest = _parsed(ReleaseManifest, path, data)
    return Release(directory, manifest, _withdrawn(directory, manifest.digest()))


def is_release(directory: Path) -> bool:
    """Whether a release stands there, whole or not."""
    begun = (directory / TASKS).is_dir() and any((directory / name).exists() for name in (MANIFEST, DECISIONS))
    return begun or (directory / MARKER).exists()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): restore it or make a new release") from None


def _parsed(kind: type[R], path: Path, data: bytes) -> R:
    try:
        return kind.parse(data)
    except ValueError as error:
        raise UserError(f"{path} is unreadable ({first_fault(error)}): restore it or make a new release") from None


def _withdrawn(directory: Path, digest: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(directory.with_name(directory.name + SCREENS).glob("*.json")):
        screening = _parsed(Screening, path, _read(path))
        if screening.release == digest:
            found |= screening.withdrawn
    return found


def withdraw(release: Release, screen: str, screened: int, found: Mapping[str, str]) -> Path:
    """Record a screening beside the release, which stays as it is. Raises UserError for detectors that did before."""
    digest = release.manifest.digest()
    path = release.directory.with_name(release.directory.name + SCREENS) / f"{digest[:16]}-{screen[:16]}.json"
    if path.exists():
        raise UserError(f"{release.directory} was screened by these detectors already: see {path}")
    record = Screening(release=digest, screen=screen, screened=screened, withdrawn=dict(found))
    create_only(path, record.canonical())
    return path


def verify_release(directory: Path) -> Release:
    """Open a release and recheck every package, byte for byte. Raises UserError naming the first that differs."""
    release = open_release(directory)
    present = {path.name for path in (directory / TASKS).iterdir()} if (directory / TASKS).is_dir() else set()
    if extra := sorted(present - set(release.manifest.tasks)):
        raise UserError(f"{directory / TASKS / extra[0]} is not part of the release: remove it")
    found = _hashes(directory)
    for path in sorted(found.keys() | release.manifest.files.keys()):
        if found.get(path) != release.manifest.files.get(path):
            raise UserError(f"{directory / path} changed after the release, or is not part of it: restore it")
    for name, digest in release.manifest.tasks.items():
        task = load_task(directory / TASKS / name, handlers=False)
        if (task.content_digest, task.metadata.split) != (digest, release.manifest.splits[name]):
            raise UserError(f"{directory / TASKS / name} is not the task that was released (content digest differs)")
    return release
