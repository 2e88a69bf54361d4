"""The driver's end of the spawner: starts programs with an inherited socket and hears when they end.

Invariant: a program started here never outlives the launcher, and its exit is reported exactly once.
"""

import array
import asyncio
import itertools
import marshal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import journeyman
from journeyman.errors import SandboxFailure

ENVIRONMENT = {"LD_BIND_NOW": "1"}  # of the spawner: what is bound before a fork is bound once


class Exit(NamedTuple):
    """How a program ended. `cpu_seconds` includes the descendants it waited for."""

    code: int  # negative: killed by that signal
    cpu_seconds: float
    errors: str


class Started(NamedTuple):
    """A started box or executor: the pid that stands for it, our end of the executor's socket, and its exit to come."""

    pid: int
    socket: socket.socket
    exit: "asyncio.Future[Exit]"


class Where(NamedTuple):
    """Where an executor serves: its directory, the environment of its commands, the mark of its processes."""

    directory: str
    environment: dict[str, str]
    token: str


class Launcher:
    """Owns one spawner process. An async context manager."""

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._exits: dict[int, asyncio.Future[Exit]] = {}
        self._ended_cpu_seconds = 0.0

    async def __aenter__(self) -> Self:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fd = theirs.fileno()
        program = f"import sys;sys.path.insert(0,'.');from journeyman.sandbox import spawner;spawner.main({fd})"
        argv = [self._python, "-I", "-S", "-c", program]
        root = Path(journeyman.__file__).parents[1]
        self._process = subprocess.Popen(argv, pass_fds=[fd], stdin=subprocess.DEVNULL, cwd=root, env=ENVIRONMENT)
        theirs.close()
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket.fileno(), self._hear)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        self._fail("launcher closed")
        try:
            await asyncio.to_thread(self._process.wait, 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    def _fail(self, why: str) -> None:
        for future in (*self._answers.values(), *self._exits.values()):
            if not future.done():
                future.set_exception(SandboxFailure("spawner_lost", why))
                future.exception()  # whoever still waits gets it; nobody else is told
        self._answers.clear()
        self._exits.clear()

    def _hear(self) -> None:
        while True:
            try:
                data = self._socket.recv(1 << 18)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._loop.remove_reader(self._socket.fileno())
                self._fail("the spawner ended")
                return
            kind, ident, *rest = marshal.loads(data)
            if kind == "exit":
                ended = Exit(*rest)
                self._ended_cpu_seconds += ended.cpu_seconds
                future = self._exits.pop(ident)
                if not future.done():
                    future.set_result(ended)
            else:
                if kind == "started":  # its exit goes along: it may be told before the caller wakes up
                    rest.append(self._exits.setdefault(rest[0], self._loop.create_future()) if rest[0] else None)
                answer = self._answers.pop(ident)
                if not answer.done():
                    answer.set_result(rest)

    async def _ask(self, message: tuple[Any, ...], fd: int | None = None) -> Any:
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._answers[message[1]] = answer
        await self._send(message, fd)
        return await answer

    async def _send(self, message: tuple[Any, ...], fd: int | None = None) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        while True:
            try:
                self._socket.sendmsg([marshal.dumps(message)], rights)
                return
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError as error:
                raise SandboxFailure("spawner_lost", str(error)) from error

    async def box(
        self,
        argv: Sequence[str],
        ids: tuple[int, int] | None,
        rlimits: Sequence[tuple[int, int]],
        cgroups: Sequence[str],
        where: Where,
    ) -> Started:
        """Start bwrap with `argv` (without a command) and an executor in it. Raises SandboxFailure."""
        return await self._start("box", list(argv), ids, list(rlimits), list(cgroups), *where)

    async def again(self, box: int, where: Where) -> Started:
        """Another executor in a running box. Raises SandboxFailure."""
        return await self._start("again", box, *where)

    async def plain(self, where: Where) -> Started:
        """An executor in no box. Raises SandboxFailure."""
        return await self._start("plain", *where)

    async def _start(self, kind: str, *rest: Any) -> Started:
        ours, theirs = socket.socketpair()
        try:
            asked = (kind, next(self._ids), *rest)
            pid, exit = await self._ask(asked, theirs.fileno())
            if not pid:
                raise SandboxFailure("box_lost", "it has ended")
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        return Started(pid, ours, exit)

    def cpu_seconds(self) -> float:
        """CPU of the spawner, of what ended below it, and nothing else (0.0 once it is gone)."""
        try:
            own = Path(f"/proc/{self._process.pid}/schedstat").read_text().split()[0]
        except OSError:
            return 0.0
        return int(own) / 1e9 + self._ended_cpu_seconds

    async def end(self, pid: int) -> None:
        """Ask a box to end, with all its processes; nothing happens where it has ended."""
        if pid in self._exits:
            await self._send(("end", pid))

    async def kill(self, pid: int) -> None:
        """SIGKILL a started program; nothing happens where it has ended."""
        if pid in self._exits:
            await self._send(("kill", pid))

    async def bind(self, source: Path, target: Path) -> str:
        """Bind `source` at `target` for started programs only; returns "" or the reason why it cannot be done."""
        (answer,) = await self._ask(("bind", next(self._ids), str(source), str(target)))
        return str(answer)
