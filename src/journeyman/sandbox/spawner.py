"""A small warm process that starts boxes and forks their executors into them, so that no episode starts an interpreter.

Invariant: it runs only what its parent asks for over one inherited socket, and everything it started dies with it.

Run under `python -I -S` by `launcher.py`. Messages are marshal of a tuple (parent and spawner are both ours);
those marked * carry the executor's end of a socket:
*("box", id, argv, ids, rlimits, cgroup files, directory, environment, token): start bwrap, enter it, serve;
*("again", id, box pid, directory, environment, token): another executor for a running box whose executor was killed;
*("plain", id, directory, environment, token): an executor in no box -> each ("started", id, box pid, executor pid);
("bind", id, source, target) -> ("bound", id, error text); ("kill", pid).
Later, for a box and for each executor, ("exit", pid, code, cpu seconds, text).
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
# Init of a box: says that the box is ready, then waits for us to go. No signal from inside reaches it.
# bash, since it reaps what it did not start.
INIT = ["/bin/bash", "-c", f"echo >&{READY_FD}; exec {READY_FD}>&-; read x"]


class Box:
    """A bwrap that was started. `ready` turns readable once its mounts are made."""

    def __init__(self, ident: int, control: int, how: "tuple[Any, ...]") -> None:
        self.ident, self.control, self.how = ident, control, how
        self.ready, self.info, self.life = -1, -1, -1
        self.pid, self.init = 0, 0  # bwrap's and the box's init's, as this process sees them


class Child:
    """A process to wait for: its pidfd and the memfd that is its stderr."""

    def __init__(self, pid: int, errors: int, box: "Box | None") -> None:
        self.pid, self.errors, self.box = pid, errors, box
        self.pidfd = os.pidfd_open(pid)


class Spawner:
    """Owns the children; `waiting` says what to do when an fd turns readable."""

    def __init__(self, parent: "_socket.socket") -> None:
        self.parent = parent
        self.children: dict[int, Child] = {}
        self.boxes: dict[int, Box] = {}
        self.waiting: dict[int, Callable[[], None]] = {}
        self.poll = select.poll()
        self.poll.register(parent.fileno(), select.POLLIN)

    def run(self) -> None:
        """Serve until the parent closes its end."""
        while True:
            for fd, _ in self.poll.poll():
                if fd == self.parent.fileno():
                    if not self.message():
                        return
                elif fd in self.waiting:
                    self.waiting[fd]()

    def when(self, fd: int, do: "Callable[[], None]") -> None:
        self.waiting[fd] = do
        self.poll.register(fd, select.POLLIN)

    def forget(self, fd: int) -> None:
        del self.waiting[fd]
        self.poll.unregister(fd)
        os.close(fd)

    def message(self) -> bool:
        data, ancillary, _, _ = self.parent.recvmsg(MESSAGE_BYTES, _socket.CMSG_SPACE(4))
        if not data:
            return False
        fds = [int.from_bytes(raw[:4], sys.byteorder) for _, _, raw in ancillary]
        kind, *rest = marshal.loads(data)
        if kind == "box":
            self.start_box(fds[0], *rest)
        elif kind == "again":
            ident, pid, *where = rest
            self.executor(ident, fds[0], self.boxes.get(pid), pid, where)
        elif kind == "plain":
            ident, *where = rest
            self.executor(ident, fds[0], None, 0, where)
        elif kind == "bind":
            self.tell(("bound", rest[0], entering.bind(*rest[1:])))
        elif rest[0] in self.children:
            os.kill(rest[0], signal.SIGKILL)
        return True

    def tell(self, message: "tuple[Any, ...]") -> None:
        self.parent.send(marshal.dumps(message))

    def fork(self, run: "Callable[[], None]", box: "Box | None" = None) -> int:
        """A child that runs `run` with a memfd as stderr; its end will be told."""
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                os.dup2(errors, 2, inheritable=True)
                run()
            except BaseException as error:
                sys.excepthook(type(error), error, error.__traceback__)
            finally:
                os._exit(code)
        child = Child(pid, errors, box)
        self.children[pid] = child
        self.when(child.pidfd, lambda: self.ended(child))
        return pid

    def ended(self, child: Child) -> None:
        _, status, usage = os.wait4(child.pid, 0)
        text = os.pread(child.errors, ERROR_BYTES, 0).decode("utf-8", "replace")
        self.forget(child.pidfd)
        os.close(child.errors)
        del self.children[child.pid]
        if child.box is not None:
            self.not_ready(child.box)
            del self.boxes[child.pid]
            os.close(child.box.life)
        self.tell(("exit", child.pid, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, text))

    def start_box(
        self,
        control: int,
        ident: int,
        argv: list[str],
        ids: "tuple[int, int] | None",
        rlimits: list[tuple[int, int]],
        cgroups: list[str],
        *where: "Any",
    ) -> None:
        box = Box(ident, control, (ids, rlimits, cgroups, where))
        box.ready, ready = os.pipe()
        box.info, info = os.pipe()
        life, box.life = os.pipe()

        def run() -> None:
            moved = [above(fd) for fd in (life, os.open("/dev/null", os.O_WRONLY), ready, info)]
            for fd, target in zip(moved, (0, 1, READY_FD, INFO_FD), strict=True):
                os.dup2(fd, target, inheritable=True)
            os.closerange(CONTROL_FD, CONTROL_FD + 1)
            os.closerange(INFO_FD + 1, LAST_FD)
            entering.limit(rlimits, cgroups)
            entering.become(ids)
            os.execve(argv[0], [*argv, "--info-fd", str(INFO_FD), "--", *INIT], {})

        box.pid = pid = self.fork(run, box)
        for fd in (ready, info, life):
            os.close(fd)
        self.boxes[pid] = box
        self.when(box.ready, lambda: self.is_ready(pid, box))

    def is_ready(self, pid: int, box: Box) -> None:
        said = os.read(box.ready, 16)
        if said:
            info = os.read(box.info, 4096)
            box.init = int(info.partition(b'"child-pid":')[2].split(b",")[0])
            control, box.control = box.control, -1
            self.not_ready(box)
            self.executor(box.ident, control, box, pid, list(box.how[3]))
        else:
            self.not_ready(box)

    def not_ready(self, box: Box) -> None:
        """Let go of what only a starting box needs; an unused control socket closes, which its owner sees."""
        if box.ready in self.waiting:
            self.forget(box.ready)
            os.close(box.info)
            box.ready = -1
        if box.control >= 0:
            os.close(box.control)
            box.control = -1
            self.tell(("started", box.ident, box.pid, 0))

    def executor(self, ident: int, control: int, box: "Box | None", pid: int, where: "list[Any]") -> None:
        directory, environment, token = where

        def run() -> None:
            os.dup2(above(control), CONTROL_FD, inheritable=False)
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1):
                os.dup2(null, fd)
            os.closerange(CONTROL_FD + 1, LAST_FD)
            if box is not None:
                ids, rlimits, cgroups, _ = box.how
                entering.limit(rlimits, cgroups)
                entering.enter(box.init, ids, CONTROL_FD)
            entering.adopt()
            os.chdir(directory)
            os.umask(0o022)
            os.setsid()
            serve.serve(CONTROL_FD, directory, token, environment, alone=box is not None)
            os._exit(0)

        executor = 0 if pid and box is None else self.fork(run)
        os.close(control)
        self.tell(("started", ident, pid, executor))


def above(fd: int) -> int:
    """The same file under a number that no standard place uses."""
    while fd <= INFO_FD:
        fd = os.dup(fd)
    return fd


def main(fd: int) -> None:
    """Serve the parent at `fd` until it goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    gc.freeze()
    os.chdir("/")
    os.set_inheritable(fd, False)
    Spawner(_socket.socket(fileno=fd)).run()
