"""Exports on disk: rows.jsonl in the project's own fields, EXPORT.json last; create-only."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from journeyman.datasets.exports.base import Target, rows
from journeyman.errors import UserError
from journeyman.records.base import Record, sha256_hex
from journeyman.store.atomic import write_atomic
from journeyman.store.dataset import Dataset

MARKER = "EXPORT.json"
ROWS = "rows.jsonl"


class Export(Record):
    """What an export is; its marker."""

    target: str
    target_version: str
    kind: str
    rows: int
    tokens: int
    trained_tokens: int
    left_out: dict[str, int]  # reason -> episodes
    reward_name: str | None
    dataset_digest: str
    rows_sha256: str
    use: str


def export(dataset: Dataset, target: Target, out: Path, advantages: Mapping[str, float] | None = None) -> Export:
    """Write `out` (create-only). `advantages` by episode, for projects that take ours.

    Raises UserError where nothing is left or a finished export is there; an unfinished one is replaced.
    """
    if out.exists():
        if (out / MARKER).exists() or {p.name for p in out.iterdir()} - {ROWS}:
            raise UserError(f"{out} exists and exports are create-only: choose another name")
        shutil.rmtree(out)
    out.mkdir(parents=True)
    left: Counter[str] = Counter()
    lines: list[bytes] = []
    tokens = trained = 0
    for row in rows(dataset, advantages):
        if target.single and row.segments > 1:
            left[f"{target.name} takes one segment per episode"] += row.number == 0
            continue
        made = target.row(row)
        if unknown := made.keys() - target.fields:
            raise UserError(f"export target {target.name}: row has {sorted(unknown)}, which are not its fields")
        lines.append(json.dumps(made, allow_nan=False, separators=(",", ":")).encode() + b"\n")
        tokens += len(row.prompt) + len(row.response)
        trained += sum(row.mask)
    if not lines:
        out.rmdir()
        raise UserError(f"{dataset.directory} leaves no row for {target.name}: {dict(left) or 'it has none'}")
    data = b"".join(lines)
    (out / ROWS).write_bytes(data)
    made_export = Export(
        target=target.name,
        target_version=target.version,
        kind=dataset.manifest.kind,
        rows=len(lines),
        tokens=tokens,
        trained_tokens=trained,
        left_out=dict(left),
        reward_name=dataset.manifest.reward_name,
        dataset_digest=dataset.digest,
        rows_sha256=sha256_hex(data),
        use=target.use,
    )
    write_atomic(out / MARKER, made_export.canonical())
    return made_export


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a finished export, checked against its marker. Raises UserError."""
    if not (path / MARKER).exists():
        raise UserError(f"{path} is not a finished export (no {MARKER}): type journeyman export again")
    data = (path / ROWS).read_bytes()
    if sha256_hex(data) != Export.parse((path / MARKER).read_bytes()).rows_sha256:
        raise UserError(f"{path / ROWS} is not what {MARKER} says: export again")
    return map(json.loads, data.splitlines())
