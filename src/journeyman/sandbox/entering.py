"""How a forked process gets into a box: limits, uid, namespaces, and no way back to a capability.

Invariant: when `enter` returns, the process is in every namespace of the box, has the box's uid, empty capability sets,
no_new_privs, and cannot be traced; everything it executes starts from there.
"""

import ctypes
import os
import resource

NAMESPACES = {"user": 0x10000000, "mnt": 0x20000, "uts": 0x4000000, "ipc": 0x8000000, "pid": 0x20000000}
NAMESPACES |= {"net": 0x40000000, "cgroup": 0x2000000}
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 24, 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522

libc = ctypes.CDLL(None, use_errno=True)
_private: list[bool] = []


def _check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def limit(rlimits: list[tuple[int, int]], cgroups: list[str]) -> None:
    """Join cgroups and lower limits; before the uid is given up."""
    for name in cgroups:
        fd = os.open(name, os.O_WRONLY)
        os.write(fd, b"0")
        os.close(fd)
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


def enter(init: int, ids: "tuple[int, int] | None", keep: int) -> None:
    """Enter the box whose init is `init`, and return in a new process there; this one waits for it and ends as it ends.

    `keep`: the fd that only the new process keeps. Raises OSError.
    """
    flags = 0
    for name, flag in NAMESPACES.items():
        if os.readlink(f"/proc/{init}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"):  # noqa: PTH115
            flags |= flag
    missing = flags ^ sum(NAMESPACES.values())
    if missing & ~NAMESPACES["cgroup"]:
        raise OSError(f"the box of process {init} shares a namespace with the host (missing: {missing:#x})")
    target = os.pidfd_open(init)
    become(ids)
    _check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl dumpable")
    _check(libc.setns(target, flags), "setns")
    os.close(target)
    child = os.fork()
    if child:
        os.close(keep)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(128 - code if code < 0 else code)
    drop_capabilities()


def adopt() -> None:
    """Become the parent of what our descendants leave behind, so that it can be reaped."""
    _check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl subreaper")


def drop_capabilities() -> None:
    """Empty the bounding, ambient, permitted, effective and inheritable sets, for good. Raises OSError."""
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl no_new_privs")
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last one this kernel knows
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(libc.capset(header, nothing), "capset")
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
