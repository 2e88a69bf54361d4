"""A training process as the driver meets it: what it says is wrong arrives in its own words, in one line."""

from pathlib import Path

import pytest

from journeyman.errors import UserError
from journeyman.pipeline.process import TrainingFailed, TrainingProcess

PROGRAM = """
import sys
from journeyman.errors import JourneymanError, UserError
from journeyman.store.json_process import run

def main(arguments, emit):
    raise {error}("first line\\nsecond line")

sys.exit(run("one that cannot begin", main))
"""


@pytest.mark.parametrize(("error", "kind"), [("UserError", UserError), ("JourneymanError", TrainingFailed)])
async def test_a_process_that_cannot_begin_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, kind: type[Exception]
) -> None:
    (tmp_path / "cannot_begin.py").write_text(PROGRAM.format(error=error))
    monkeypatch.chdir(tmp_path)
    process = await TrainingProcess.start("cannot_begin", tmp_path / "config.json", tmp_path / "log", 1)
    try:
        with pytest.raises(kind, match="first line\nsecond line"):
            await process.next()
    finally:
        await process.close()
