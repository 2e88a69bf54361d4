"""Training processes as the driver sees them: a config file, JSON lines both ways; torch stays on their side."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from journeyman.errors import JourneymanError, UserError

_LINE_BYTES = 1 << 24


class TrainingFailed(JourneymanError):
    """A training process ended early; the message holds its last words."""


class TrainingProcess:
    """One `python -m MODULE --config FILE`. Lines of JSON come out; lines of JSON go in."""

    def __init__(self, process: asyncio.subprocess.Process, module: str, log: Path) -> None:
        self._process = process
        self._module = module
        self._log = log

    @classmethod
    async def start(cls, module: str, config: Path, log: Path, threads: int) -> "TrainingProcess":
        """Start it; standard error goes to `log`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                module,
                "--config",
                str(config),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=_LINE_BYTES,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"},
            )
        return cls(process, module, log)

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        """Every line it prints, until it ends well. Raises UserError (exit 2), TrainingFailed (any other code)."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            yield json.loads(line)
        await self._ended()

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its one answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        await self._process.stdin.drain()
        return await self.next()

    async def next(self) -> dict[str, Any]:
        """The next line it prints, its answer. Raises as `lines` where it ended or says why it will."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            await self._ended()
            raise TrainingFailed(f"{self._module} ended without an answer; see {self._log}")
        answer: dict[str, Any] = json.loads(line)
        if answer.get("event") == "error" and "step" not in answer:
            code = await self._process.wait()
            raise (UserError if code == 2 else TrainingFailed)(str(answer["message"]))
        return answer

    async def _ended(self) -> None:
        code = await self._process.wait()
        if code == 0:
            return
        words = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        last = words[-1] if words else f"exit code {code}"
        if code == 2:
            raise UserError(last)
        raise TrainingFailed(f"{self._module} ended with code {code}: {last} (see {self._log})")

    async def close(self) -> None:
        """Close its input so that it ends; kill it if it does not; idempotent."""
        if self._process.returncode is not None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(10.0):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
