"""The error tree. A failure names the layer that failed, once, where the boundary was crossed.

    JourneymanError
    |- UserError        the user can fix it: one line with the value and the remedy, exit code 2, no traceback
    `- Failure          ours, not the policy's: typed by layer, recorded, the attempt is quarantined, siblings carry on
       |- SandboxFailure | EngineFailure | CaptureFailure | ServiceFailure | HarnessFailure | GraderFailure

Anything else that escapes is a bug of ours and crashes. What the policy caused is never an error: it is a tool result
or a stop reason (`records.outcome.StopReason`).
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Layer = Literal["sandbox", "engine", "capture", "service", "harness", "grader"]


class JourneymanError(Exception):
    """Root of every error this package raises on purpose."""


class UserError(JourneymanError):
    """Something the user can fix. `str()` is one line naming the value and the remedy; the CLI exits 2."""


class Failure(JourneymanError):
    """Our side failed. `layer` says which boundary; `cause` is a short stable slug; `detail` is for the log."""

    layer: Layer

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{self.layer}: {cause}" + (f": {detail}" if detail else ""))
        self.cause = cause
        self.detail = detail


class SandboxFailure(Failure):
    """The box could not start, was lost, or its executor stopped answering."""

    layer: Layer = "sandbox"


class EngineFailure(Failure):
    """The sampler refused, died, timed out, or answered with unusable token data."""

    layer: Layer = "engine"


class CaptureFailure(Failure):
    """The gateway is down, could not record a turn, or an append invariant does not hold."""

    layer: Layer = "capture"


class ServiceFailure(Failure):
    """A live system of record crashed or could not be reached (declared, seeded faults are not failures)."""

    layer: Layer = "service"


class HarnessFailure(Failure):
    """The agent loop itself raised."""

    layer: Layer = "harness"


class GraderFailure(Failure):
    """Grading raised, or the verdict set stayed incomplete, duplicated or foreign after bounded retries."""

    layer: Layer = "grader"


BY_LAYER: dict[Layer, type[Failure]] = {
    cls.layer: cls
    for cls in (SandboxFailure, EngineFailure, CaptureFailure, ServiceFailure, HarnessFailure, GraderFailure)
}


@contextmanager
def boundary(layer: Layer) -> Iterator[None]:
    """Turn whatever escapes into `layer`'s failure; typed errors pass through untouched.

    Raises: the layer's `Failure`, with `cause` = the exception's class name.
    """
    try:
        yield
    except JourneymanError:
        raise
    except Exception as error:
        raise BY_LAYER[layer](type(error).__name__, str(error)) from error


REMEDIES = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EACCES: "change its permissions, or give another path",
    errno.EPERM: "change its permissions, or give another path",
    errno.EROFS: "give a path that can be written",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EISDIR: "give a file",
    errno.ENOTDIR: "give a path below a directory",
    errno.ENOENT: "see whether something removed it",
}
"""What to do about a refusal of the system, by its number."""


def refused(error: OSError) -> str:
    """What the system refused: the path where it is known, why, and what to do; "" where a program raised it itself."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):  # of many files copied; the first is told
        _, target, why = error.args[0][0]
        return f"{target}: {why}: free some space there, or give another path"
    if error.errno is None:
        return ""
    if error.errno == errno.ENOSPC and error.filename is None:
        return "no space is left on the disk, or other place, that this writes to: free some and type it again"
    where = f"{os.fsdecode(error.filename)[:160]}: " if isinstance(error.filename, str | bytes | os.PathLike) else ""
    return f"{where}{error.strerror}: {REMEDIES.get(error.errno, 'mend that and type it again')}"
