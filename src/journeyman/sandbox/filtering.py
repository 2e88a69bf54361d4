"""A seccomp filter for what runs in a box: no reaching into other processes, no rarely needed kernel surface.

Invariant: it is inherited by everything the executor starts and can never be taken off. Without it a policy could trace
the box's init and end its own box.
"""

import ctypes
import os
import struct

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # BPF: ld abs, jeq, jge, ret
X32_BIT = 0x40000000
# audit architecture; ptrace, process_vm_readv, process_vm_writev, perf_event_open, bpf, userfaultfd, add_key,
# request_key, keyctl, pidfd_getfd, io_uring_setup
CALLS: dict[str, tuple[int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, (101, 310, 311, 298, 321, 323, 248, 249, 250, 438, 425)),
    "aarch64": (0xC00000B7, (117, 270, 271, 241, 280, 282, 217, 218, 219, 438, 425)),
}


def program(machine: str) -> bytes:
    """The filter as BPF instructions; empty for a machine whose call numbers are not known here."""
    if machine not in CALLS:
        return b""
    architecture, calls = CALLS[machine]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 0, len(calls) + 2, architecture), (LOAD, 0, 0, 0)]
    steps.append((AT_LEAST, len(calls), 0, X32_BIT))
    steps += [(EQUAL, len(calls) - 1 - i, 0, call) for i, call in enumerate(calls)]
    steps[-1] = (EQUAL, 0, 1, calls[-1])
    steps += [(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


_CODE = program(os.uname().machine)
_BUFFER = ctypes.create_string_buffer(_CODE, max(len(_CODE), 1))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


_FILTER = _Program(len(_CODE) // 8, ctypes.addressof(_BUFFER))


def apply(libc: ctypes.CDLL) -> int:
    """Put the filter on this process (no_new_privs must be set); 0 where it worked or this machine has none."""
    if not _CODE:
        return 0
    return int(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(_FILTER), 0, 0))
