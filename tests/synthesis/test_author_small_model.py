"""The LLM author before a small real model, through our own gateway: its yield is zero, and it is told why."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from journeyman.pipeline.authoring import author_tasks
from journeyman.synthesis.capability_first.records import Rejected
from journeyman.synthesis.capability_first.trace import Budget, Trace
from tests.synthesis.test_author import config, desk

__all__ = ["desk"]


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The shipped policy behind `journeyman gateway`, by its real command; its key is in SMALL_KEY."""
    command = [sys.executable, "-m", "journeyman.cli.main", "gateway", "--out", str(tmp_path / "run"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while "press Ctrl-C" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            monkeypatch.setenv("SMALL_KEY", re.search(r"OPENAI_API_KEY=(\S+)", said)[1])  # type: ignore[index]
            yield re.search(r"OPENAI_BASE_URL=(\S+)", said)[1]  # type: ignore[index]
        finally:
            process.kill()


@pytest.mark.slow
async def test_a_small_models_proposal_is_rejected_with_its_reason_after_every_round(desk: Path, endpoint: str) -> None:
    path = config(desk, endpoint, rounds=1)
    path.write_text(
        path.read_text().replace('"retries": 0', '"retries": 0, "max_tokens": 48, "api_key_env": "SMALL_KEY"')
    )
    (made,) = await author_tasks(path, desk / "documents", desk / "out")
    assert isinstance(made, Rejected)
    assert made.stage == "propose", made
    assert made.reasons
    assert re.match(r"the answer (has no text|holds no JSON object|is not JSON)|\w[\w.]*: ", made.reasons[0]), made
    (trace,) = (desk / "out" / "traces").glob("*.jsonl")
    first, second = Trace(trace, Budget()).calls
    assert first.usage.output_tokens > 0
    assert made.reasons[0].split(":")[0] in second.messages[-1].content  # the second round was told of the first
