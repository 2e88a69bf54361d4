"""Policy directories against their marker: one changed bit, one missing file or one odd byte in the marker is told."""

import json
from pathlib import Path

import pytest

from journeyman.errors import UserError
from journeyman.records.base import sha256_hex
from journeyman.records.sample import Checkpoint
from journeyman.store.checkpoint import MARKER, check_checkpoint


def marked(directory: Path, **files: bytes) -> Checkpoint:
    """Files with their marker."""
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    digests = {name: sha256_hex(data) for name, data in files.items()}
    record = Checkpoint(name="p", version=0, parents=(), step=1, objective="sft", files=digests).checked()
    (directory / MARKER).write_bytes(record.canonical())
    return record


def test_a_checkpoint_is_what_its_marker_says_or_is_refused(tmp_path: Path) -> None:
    assert check_checkpoint(tmp_path) is None
    record = marked(tmp_path / "p", weights=b"abcd", config=b"{}")
    assert check_checkpoint(tmp_path / "p") == record
    (tmp_path / "p" / "weights").write_bytes(b"abce")
    with pytest.raises(UserError, match="weights is missing or changed"):
        check_checkpoint(tmp_path / "p")
    (tmp_path / "p" / "weights").unlink()
    with pytest.raises(UserError, match="weights is missing or changed"):
        check_checkpoint(tmp_path / "p")


def test_a_marker_that_is_none_or_was_changed_is_refused(tmp_path: Path) -> None:
    whole = json.loads(marked(tmp_path / "p", weights=b"abcd").canonical())
    for odd in (b"", b"[]", b"{", json.dumps(whole | {"step": 2}).encode()):
        (tmp_path / "p" / MARKER).write_bytes(odd)
        with pytest.raises(UserError, match=MARKER):
            check_checkpoint(tmp_path / "p")
