"""How a forked process gets into a box: limits, uid, namespaces, and no way back to a capability.

Invariant: the process that `enter` makes is in every namespace of the box, has empty capability sets and no_new_privs,
and cannot be traced; everything it executes starts from there.
"""

import ctypes
import os
import resource

from journeyman.sandbox import filtering

CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x10000000, 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP = 0x20000000, 0x40000000, 0x2000000
NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 24, 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522
_HEADER, _NOTHING = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()

libc = ctypes.CDLL(None, use_errno=True)
_private: list[bool] = []
with open("/proc/sys/kernel/cap_last_cap") as _file:  # noqa: PTH123
    LAST_CAPABILITY = int(_file.read())


def _check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def limit(rlimits: list[tuple[int, int]], cgroups: list[str]) -> None:
    """Join cgroups and lower limits, but that of processes; before the uid is given up."""
    for name in cgroups:
        fd = os.open(name, os.O_WRONLY)
        os.write(fd, b"0")
        os.close(fd)
    lower([one for one in rlimits if one[0] != resource.RLIMIT_NPROC])


def lower(rlimits: list[tuple[int, int]]) -> None:
    """Lower limits for good. That of processes only counts a box's own once we are in its user namespace."""
    for kind, value in rlimits:
        hard = resource.getrlimit(kind)[1]
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowered, lowered))


def become(ids: "tuple[int, int] | None") -> None:
    """Give up our uid for the box's (None: keep the caller's own)."""
    if ids is not None:
        os.setgroups([])
        os.setresgid(ids[1], ids[1], ids[1])
        os.setresuid(ids[0], ids[0], ids[0])


def enter(init: int) -> int:
    """Enter the box whose init is `init`: returns 0 in a new process there, and its pid in this one. Raises OSError."""
    target = os.pidfd_open(init)
    _check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl dumpable")
    if libc.setns(target, NAMESPACES) != 0:  # where cgroup namespaces are missing, the box has none of its own
        _check(libc.setns(target, NAMESPACES & ~CLONE_NEWCGROUP), "setns")
    os.close(target)
    child = os.fork()
    if child == 0:
        drop_capabilities()
        adopt()
    return child


def init_of(box: int) -> int:
    """The init of a running box: the child of the child of the process that started it. Raises OSError."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:  # noqa: PTH123
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
    for pid, parent in parents.items():
        if parents.get(parent) == box and os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid"):  # noqa: PTH115
            return pid
    raise ProcessLookupError(f"the box of process {box} has no init")


def adopt() -> None:
    """Become the parent of what our descendants leave behind, so that it can be reaped."""
    _check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl subreaper")


def drop_capabilities() -> None:
    """Empty the bounding, ambient, permitted, effective and inheritable sets, for good. Raises OSError."""
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl no_new_privs")
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _check(filtering.apply(libc), "prctl seccomp")
    _check(libc.capset(_HEADER, _NOTHING), "capset")
    _check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl dumpable")


def bind(source: str, target: str) -> str:
    """Make `source` reachable at `target` in a mount namespace of our own; returns "" or why not."""
    try:
        if not _private:
            _check(libc.unshare(CLONE_NEWNS), "unshare")
            _check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make private")
            _private.append(True)
        _check(libc.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND | MS_REC, None), "bind")
    except OSError as error:
        return str(error)
    return ""
