"""The learner's resumable state: parameters, optimiser, RNG, cursor, consumed groups. The pointer is written last.

A crash anywhere leaves the previous state whole; what was half done after it is done again from the same bytes.
"""

import io
import json
from pathlib import Path
from typing import Any

import torch

from journeyman.errors import UserError
from journeyman.store.atomic import write_atomic

POINTER = "STATE.json"


def check_made_with(cursor: dict[str, Any], made_with: str, directory: Path) -> None:
    """Raise UserError where a saved state came about with other settings; one that does not say is taken."""
    if cursor.get("made_with", made_with) != made_with:
        raise UserError(f"{directory} holds a training with other settings: give those, or choose another name")


class StateStore:
    """State files of one training process in `directory`; keeps the newest two."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def save(self, step: int, tensors: dict[str, Any], cursor: dict[str, Any]) -> None:
        """Write tensors (anything `torch.load(weights_only=True)` reads) and the JSON cursor, then point at both."""
        name = f"state-{step:06d}.pt"
        buffer = io.BytesIO()
        torch.save(tensors, buffer)
        write_atomic(self.directory / name, buffer.getvalue())
        write_atomic(self.directory / POINTER, json.dumps({"file": name, "cursor": cursor}, sort_keys=True).encode())
        for old in sorted(self.directory.glob("state-*.pt"))[:-2]:
            if old.name != name:
                old.unlink()

    def load(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """(tensors, cursor) of the last complete state; None at the beginning."""
        path = self.directory / POINTER
        if not path.exists():
            return None
        pointer = json.loads(path.read_bytes())
        tensors: dict[str, Any] = torch.load(self.directory / pointer["file"], map_location="cpu", weights_only=True)
        return tensors, pointer["cursor"]
