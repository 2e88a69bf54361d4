"""`local`: the same executor in a plain temporary directory, without any isolation. For tests that are trusted.

Invariant: it refuses to exist unless it was asked for by name.
"""

import contextlib
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from journeyman.errors import SandboxFailure, UserError
from journeyman.sandbox.base import SandboxIdentity, SandboxSpec, WorkspaceChange
from journeyman.sandbox.channel import Channel
from journeyman.sandbox.launcher import Launcher, Started, Where

START_SECONDS = 30.0


class LocalSandbox:
    """One executor over a copy of the workspace; sockets and read-only trees are not bound."""

    def __init__(self, provider: "LocalProvider", directory: Path, layers: tuple[Path, ...], started: Started) -> None:
        self.identity = SandboxIdentity(kind="local", uid=os.geteuid(), isolated=False, notes=("no isolation",))
        self.channel = Channel(started.socket)
        self.started = started
        self.directory, self._layers = directory, layers
        self._provider = provider
        self._closed = False

    async def call(self, op: str, args: dict[str, Any], timeout_seconds: float = 120.0) -> dict[str, Any]:
        """One executor operation. Raises SandboxFailure."""
        try:
            return await self.channel.call(op, args, timeout_seconds)
        except SandboxFailure as failure:
            cause = "box_lost" if failure.cause == "executor_gone" else failure.cause
            raise SandboxFailure(cause, failure.detail) from failure

    async def kill_agent(self) -> None:
        """Kill what was started through this box and still carries its mark. Raises SandboxFailure."""
        await self.call("kill_all", {}, 30.0)

    async def collect(self) -> WorkspaceChange:
        """Compare the directory with the layers it was made from."""
        before, after = _files(*self._layers), _files(self.directory)
        written = {path: data for path, data in after.items() if before.get(path) != data}
        return WorkspaceChange(written=written, deleted=tuple(sorted(set(before) - set(after))))

    async def close(self) -> None:
        """End the executor and remove the directory; idempotent."""
        if not self._closed:
            self._closed = True
            await self._provider.end(self)


class LocalProvider:
    """Makes local sandboxes. `asked_by_name` must be True: nothing falls back to it. An async context manager."""

    def __init__(self, asked_by_name: bool = False) -> None:
        if not asked_by_name:
            raise UserError("the local sandbox isolates nothing; if you trust the tasks, ask for it: --sandbox local")
        self._boxes: set[LocalSandbox] = set()

    async def __aenter__(self) -> Self:
        self._state = Path(tempfile.mkdtemp(prefix="journeyman-local-"))
        self._launcher = await Launcher().__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for box in list(self._boxes):
            await box.close()
        await self._launcher.__aexit__()
        shutil.rmtree(self._state)

    async def start(self, spec: SandboxSpec) -> LocalSandbox:
        """A fresh directory and executor. Raises SandboxFailure."""
        directory = Path(tempfile.mkdtemp(prefix="box-", dir=self._state))
        for layer in spec.workspace:
            shutil.copytree(layer, directory, symlinks=True, dirs_exist_ok=True)
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._state),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            **spec.environment,
        }
        started = await self._launcher.plain(Where(str(directory), environment, secrets.token_hex(8)))
        box = LocalSandbox(self, directory, spec.workspace, started)
        self._boxes.add(box)
        try:
            await box.channel.hello(START_SECONDS)
        except BaseException:
            await box.close()
            raise
        return box

    def cpu_seconds(self) -> float:
        """CPU that executors which have ended, and the process that starts them, have used so far."""
        return self._launcher.cpu_seconds()

    async def end(self, box: LocalSandbox) -> None:
        """End one box (called by `LocalSandbox.close`)."""
        box.channel.close()
        with contextlib.suppress(SandboxFailure):  # the launcher is gone, and the executor with it
            await box.started.exit
        self._boxes.discard(box)
        shutil.rmtree(box.directory, ignore_errors=True)


def _files(*tops: Path) -> dict[str, bytes]:
    """Regular files below directories, the later ones over the earlier; links are not followed."""
    found: dict[str, bytes] = {}
    for top in tops:
        for path in sorted(top.rglob("*")):
            if path.is_file() and not path.is_symlink():
                found[str(path.relative_to(top))] = path.read_bytes()
    return found
