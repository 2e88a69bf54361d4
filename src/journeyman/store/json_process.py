"""A process of ours as others see it: JSON lines on the real stdout, all else on stderr, exit 2 for the user."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from journeyman.errors import JourneymanError, UserError, refused

Emit = Callable[[dict[str, Any]], None]


def claim_stdout() -> Emit:
    """Keep stdout for JSON lines: whatever libraries print goes to stderr from here on."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def emit(line: dict[str, Any]) -> None:
        channel.write(json.dumps(line, allow_nan=False) + "\n")
        channel.flush()

    return emit


def run(description: str, body: Callable[[argparse.Namespace, Emit], None], **options: str) -> int:
    """Parse `--config FILE` (and `options`: name -> help), run, and return the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", type=Path, required=True, help="TOML or JSON config file")
    for name, text in options.items():
        parser.add_argument(f"--{name}", type=Path, default=None, help=text)
    arguments = parser.parse_args()
    emit = claim_stdout()
    try:
        body(arguments, emit)
    except JourneymanError as error:
        emit({"event": "error", "message": str(error)})
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, UserError) else 1
    except OSError as error:
        if not (said := refused(error)):
            raise
        emit({"event": "error", "message": said})
        sys.stderr.write(f"{said}\n")
        return 2
    return 0
