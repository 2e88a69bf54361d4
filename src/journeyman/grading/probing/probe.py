"""Calls functions of programs that an attempt left, on inputs nobody showed it; run as a script, standard library only.

Invariant: it is told inputs and never the answers; each program runs in a process of its own that is ended with it, so
that one which crashes, exits or does not end takes no other program's answers with it.

Standard input: {"workspace": directory, "asked": [{"path", "function", "cases": [[argument, ...], ...], "through"}]}.
Standard output, last line: for each one asked, [{"value"} | {"value", "calls", "moved"}, ..., {"error"}].
"""

import contextlib
import importlib
import importlib.abc
import importlib.util
import io
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

SECONDS = 5  # of CPU, for all cases of one program
PATIENCE = 60  # seconds by the clock: a machine that is busy with other things is not the program's doing
LONGEST = 1_000_000  # bytes of what it tells


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules of a folder from their text. Found after what is loaded already: no program hides a package."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A spec where the folder has the module."""
        return importlib.util.spec_from_loader(name, self) if name in self.texts else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text."""
        exec(compile(self.texts[module.__name__], f"{module.__name__}.py", "exec"), module.__dict__)


class Watch:
    """Stands where a function of a package stood: counts its calls and, when told to, answers otherwise."""

    def __init__(self, dotted: str) -> None:
        module, *names = _resolved(dotted)
        self.owner: Any = importlib.import_module(module)
        for name in names[:-1]:
            self.owner = getattr(self.owner, name)
        self.name = names[-1]
        self.real = getattr(self.owner, self.name)
        self.calls, self.otherwise = 0, False

    def __enter__(self) -> "Watch":
        def standin(*given: Any, **named: Any) -> Any:
            self.calls += 1
            answer = self.real(*given, **named)
            return other(answer) if self.otherwise else answer

        setattr(self.owner, self.name, standin)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self.owner, self.name, self.real)


def _resolved(dotted: str) -> list[str]:
    """The longest part that is a module, then the names below it."""
    parts = dotted.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:end])
        if importlib.util.find_spec(module) is not None:
            return [module, *parts[end:]]
    raise ModuleNotFoundError(dotted)


def other(answer: Any) -> Any:
    """An answer of the same kind that says something else."""
    if isinstance(answer, list | tuple):
        return type(answer)(other(part) for part in answer)
    return answer[::-1] + "?" if isinstance(answer, str) else answer * 2 + 1


def answers(asked: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What the asked function gives, case by case; what it raises is raised.

    With `through`, each case is called twice: as it is, and with that function of a package answering otherwise.
    `moved` says whether the answer then differed: it came through the package.
    """
    watch = Watch(asked["through"]) if asked.get("through") else None
    finder, known = Sources(texts), dict(sys.modules)
    sys.meta_path.insert(0, finder)
    try:
        with watch or contextlib.nullcontext(), contextlib.redirect_stdout(io.StringIO()):
            name = asked["path"].rsplit("/", 1)[-1].removesuffix(".py")
            function = getattr(importlib.import_module(name), asked["function"])
            for case in asked["cases"]:
                yield _answer(function, case, watch)
    finally:
        sys.meta_path.remove(finder)
        for name in texts:
            sys.modules.pop(name, None)
            if name in known:
                sys.modules[name] = known[name]


def _answer(function: Any, case: Sequence[Any], watch: Watch | None) -> dict[str, Any]:
    value = plain(function(*plain(case)))
    if watch is None:
        return {"value": value}
    calls = watch.calls
    watch.otherwise = True
    moved = plain(function(*plain(case))) != value
    watch.otherwise, watch.calls = False, 0
    return {"value": value, "calls": calls, "moved": moved}


def plain(value: Any) -> Any:
    """The value as JSON says it: no object of a program's own can say that it equals everything."""
    return json.loads(json.dumps(value))


def texts_beside(workspace: str, path: str) -> dict[str, str]:
    """Text of the Python files in the folder of `path`, by module name."""
    folder = os.path.dirname(os.path.join(workspace, path))  # noqa: PTH118, PTH120
    found: dict[str, str] = {}
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
                found[name.removesuffix(".py")] = file.read()
    return found


def apart(asked: Mapping[str, Any], workspace: str) -> list[dict[str, Any]]:
    """The answers from a process of their own; the last one is an error where it ended early."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        _tell(asked, workspace, writing)
        os._exit(0)
    os.close(writing)
    said, status = _heard(child, reading)
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line]
    found = [json.loads(line)["answer"] for line in lines if line.startswith('{"answer": ')]
    if len(found) < len(asked["cases"]):
        late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGXCPU)
        why = f"it did not end within {SECONDS} s" if late else (lines or ["it ended early"])[-1]
        found.append({"error": why[-200:]})
    return found


def _tell(asked: Mapping[str, Any], workspace: str, writing: int) -> None:
    """In the child: each answer as a line; a traceback, where it raises, says why."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor, target in ((nothing, 0), (nothing, 1), (writing, 2)):
        os.dup2(descriptor, target)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    signal.alarm(PATIENCE)
    os.chdir(workspace)
    with os.fdopen(writing, "w") as out:
        for answer in answers(asked, texts_beside(workspace, asked["path"])):
            out.write("\n" + json.dumps({"answer": answer}) + "\n")
            out.flush()


def _heard(child: int, reading: int) -> tuple[bytes, int]:
    """What the child said until it ended, and how; whatever it started ends with it."""
    said, status, ended = b"", 0, False
    while not ended:
        ready, _, _ = select.select([reading], [], [], 0.02)
        part = os.read(reading, 65536) if ready else b""
        said = (said + part)[:LONGEST]
        if not part:
            pid, status = os.waitpid(child, 0 if ready else os.WNOHANG)
            ended = pid == child
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    os.close(reading)
    return said, status


def main() -> None:
    """Answer what standard input asks."""
    given = json.load(sys.stdin)
    for dotted in sorted({asked["through"] for asked in given["asked"] if asked["through"]}):
        importlib.import_module(_resolved(dotted)[0])  # once, for all that fork from here
    print(json.dumps([apart(asked, given["workspace"]) for asked in given["asked"]]))


if __name__ == "__main__":
    main()
