"""Policy directories as they say they are: CHECKPOINT.json (records.sample.Checkpoint) holds the sha256 of every file.

A directory that contradicts its marker is no checkpoint: nothing trains from it and nothing is merged with it.
"""

import hashlib
from pathlib import Path

from journeyman.records.sample import Checkpoint
from journeyman.store.reading import Damaged, read_record, reading

MARKER = "CHECKPOINT.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json", "vocab.txt")  # any one suffices
REMEDY = "bring back what was written, or give another policy"


def sha256_file(path: Path) -> str:
    """Digest of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tokenizer_digest(directory: Path) -> str:
    """sha256 of the file that a policy directory's tokenizer is read from; "" where it has none."""
    return next((sha256_file(directory / name) for name in TOKENIZERS if (directory / name).is_file()), "")


def read_checkpoint(directory: Path) -> Checkpoint | None:
    """The marker of a policy directory; None where it has none. Raises Unreadable."""
    path = directory / MARKER
    return read_record(path, Checkpoint, REMEDY) if path.exists() else None


def first_changed(directory: Path, record: Checkpoint) -> str:
    """The first file, in name order, that is not what the marker says, as a line; "" where all are. Raises OSError."""
    for name, digest in sorted(record.files.items()):
        path = directory / name
        if not path.is_file() or sha256_file(path) != digest:
            return f"{path} is missing or changed after it was written"
    return ""


def check_checkpoint(directory: Path) -> Checkpoint | None:
    """The marker of a policy directory, every file hashed against it; None where it has none.

    Raises Damaged (a UserError) for a marker or file that is not what was written.
    """
    record = read_checkpoint(directory)
    if record is None:
        return None
    path = directory / MARKER
    with reading(path, REMEDY):
        if not record.is_what(path.read_bytes()):
            raise Damaged(f"{path} changed after it was written", REMEDY)
    with reading(directory, REMEDY):
        changed = first_changed(directory, record)
    if changed:
        raise Damaged(changed, REMEDY)
    return record
