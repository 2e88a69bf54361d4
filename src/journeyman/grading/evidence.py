"""What grading may look at: sealed deliverables over the task's files, final service state, ledger and dispatch log.

Invariant: read-only, and the policy's final message is not in it: a claim of completion is never evidence (R-07).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from journeyman.errors import UserError
from journeyman.office.render import render
from journeyman.office.rendered import Rendered
from journeyman.records.base import sha256_hex
from journeyman.records.turn import ToolEvent
from journeyman.services.base import LedgerEntry
from journeyman.store.sealed import SealedEpisode

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class SealedEvidence:
    """One episode's evidence. `base` is the task's public workspace; `written` overlays it; `deleted` hides from it.

    Where the world's own files are not at hand (a verifier image), `base` is None and `initial` says their sha256.
    `answers`: what programs that the attempt left gave when they were run for grading (`grading.programs`).
    """

    episode: str
    seal_digest: str
    base: Path | None = None
    written: Mapping[str, bytes | Path] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    state: Mapping[str, Mapping[str, Rows]] = field(default_factory=dict)
    ledger: tuple[LedgerEntry, ...] = ()
    dispatch: tuple[ToolEvent, ...] = ()
    initial: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    _bytes: dict[str, bytes | None] = field(default_factory=dict, repr=False)
    _rendered: dict[str, Rendered | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, sealed: SealedEpisode, base: Path | None) -> "SealedEvidence":
        """The evidence of an opened (verified) sealed episode over the task's public workspace `base`."""
        return cls(
            episode=sealed.episode.spec.id,
            seal_digest=sealed.seal_digest,
            base=base,
            written=sealed.written,
            deleted=frozenset(sealed.deleted),
            state=sealed.services,
            ledger=sealed.ledger(LedgerEntry),
            dispatch=sealed.dispatch,
        )

    def file(self, path: str) -> bytes | None:
        """Final content of a workspace file; None where there is none. Raises UserError for a path that escapes."""
        relative = workspace_path(path)
        if relative not in self._bytes:
            self._bytes[relative] = self._read(relative)
        return self._bytes[relative]

    def initial_sha256(self, path: str) -> str | None:
        """Digest of the task's own content of a file, whatever the episode did to it; None: no file of the world."""
        relative = workspace_path(path)
        if self.base is None:
            return self.initial.get(relative)
        data = self._below_base(relative)
        return None if data is None else sha256_hex(data)

    def _below_base(self, relative: str) -> bytes | None:
        found = None if self.base is None else self.base / relative
        return found.read_bytes() if found is not None and found.is_file() else None

    def _read(self, relative: str) -> bytes | None:
        if (written := self.written.get(relative)) is not None:
            return written if isinstance(written, bytes) else written.read_bytes()
        return None if relative in self.deleted else self._below_base(relative)

    def rendered(self, path: str) -> Rendered | None:
        """The file as text, rows and cells; None where there is none (a damaged file is empty text and a warning)."""
        relative = workspace_path(path)
        if relative not in self._rendered:
            data = self.file(relative)
            self._rendered[relative] = None if data is None else render(relative, data)
        return self._rendered[relative]


def workspace_path(path: str) -> str:
    """`path` relative to /workspace in canonical form. Raises UserError where it points outside."""
    pure = PurePosixPath(path.removeprefix("/workspace/"))
    if pure.is_absolute() or ".." in pure.parts:
        raise UserError(f"path {path!r} is outside /workspace: give a relative path without '..'")
    return pure.as_posix()
