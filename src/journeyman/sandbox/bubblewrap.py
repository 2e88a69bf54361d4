"""The default sandbox: one bubblewrap box per episode, one executor in it, nothing of ours bound into it.

Invariant: a box has no capabilities, no network, no nested user namespaces, an overlay over read-only layers as
/workspace, and (where we are root) a uid that no other running box has.
"""

import asyncio
import itertools
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from journeyman.errors import SandboxFailure, UserError
from journeyman.sandbox.base import SandboxIdentity, SandboxSpec, WorkspaceChange
from journeyman.sandbox.changes import collect
from journeyman.sandbox.channel import Channel
from journeyman.sandbox.detect import Readiness, detect
from journeyman.sandbox.launcher import Exit, Launcher, Started, Where
from journeyman.sandbox.limits import BoxLimits, LimitSetter
from journeyman.sandbox.packages import PLACE, office_packages
from journeyman.sandbox.reach import Reach, traversable
from journeyman.sandbox.rootfs import (
    ENVIRONMENT,
    base_argv,
    clear_remains,
    copy_binary,
    kill_if_stopped,
    uid_range,
    unlock,
    write_etc,
)

STATE_PREFIX = "journeyman-box-"
START_SECONDS = 30.0
KILL_SECONDS = 10.0
END_SECONDS = 20.0  # a starved machine takes its time; a box that was not seen to end keeps its uid
NOTICE_SECONDS = 0.3  # a box that was lost is told within it; one that stands is not
EXECUTOR_KILLED = "every process of the sandbox was killed; files read before must be read again to change them"


class BubblewrapBox:
    """One running box. Made by BubblewrapProvider.start; `close` ends it."""

    def __init__(
        self,
        provider: "BubblewrapProvider",
        identity: SandboxIdentity,
        directory: Path,
        layers: tuple[Path, ...],
        limits: BoxLimits,
        started: Started,
        where: Where,
    ) -> None:
        self.identity = identity
        self.directory, self.layers, self.limits, self.started = directory, layers, limits, started
        self._where = where
        self.channel = Channel(started.socket)
        self.cpu_seconds = 0.0  # of every process of the box, known after `close`
        self._executor: Started | None = None  # the one that replaced the box's first
        self._provider = provider
        self._closed = self._ended = False

    async def call(self, op: str, args: dict[str, Any], timeout_seconds: float = 120.0) -> dict[str, Any]:
        """One executor operation; what the policy got wrong is {"error": ...}. Raises SandboxFailure.

        A command that kills the executor (`kill -9 -1`) is the policy's doing: the box gets another one.
        """
        try:
            reply = await self.channel.call(op, args, timeout_seconds)
            if self.started.exit.done():
                raise SandboxFailure("box_lost", f"it died while it answered {self._last_words()}".strip())
            return reply
        except SandboxFailure as failure:
            if await self._replace_executor(failure):
                return {"error": EXECUTOR_KILLED}
            cause = "box_lost" if failure.cause == "executor_gone" else failure.cause
            raise SandboxFailure(cause, f"{failure.detail} {self._last_words()}".strip()) from failure

    async def _replace_executor(self, failure: SandboxFailure) -> bool:
        """Another executor, if the last one was killed or stopped and the box still stands. Raises SandboxFailure."""
        if failure.cause == "executor_silent":
            kill_if_stopped((self._executor or self.started).pid)
        elif failure.cause != "executor_gone":
            return False
        if self._closed or await _within(self.started.exit, NOTICE_SECONDS) is not None:
            return False
        self.channel.close()
        self._executor = await self._provider.another_executor(self.started.pid, self._where)
        self.channel = Channel(self._executor.socket)
        await self.channel.hello(START_SECONDS)
        return True

    def _last_words(self) -> str:
        exit = self.started.exit
        if not exit.done() or exit.exception() is not None:
            return ""
        ended = exit.result()
        return f"(exit {ended.code}) {ended.errors.strip()[-400:]}"

    async def kill_agent(self) -> None:
        """Kill every process in the box but the executor; where that fails, end the box itself.

        Raises SandboxFailure where the box had died on its own: what its agent left may be half written.
        """
        try:
            reply = await self.call("kill_all", {}, KILL_SECONDS)
        except SandboxFailure as failure:
            if failure.cause == "box_lost" and not self._ended:
                raise
            reply = {"error": "lost"}
        if self._ended:
            return
        if self.started.exit.done():
            raise SandboxFailure("box_lost", f"the box died while its agent ran {self._last_words()}".strip())
        if "error" in reply:
            self._ended = True
            await self._provider.kill(self)

    async def collect(self) -> WorkspaceChange:
        """What changed below /workspace since the start. Raises SandboxFailure."""
        try:
            return collect(self.directory / "upper", self.layers)
        except OSError as error:
            raise SandboxFailure("collect_failed", str(error)) from error

    async def close(self) -> None:
        """End the box and remove what it left; idempotent."""
        if not self._closed:
            self._closed = True
            await self._provider.end(self)


class BubblewrapProvider:
    """Makes boxes below `state` (default: the temporary directory). An async context manager."""

    def __init__(self, state: Path | None = None) -> None:
        readiness = detect()
        if not readiness.ready or readiness.binary is None:
            raise UserError(readiness.line())
        self._readiness: Readiness = readiness
        self._given = state
        self._numbers = itertools.count(1)
        self._boxes: set[BubblewrapBox] = set()

    async def __aenter__(self) -> Self:
        clear_remains(self._given or Path(tempfile.gettempdir()), STATE_PREFIX)
        self._state = Path(tempfile.mkdtemp(prefix=f"{STATE_PREFIX}{os.getpid()}-", dir=self._given))
        self._state.chmod(0o711)
        self._uids = uid_range() if os.geteuid() == 0 else range(0)
        if self._uids and not traversable(self._state.parent):
            shutil.rmtree(self._state)
            raise UserError(f"{self._state.parent} is closed to other users; set TMPDIR to a directory they may enter")
        self._free = dict.fromkeys(reversed(self._uids[:1024]))
        self._limits = LimitSetter()
        self._launcher = await Launcher().__aenter__()
        self._reach = Reach(self._state, self._launcher, foreign=bool(self._uids))
        await self._prepare()
        return self

    async def __aexit__(self, *_: object) -> None:
        for box in list(self._boxes):
            await box.close()
        await self._launcher.__aexit__()
        self._limits.sweep()
        shutil.rmtree(self._state, onerror=unlock)

    async def _prepare(self) -> None:
        """What all boxes share: binary, executor, /etc, interpreter, and the part of argv that never changes."""
        state = self._state
        assert self._readiness.binary is not None
        binary = copy_binary(self._readiness.binary, state / "tools")
        write_etc(state / "etc")
        (state / "empty").mkdir(mode=0o755)
        (state / "boxes").mkdir(mode=0o711)
        prefix = Path(sys.base_prefix).resolve()
        python = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
        self._argv = [str(binary), *base_argv(state, python, prefix, await self._reach.tree(prefix))]

    async def start(self, spec: SandboxSpec) -> BubblewrapBox:
        """A fresh box, never one that was used before. Raises SandboxFailure, UserError."""
        if self._uids and not self._free:
            raise SandboxFailure("no_uid_left", f"{len(self._boxes)} boxes are running")
        uid = self._take_uid(spec) if self._uids else os.geteuid()
        ids = (uid, uid) if self._uids else None
        number = next(self._numbers)
        directory = self._state / "boxes" / str(number)
        limits: BoxLimits | None = None
        try:
            limits = self._limits.prepare(spec.limits, own_uid=bool(ids))
            argv, layers, where = await self._command(spec, directory, uid, ids)
            started = await self._launcher.box(argv, ids, limits.rlimits, limits.join, where)
        except BaseException as error:
            self._clear(directory, uid, limits)
            if isinstance(error, OSError):
                raise SandboxFailure("box_not_started", str(error)) from error
            raise
        box = BubblewrapBox(self, self._identity(uid), directory, layers, limits, started, where)
        self._boxes.add(box)
        try:
            await box.channel.hello(START_SECONDS)
        except BaseException as error:
            await box.close()
            if isinstance(error, SandboxFailure):
                raise SandboxFailure("box_not_started", box._last_words() or error.detail) from error
            raise
        return box

    def _take_uid(self, spec: SandboxSpec) -> int:
        """A free uid; one for which the workspace was copied before, if there is one."""
        known = self._reach.owner(spec.workspace[0].resolve(), self._free) if spec.workspace else None
        if known is None:
            return self._free.popitem()[0]
        del self._free[known]
        return known

    async def _command(
        self, spec: SandboxSpec, directory: Path, uid: int, ids: tuple[int, int] | None
    ) -> tuple[list[str], tuple[Path, ...], Where]:
        """The box's argv, its lower layers as this uid sees them, what runs there; makes the box's directory."""
        for part in (directory, directory / "upper", directory / "work"):
            part.mkdir(mode=0o700)
            if ids is not None:
                os.chown(part, *ids)
        layers = tuple(self._reach.layer(layer.resolve(), uid) for layer in spec.workspace)
        if not layers:
            layers = (self._state / "empty",)
        argv = list(self._argv)
        for layer in layers:
            argv += ["--overlay-src", str(layer)]
        argv += ["--overlay", str(directory / "upper"), str(directory / "work"), "/workspace"]
        read_only, environment = dict(spec.read_only), {**ENVIRONMENT, **spec.environment}
        if "office" in spec.capabilities:
            read_only.update(office_packages())
            environment.setdefault("PYTHONPATH", PLACE)
        for inside, path in read_only.items():
            argv += ["--ro-bind", str(await self._reach.tree(path)), inside]
        for inside, path in spec.sockets.items():
            argv += ["--bind", str(self._reach.socket(path.resolve(), directory, ids)), inside]
        argv += ["--remount-ro", "/"]
        return argv, layers, Where("/workspace", environment, secrets.token_hex(8))

    def _identity(self, uid: int) -> SandboxIdentity:
        notes = [] if self._uids else ["caller's own uid"]
        notes.append("rlimits instead of cgroups" if self._limits.kind == "rlimits" else self._limits.kind)
        return SandboxIdentity(kind="bubblewrap", version=self._readiness.version, uid=uid, notes=tuple(notes))

    def cpu_seconds(self) -> float:
        """CPU that boxes which have ended, and the process that starts them, have used so far."""
        return self._launcher.cpu_seconds()

    async def another_executor(self, box: int, where: Where) -> Started:
        """An executor for a running box that lost its own. Raises SandboxFailure."""
        return await self._launcher.again(box, where)

    async def kill(self, box: BubblewrapBox) -> Exit | None:
        """End all processes of a box at once; None where the end was not seen."""
        await self._launcher.end(box.started.pid)
        ended = await _within(box.started.exit, END_SECONDS)
        if ended is None:
            await self._launcher.kill(box.started.pid)
            ended = await _within(box.started.exit, END_SECONDS)
        return ended

    async def end(self, box: BubblewrapBox) -> None:
        """End a box's processes, free its uid, remove its files (called by `BubblewrapBox.close`)."""
        box.channel.close()
        ended: Exit | None = None
        try:
            ended = await self.kill(box)
            box.cpu_seconds = ended.cpu_seconds if ended is not None else 0.0
        except SandboxFailure:
            ended = Exit(-9, 0.0, "")  # the spawner is gone, and every box with it
        self._boxes.discard(box)
        if ended:
            self._clear(box.directory, box.identity.uid, box.limits)
        else:  # what may still run keeps its uid and its limits to itself
            self._clear(box.directory, -1, None)
        if self._reach.full():
            self._reach.trim({layer for other in self._boxes for layer in other.layers})

    def _clear(self, directory: Path, uid: int, limits: BoxLimits | None) -> None:
        if limits is not None:
            self._limits.release(limits)
        if directory.exists():
            shutil.rmtree(directory, onerror=unlock)
        if uid in self._uids:
            self._free[uid] = None


async def _within(exit: "asyncio.Future[Exit]", seconds: float) -> Exit | None:
    try:
        return await asyncio.wait_for(asyncio.shield(exit), seconds)
    except TimeoutError:
        return None
