"""Replay a plan of public tool calls in this container. Standard library only. Usage: replay.py PLAN.json"""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

WORKSPACE = pathlib.Path(os.environ.get("WORKSPACE", "/workspace"))


def write(file_path: str, content: str) -> None:
    path = WORKSPACE / file_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def edit(file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> None:
    path = WORKSPACE / file_path
    text = path.read_text(encoding="utf-8")
    if old_string not in text:
        raise SystemExit(f"{file_path}: {old_string!r} is not there")
    path.write_text(text.replace(old_string, new_string, -1 if replace_all else 1), encoding="utf-8")


def bash(command: str, **_: object) -> None:
    subprocess.run(["bash", "-c", command], cwd=WORKSPACE, check=False)


def service(tool: str, arguments: dict[str, object]) -> None:
    name, _, short = tool.partition("__")
    subprocess.run([name, short, json.dumps(arguments)], cwd=WORKSPACE, check=False)


NATIVE: dict[str, Callable[..., None]] = {"write": write, "edit": edit, "bash": bash}

for step in json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))["steps"]:
    for call in step["calls"]:
        if call["tool"] in NATIVE:
            NATIVE[call["tool"]](**call["arguments"])
        elif "__" in call["tool"]:
            service(call["tool"], call["arguments"])
