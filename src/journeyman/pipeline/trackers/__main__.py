"""`python -m journeyman.pipeline.trackers --config FILE`: hand one run's figures to one tracker as they are appended.

Ends when standard input closes, after what was appended until then. Reads only, so it can never hold a run up.
"""

import json
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from journeyman.pipeline.trackers.base import Session, make_tracker

POLL_SECONDS = 1.0


def appended(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines after the file's position; a line being written is left for the next time."""
    while (line := file.readline()).endswith(b"\n"):
        yield line
    file.seek(-len(line), 1)


def follow(path: Path, offset: int, stop: BinaryIO) -> Iterator[bytes]:
    """Lines of `path` from `offset` on, as they appear, until `stop` is at its end."""
    path.touch()
    with path.open("rb") as file:
        file.seek(offset)
        ended = False
        while not ended:
            ended = bool(select.select([stop], [], [], POLL_SECONDS)[0]) and not stop.read(1)
            yield from appended(file)


def main(path: Path) -> None:
    """Open the tracker the config names and feed it."""
    config = json.loads(path.read_bytes())
    directory = Path(config["directory"])
    session = Session(config["project"], config["run"], directory, config["recipe"])
    tracker = make_tracker(config["tracker"], session)
    for line in follow(Path(config["figures"]), config["offset"], sys.stdin.buffer):
        told = json.loads(line)
        tracker.log(told["phase"], told["step"], told["figures"])
    tracker.close()


if __name__ == "__main__":
    main(Path(sys.argv[sys.argv.index("--config") + 1]))
