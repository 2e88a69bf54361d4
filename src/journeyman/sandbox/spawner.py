"""A small process that starts boxes: forking it is cheap, and as root it drops to a per-episode uid before `exec`.

Invariant: it runs only what its parent asks for over one inherited socket, and everything it started dies with it.

Run as `python -I -S spawner.py FD`. Messages are marshal of a tuple (parent and spawner are both ours):
("spawn", id, argv, environment, ids or None, rlimits, cgroup files) with one fd -> ("started", id, pid);
("bind", id, source, target) -> ("bound", id, error text); ("kill", pid). Later ("exit", pid, code, cpu seconds, text).
"""

import _socket
import marshal
import os
import resource
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTROL_FD = 3  # where a started program finds its socket
MESSAGE_BYTES = 256 << 10
ERROR_BYTES = 2000
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18


class Spawner:
    """Owns the children: pid -> (pidfd, memfd of its errors)."""

    def __init__(self, parent: "_socket.socket") -> None:
        self.parent = parent
        self.children: dict[int, tuple[int, int]] = {}
        self.by_pidfd: dict[int, int] = {}
        self.poll = select.poll()
        self.poll.register(parent.fileno(), select.POLLIN)
        self.private = False

    def run(self) -> None:
        """Serve until the parent closes its end."""
        while True:
            for fd, _ in self.poll.poll():
                if fd != self.parent.fileno():
                    self.ended(self.by_pidfd[fd])
                elif not self.message():
                    return

    def message(self) -> bool:
        data, ancillary, _, _ = self.parent.recvmsg(MESSAGE_BYTES, _socket.CMSG_SPACE(4))
        if not data:
            return False
        fds = [int.from_bytes(raw[:4], sys.byteorder) for _, _, raw in ancillary]
        kind, *rest = marshal.loads(data)
        if kind == "spawn":
            self.spawn(fds[0], *rest)
        elif kind == "bind":
            self.bind(*rest)
        elif kind == "kill" and rest[0] in self.children:
            os.kill(rest[0], signal.SIGKILL)
        for fd in fds:
            os.close(fd)
        return True

    def tell(self, message: "tuple[Any, ...]") -> None:
        self.parent.send(marshal.dumps(message))

    def spawn(
        self,
        control: int,
        ident: int,
        argv: list[str],
        environment: dict[str, str],
        ids: "tuple[int, int] | None",
        rlimits: list[tuple[int, int]],
        cgroups: list[str],
    ) -> None:
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                become(control, errors, ids, rlimits, cgroups)
                os.execve(argv[0], argv, environment)
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}".encode())
            finally:
                os._exit(127)
        pidfd = os.pidfd_open(pid)
        self.children[pid] = (pidfd, errors)
        self.by_pidfd[pidfd] = pid
        self.poll.register(pidfd, select.POLLIN)
        self.tell(("started", ident, pid))

    def ended(self, pid: int) -> None:
        pidfd, errors = self.children.pop(pid)
        del self.by_pidfd[pidfd]
        self.poll.unregister(pidfd)
        _, status, usage = os.wait4(pid, 0)
        text = os.pread(errors, ERROR_BYTES, 0).decode("utf-8", "replace")
        os.close(pidfd)
        os.close(errors)
        self.tell(("exit", pid, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, text))

    def bind(self, ident: int, source: str, target: str) -> None:
        """Make `source` reachable at `target`, in a mount namespace that only this process and its children see."""
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        error = ""
        if not self.private:
            failed = libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
            self.private = not failed
            error = f"unshare: {os.strerror(ctypes.get_errno())}" if failed else ""
        if self.private and libc.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND | MS_REC, None):
            error = f"mount: {os.strerror(ctypes.get_errno())}"
        self.tell(("bound", ident, error))


def become(
    control: int, errors: int, ids: "tuple[int, int] | None", rlimits: list[tuple[int, int]], cgroups: list[str]
) -> None:
    """In the child: standard fds, cgroups, limits, and last the uid (nothing can be raised after it)."""
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(control, CONTROL_FD, inheritable=True)
    for fd, target in ((null, 0), (null, 1), (errors, 2)):
        os.dup2(fd, target, inheritable=True)
    for name in cgroups:
        with open(name, "w") as file:  # noqa: PTH123 - pathlib costs more than this program
            file.write("0")
    for kind, limit in rlimits:
        _, hard = resource.getrlimit(kind)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))
    if ids is not None:
        os.setgroups([])
        os.setresgid(ids[1], ids[1], ids[1])
        os.setresuid(ids[0], ids[0], ids[0])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Spawner(_socket.socket(fileno=int(sys.argv[1]))).run()
