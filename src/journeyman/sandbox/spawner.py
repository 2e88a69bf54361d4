"""A small warm process that forks executors into their boxes, so that no episode starts an interpreter.

Invariant: it runs only what its parent asks for over one inherited socket, and everything it started dies with it.

Run under `python -I -S` by `launcher.py`. Messages are marshal of a tuple (parent and spawner are both ours); those
marked * carry the executor's end of a socket, on which the executor says that it is up:
*("box", id, argv, ids, rlimits, cgroup files, directory, environment, token): start bwrap, enter it, serve;
*("again", id, box pid, directory, environment, token): another executor for a running box whose executor was killed;
*("plain", id, directory, environment, token): an executor in no box -> each ("started", id, pid);
("bind", id, source, target) -> ("bound", id, error text); ("end", pid): end a box; ("kill", pid).
Later, for each pid told, ("exit", pid, code, cpu seconds, text).
"""

import _socket
import gc
import marshal
import os
import select
import signal
import sys

from journeyman.sandbox import entering
from journeyman.sandbox.executor import serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CONTROL_FD, READY_FD, INFO_FD, LAST_FD = 3, 4, 5, 1 << 16
MESSAGE_BYTES = 256 << 10
ERROR_BYTES = 2000
ADOPTED_MS, ADOPTED_TIMES = 100, 20
# Init of a box: says that the box is ready, then waits for us to go. No signal from inside reaches it.
# bash, since it reaps what it did not start.
INIT = ["/bin/bash", "-c", f"echo >&{READY_FD}; exec {READY_FD}>&-; read x"]


class Child:
    """A process to wait for: its pidfd, the memfd that is its stderr, and of a box its way in and its life line."""

    def __init__(self, pid: int, errors: int, life: int, how: "tuple[Any, ...]") -> None:
        self.pid, self.errors, self.life, self.how = pid, errors, life, how
        self.pidfd = os.pidfd_open(pid)


class Spawner:
    """Owns the children."""

    def __init__(self, parent: "_socket.socket") -> None:
        self.parent = parent
        self.children: dict[int, Child] = {}
        self.by_pidfd: dict[int, Child] = {}
        self.adopted = 0  # how often to look for what a killed child has left to us
        self.poll = select.poll()
        self.poll.register(parent.fileno(), select.POLLIN)

    def run(self) -> None:
        """Serve until the parent closes its end."""
        while True:
            ready = self.poll.poll(ADOPTED_MS if self.adopted else None)
            if not ready:
                self.adopted -= 1
                self.reap_adopted()
            for fd, _ in ready:
                if fd != self.parent.fileno():
                    self.ended(self.by_pidfd[fd])
                elif not self.message():
                    return

    def message(self) -> bool:
        data, ancillary, _, _ = self.parent.recvmsg(MESSAGE_BYTES, _socket.CMSG_SPACE(4))
        if not data:
            return False
        fds = [int.from_bytes(raw[:4], sys.byteorder) for _, _, raw in ancillary]
        for fd in fds:
            os.set_inheritable(fd, False)
        kind, first, *rest = marshal.loads(data)
        if kind == "bind":
            self.tell(("bound", first, entering.bind(*rest)))
        elif kind == "box":
            self.box(first, fds[0], *rest)
        elif kind == "again":
            self.again(first, fds[0], *rest)
        elif kind == "plain":
            self.tell(("started", first, self.fork(lambda: self.plain(fds[0], rest), fds[0])))
        elif first in self.children:
            child = self.children[first]
            if kind == "kill" or child.life < 0:
                os.kill(first, signal.SIGKILL)
            else:
                os.close(child.life)
                child.life = -1
        return True

    def tell(self, message: "tuple[Any, ...]") -> None:
        self.parent.send(marshal.dumps(message))

    def fork(self, run: "Callable[[], None]", control: int, life: int = -1, how: "tuple[Any, ...]" = ()) -> int:
        """A child that runs `run` with a memfd as stderr; its end will be told."""
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                os.dup2(errors, 2)
                run()
            except BaseException as error:
                sys.excepthook(type(error), error, error.__traceback__)
            finally:
                os._exit(70)
        os.close(control)
        child = Child(pid, errors, life, how)
        self.children[pid] = self.by_pidfd[child.pidfd] = child
        self.poll.register(child.pidfd, select.POLLIN)
        return pid

    def ended(self, child: Child) -> None:
        _, status, usage = os.wait4(child.pid, 0)
        text = os.pread(child.errors, ERROR_BYTES, 0).decode("utf-8", "replace")
        self.poll.unregister(child.pidfd)
        for fd in (child.pidfd, child.errors, child.life):
            if fd >= 0:
                os.close(fd)
        del self.children[child.pid], self.by_pidfd[child.pidfd]
        if status:
            self.adopted = ADOPTED_TIMES
        self.tell(("exit", child.pid, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, text))

    def reap_adopted(self) -> None:
        """Collect what a child that was killed has left to us, but none of our own children."""
        try:
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid in self.children:
                    return
                os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return

    def box(
        self,
        ident: int,
        control: int,
        argv: list[str],
        ids: "tuple[int, int] | None",
        rlimits: list[tuple[int, int]],
        cgroups: list[str],
        *where: "Any",
    ) -> None:
        alive, life = os.pipe()

        def run() -> None:
            entering.limit(rlimits, cgroups)
            entering.become(ids)
            bwrap, init = start_bwrap(argv, alive)
            executor = entering.enter(init)
            if executor:
                os.closerange(3, LAST_FD)
                wait_for(bwrap, executor)
            else:
                entering.lower(rlimits)
                execute(control, where, alone=True)

        pid = self.fork(run, control, life, (ids, rlimits, cgroups))
        os.close(alive)
        self.tell(("started", ident, pid))

    def again(self, ident: int, control: int, pid: int, *where: "Any") -> None:
        child = self.children.get(pid)

        def run() -> None:
            assert child is not None
            ids, rlimits, cgroups = child.how
            entering.limit(rlimits, cgroups)
            entering.become(ids)
            executor = entering.enter(entering.init_of(pid))
            if executor:
                os.closerange(3, LAST_FD)
                wait_for(0, executor)
            else:
                entering.lower(rlimits)
                execute(control, where, alone=True)

        if child is None:
            os.close(control)
        self.tell(("started", ident, self.fork(run, control) if child is not None else 0))

    def plain(self, control: int, where: "list[Any]") -> None:
        entering.adopt()
        execute(control, where, alone=False)


def start_bwrap(argv: list[str], alive: int) -> tuple[int, int]:
    """Start bwrap and wait until the box is ready: (its pid, its init's). Ends this process where bwrap fails."""
    (ready, said), (info, told) = os.pipe(), os.pipe()
    null = os.open("/dev/null", os.O_WRONLY)
    moved = [above(fd) for fd in (alive, null, said, told)]
    actions = [(os.POSIX_SPAWN_DUP2, fd, target) for fd, target in zip(moved, (0, 1, READY_FD, INFO_FD), strict=True)]
    argv = [*argv, "--info-fd", str(INFO_FD), "--", *INIT]
    bwrap = os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsigdef=(2, 13, 25))
    for fd in {said, told, *moved[2:]}:
        os.close(fd)
    if not os.read(ready, 1):
        os._exit(os.waitstatus_to_exitcode(os.waitpid(bwrap, 0)[1]) or 71)
    return bwrap, int(os.read(info, 4096).partition(b'"child-pid":')[2].split(b",")[0])


def wait_for(bwrap: int, executor: int) -> None:
    """Wait for a box, and end as it ends; an executor that something killed leaves it standing. Never returns."""
    while True:
        pid, status = os.waitpid(-1, 0)
        code = os.waitstatus_to_exitcode(status)
        if pid == executor and (code >= 0 or not bwrap):
            if bwrap:
                os.kill(bwrap, signal.SIGKILL)
                os.waitpid(bwrap, 0)
            os._exit(128 - code if code < 0 else code)
        if pid == bwrap:
            while True:
                try:
                    os.waitpid(-1, 0)
                except ChildProcessError:
                    os._exit(128 - code if code < 0 else code)


def execute(control: int, where: "tuple[Any, ...] | list[Any]", alone: bool) -> None:
    """Be the executor. Never returns."""
    directory, environment, token = where
    os.dup2(above(control), CONTROL_FD, inheritable=False)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.closerange(CONTROL_FD + 1, LAST_FD)
    os.chdir(directory)
    os.umask(0o022)
    os.setsid()
    serve.serve(CONTROL_FD, directory, token, environment, alone)
    os._exit(0)


def above(fd: int) -> int:
    """The same file under a number that no standard place uses."""
    while fd <= INFO_FD:
        fd = os.dup(fd)
    return fd


def main(fd: int) -> None:
    """Serve the parent at `fd` until it goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir("/")
    os.set_inheritable(fd, False)
    entering.adopt()
    spawner = Spawner(_socket.socket(fileno=fd))
    gc.disable()
    gc.freeze()
    spawner.run()
