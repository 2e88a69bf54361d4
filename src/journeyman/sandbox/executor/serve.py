"""The executor's loop: requests are 4-byte length + marshal of (op, args); replies 4-byte length + `pack` of a dict.

Invariant: replies are a tagged text that the host can read without trusting it (see `sandbox.wire`).
"""

import marshal
import posix

from journeyman.sandbox.executor.files import Files
from journeyman.sandbox.executor.paths import Root, Wrong
from journeyman.sandbox.executor.processes import Processes
from journeyman.sandbox.executor.search import Search


def pack(value: object, out: list[bytes]) -> None:
    """Tagged, length-prefixed encoding of None, bool, int, str, bytes, list and dict."""
    if value is None:
        out.append(b"n")
    elif isinstance(value, bool):
        out.append(b"t" if value else b"f")
    elif isinstance(value, int):
        out.append(b"i%d;" % value)
    elif isinstance(value, str):
        data = value.encode("utf-8", "replace")
        out.append(b"s%d:" % len(data))
        out.append(data)
    elif isinstance(value, bytes):
        out.append(b"b%d:" % len(value))
        out.append(value)
    elif isinstance(value, list):
        out.append(b"l%d:" % len(value))
        for item in value:
            pack(item, out)
    elif isinstance(value, dict):
        out.append(b"d%d:" % len(value))
        for key, item in value.items():
            pack(key, out)
            pack(item, out)
    else:
        raise TypeError(f"cannot pack {type(value).__name__}")


def receive(control: int, size: int) -> bytes:
    """Exactly `size` bytes; b"" when the host has gone."""
    data = posix.read(control, size)
    while 0 < len(data) < size:
        more = posix.read(control, size - len(data))
        if not more:
            return b""
        data += more
    return data


def answer(control: int, reply: dict[str, object]) -> None:
    """Write one reply frame."""
    out: list[bytes] = [b""]
    pack(reply, out)
    out[0] = sum(map(len, out)).to_bytes(4, "big")
    view = memoryview(b"".join(out))
    while view:
        view = view[posix.write(control, view) :]


def serve(control: int, root: str, token: str, environment: dict[str, str], alone: bool) -> None:
    """Answer until the host closes the socket, and leave nothing of the box running.

    `environment`: of the commands. `alone`: this process and the box's init are all that the box holds that is ours.
    """
    where = Root(root)
    processes, files, search = Processes(where, control, token, environment, alone), Files(where), Search(where)
    operations = {
        **{
            name: getattr(processes, name)
            for name in ("exec", "task_start", "task_output", "task_stop", "task_list", "kill_all")
        },
        **{name: getattr(files, name) for name in ("read", "write", "edit", "stat", "put", "get")},
        **{name: getattr(search, name) for name in ("grep", "glob")},
    }
    answer(control, {})  # hello
    while True:
        header = receive(control, 4)
        body = receive(control, int.from_bytes(header, "big")) if header else b""
        if not body:
            break
        op, args = marshal.loads(body)
        processes.reap()
        try:
            reply = operations[op](args)
        except Wrong as wrong:
            reply = {"error": str(wrong)}
        except OSError as error:
            reply = {"error": f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")}
        answer(control, reply)
    if not alone:  # a box ends with its executor
        processes.kill_all({})
