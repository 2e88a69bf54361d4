"""One process at a time in a directory: the kernel drops the lock when its holder ends, however it ends."""

import fcntl
from pathlib import Path
from typing import BinaryIO

from journeyman.errors import UserError

REMEDY = "let it finish, stop it, or give another --out"


def hold(path: Path, wait: bool = False, of: str | Path = "", remedy: str = REMEDY) -> BinaryIO:
    """Take the lock file at `path`; held until the returned file is closed. `wait`: until another holder has ended.

    `of`: what it keeps others out of, as its user knows it; "": the lock's directory. Raises UserError where another
    process holds it and `wait` is False.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        file.close()
        raise UserError(f"{of or path.parent} is in use by another process: {remedy}") from None
    return file
