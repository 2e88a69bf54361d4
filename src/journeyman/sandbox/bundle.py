"""Packs the executor's modules into one file that runs in a box with nothing of ours bound into it."""

import functools
import marshal
from pathlib import Path

ORDER = ("paths", "processes", "files", "search", "serve")
PACKAGE = "journeyman.sandbox.executor"

# argv: bundle, fd, root, token. Interrupts from inside the box are ignored: its policy must not be able to stop us.
BOOT = """\
import _signal,marshal,posix,sys
_signal.signal(2,_signal.SIG_IGN)
f=posix.open(sys.argv[1],posix.O_RDONLY|posix.O_CLOEXEC)
b=posix.read(f,posix.fstat(f).st_size)
posix.close(f)
for n,c in marshal.loads(b):
 m=sys.modules[n]=type(sys)(n)
 exec(c,m.__dict__)
m.serve(int(sys.argv[2]),sys.argv[3],sys.argv[4])
posix._exit(0)
"""


@functools.cache
def bundle() -> bytes:
    """marshal of [(module name, code)], for the interpreter that runs now (boxes run the same one)."""
    here = Path(__file__).parent / "executor"
    codes = []
    for name in ORDER:
        source = (here / f"{name}.py").read_text()
        code = compile(source, f"executor/{name}.py", "exec", dont_inherit=True, optimize=2)
        codes.append((f"{PACKAGE}.{name}", code))
    return marshal.dumps(codes)
