"""Commands and background tasks inside the box: fresh shells, bounded output, and kills that reach the whole tree."""

import posix
import select
import time

from journeyman.sandbox.executor.paths import Root, Wrong, slurp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Args = dict[str, Any]
    Reply = dict[str, Any]

OUTPUT_HEAD, OUTPUT_TAIL = 20_000, 10_000  # bytes of a command's output that are kept from its start and its end
KILL = 9


class Processes:
    """Everything started for the policy; `token` marks the processes of this box, `control` is the host's socket."""

    def __init__(self, root: Root, control: int, token: str, environment: dict[str, str], alone: bool) -> None:
        self.root, self.control, self.token, self.alone = root, control, token, alone
        self.environment = {key.encode(): value.encode() for key, value in environment.items()}
        self.tasks: dict[str, Args] = {}
        self.ended: dict[int, int] = {}  # exit codes of children that were reaped
        self.calls = 0

    def spawn(self, command: str, out: int, cwd: str, env: "dict[str, str]") -> tuple[int, str]:
        """Start a fresh shell in its own session, output and errors to `out`; returns (pid, the mark of its tree)."""
        self.calls += 1
        mark = f"{self.token}.{self.calls}"
        environment = {**self.environment, b"SANDBOX_CALL": mark.encode()}
        environment.update({key.encode(): value.encode() for key, value in env.items()})
        actions = [
            (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
            (posix.POSIX_SPAWN_DUP2, out, 1),
            (posix.POSIX_SPAWN_DUP2, out, 2),
        ]
        argv = (
            ["/bin/bash", "-c", command]
            if cwd == self.root.root
            else ["/bin/bash", "-c", 'cd "$0" && eval "$1"', cwd, command]
        )
        pid = posix.posix_spawn(argv[0], argv, environment, file_actions=actions, setsid=True, setsigdef=(2, 3, 13, 25))
        _volunteer(pid)
        return pid, mark

    def reap(self) -> None:
        """Collect every child that has ended (orphans too, where this process is the box's init)."""
        try:
            while True:
                pid, status = posix.waitpid(-1, posix.WNOHANG)
                if pid == 0:
                    return
                self.ended[pid] = posix.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return

    def kill_tree(self, pid: int, mark: str) -> None:
        """Kill a shell's session, its descendants, and whatever carries its mark, until none is left."""
        needle = b"SANDBOX_CALL=" + mark.encode() + b"\0"
        for _ in range(20):
            doomed = {pid} if pid not in self.ended else set()
            parents = dict(_processes())
            for other, (parent, session) in parents.items():
                if other in (1, posix.getpid()):
                    continue
                if session == pid or parent in doomed or needle in slurp(f"/proc/{other}/environ"):
                    doomed.add(other)
            for other in doomed:
                _kill(other)
            self.reap()
            if not [other for other in doomed if other not in self.ended and _alive(other)]:
                return
            time.sleep(0.005)

    def kill_all(self, args: "Args") -> "Reply":
        """Kill every process but this one."""
        for task in self.tasks.values():
            if task["pid"] not in self.ended:
                task["stopped"] = True
        if self.alone:
            self._kill_rest()
        else:
            self._kill_marked()
        return {}

    def _kill_rest(self) -> None:
        """In a box: everything but its init and this process."""
        while True:
            try:
                posix.kill(-1, KILL)
            except ProcessLookupError:
                return
            self.reap()
            time.sleep(0.0005)

    def _kill_marked(self) -> None:
        """Without a box: whatever carries this executor's mark."""
        needle = b"SANDBOX_CALL=" + self.token.encode() + b"."
        for _ in range(1000):
            doomed = [pid for pid, _ in _processes() if needle in slurp(f"/proc/{pid}/environ")]
            for pid in doomed:
                _kill(pid)
            self.reap()
            if not doomed:
                return
            time.sleep(0.002)

    def exec(self, args: "Args") -> "Reply":
        """Run a command in the foreground; a timeout kills its whole tree. {output, exit_code, timed_out, truncated}"""
        r, w = posix.pipe2(posix.O_CLOEXEC)
        posix.set_blocking(r, False)
        limit = float(args.get("timeout_seconds") or 120.0)
        pid, mark = self.spawn(
            args["command"], w, self.root.path(args.get("cwd") or "/workspace"), args.get("env") or {}
        )
        posix.close(w)
        alive = posix.pidfd_open(pid)
        poll = select.poll()
        for fd in (r, alive, self.control):
            poll.register(fd, select.POLLIN)
        deadline = time.monotonic() + limit
        keep = Kept()
        timed_out = False
        try:
            while True:
                left = deadline - time.monotonic()
                ready = {fd for fd, _ in poll.poll(max(0.0, left) * 1000)} if left > 0 else set()
                if not ready or self.control in ready:  # time is up, or the host will not wait (it never pipelines)
                    timed_out = True
                    break
                if r in ready and not keep.drain(r):
                    poll.unregister(r)
                if alive in ready:
                    break
            if timed_out:
                self.kill_tree(pid, mark)
            keep.drain(r)
            if pid not in self.ended:
                self.ended[pid] = posix.waitstatus_to_exitcode(posix.waitpid(pid, 0)[1])
        finally:
            posix.close(r)
            posix.close(alive)
        code = self.ended.pop(pid)
        code = 124 if timed_out else 128 - code if code < 0 else code
        return {"output": keep.text(), "exit_code": code, "timed_out": timed_out, "truncated": keep.lost > 0}

    def task_start(self, args: "Args") -> "Reply":
        """Start a command in the background: {task_id}."""
        out = posix.memfd_create("task", posix.MFD_CLOEXEC)
        pid, mark = self.spawn(args["command"], out, self.root.root, {})
        task_id = str(len(self.tasks) + 1)
        self.tasks[task_id] = {"pid": pid, "mark": mark, "out": out, "command": args["command"], "stopped": False}
        return {"task_id": task_id}

    def _task(self, args: "Args") -> "Args":
        task = self.tasks.get(str(args["task_id"]))
        if task is None:
            known = ", ".join(self.tasks) or "none"
            raise Wrong(f"unknown task_id {args['task_id']!r}; tasks: {known}")
        return task

    def _state(self, task: "Args") -> str:
        if task["stopped"]:
            return "stopped"
        code = self.ended.get(task["pid"])
        return "running" if code is None else f"exited {128 - code if code < 0 else code}"

    def task_output(self, args: "Args") -> "Reply":
        """All output of a task so far, bounded: {output, state, truncated}."""
        task = self._task(args)
        keep = Kept()
        size = posix.fstat(task["out"]).st_size
        keep.add(posix.pread(task["out"], OUTPUT_HEAD, 0))
        if size > OUTPUT_HEAD:
            tail = max(OUTPUT_HEAD, size - OUTPUT_TAIL)
            keep.lost += tail - OUTPUT_HEAD
            keep.tail = posix.pread(task["out"], OUTPUT_TAIL, tail)
        return {"output": keep.text(), "state": self._state(task), "truncated": keep.lost > 0}

    def task_stop(self, args: "Args") -> "Reply":
        """Kill a task's whole tree: {state}."""
        task = self._task(args)
        if task["pid"] not in self.ended:
            self.kill_tree(task["pid"], task["mark"])
            task["stopped"] = True
        return {"state": self._state(task)}

    def task_list(self, args: "Args") -> "Reply":
        """{tasks: [{task_id, state, command}]} in the order they were started."""
        rows = [{"task_id": k, "state": self._state(t), "command": t["command"]} for k, t in self.tasks.items()]
        return {"tasks": rows}


class Kept:
    """The start and the end of an output that may be endless; what lies between is counted."""

    def __init__(self) -> None:
        self.head, self.tail, self.lost = b"", b"", 0

    def drain(self, fd: int) -> bool:
        """Take what a non-blocking pipe holds; False once its writers are gone."""
        for _ in range(64):
            try:
                data = posix.read(fd, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.add(data)
        return True

    def add(self, data: bytes) -> None:
        room = OUTPUT_HEAD - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room < len(data) else b""
        if len(self.tail) > OUTPUT_TAIL:
            self.lost += len(self.tail) - OUTPUT_TAIL
            self.tail = self.tail[-OUTPUT_TAIL:]

    def text(self) -> str:
        if not self.lost:
            return (self.head + self.tail).decode("utf-8", "replace")
        mark = f"\n[... {self.lost} bytes left out ...]\n"
        return self.head.decode("utf-8", "replace") + mark + self.tail.decode("utf-8", "replace")


def _processes() -> "list[tuple[int, tuple[int, int]]]":
    """(pid, (parent, session)) of every process that /proc shows, oldest pid first."""
    rows = []
    for name in posix.listdir("/proc"):
        if name.isdigit():
            fields = slurp(f"/proc/{name}/stat").rpartition(b")")[2].split()
            if len(fields) > 3 and fields[0] not in (b"Z", b"X"):
                rows.append((int(name), (int(fields[1]), int(fields[3]))))
    return sorted(rows)


def _alive(pid: int) -> bool:
    fields = slurp(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return bool(fields) and fields[0] not in (b"Z", b"X")


def _volunteer(pid: int) -> None:
    """Should memory run out, what the policy started goes before the executor."""
    try:
        fd = posix.open(f"/proc/{pid}/oom_score_adj", posix.O_WRONLY | posix.O_CLOEXEC)
    except OSError:
        return
    try:
        posix.write(fd, b"500")
    except OSError:
        return
    finally:
        posix.close(fd)


def _kill(pid: int) -> None:
    try:
        posix.kill(pid, KILL)
    except (ProcessLookupError, PermissionError):
        return
