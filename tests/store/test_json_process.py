"""What a process of ours tells the one that started it."""

import json
import subprocess
import sys
from pathlib import Path

BODY = """
from pathlib import Path
from journeyman.store.json_process import run

def body(arguments, emit):
    with Path(arguments.config).open("w") as file:
        file.write("x")

raise SystemExit(run("", body))
"""


def test_what_the_system_refuses_is_told_as_the_users_to_mend(tmp_path: Path) -> None:
    for place, said in (("/dev/full", "no space is left"), (str(tmp_path), f"{tmp_path}: Is a directory: give a file")):
        command = [sys.executable, "-c", BODY, "--config", place]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        line = json.loads(done.stdout)
        assert line["event"] == "error"
        assert said in line["message"]
        assert "Traceback" not in done.stderr
