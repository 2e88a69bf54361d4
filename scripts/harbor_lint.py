"""Lint our task packages with Harbor's own linter, in an environment of its own (Harbor needs Python 3.12 or later).

One task of every environment type and size is made, `harbor lint --select ALL --json` runs over them, and every finding
must be waived by name in harbor_waivers.toml.
Exit 0: clean but for the waivers; 1: something else was found; 2: no Python new enough.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.worlds.registry import ENVIRONMENT_TYPES

HARBOR = "harbor==0.26.0"
HERE = Path(__file__).parent


def new_enough(python: str) -> bool:
    """Whether `python` runs and is 3.12 or later."""
    try:
        asked = subprocess.run(
            [python, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"], capture_output=True, check=False
        )
    except OSError:
        return False
    return asked.returncode == 0


def interpreters(named: str | None) -> list[str]:
    """Where a new enough Python may be: the one named, the one running, those on PATH and under pyenv."""
    on_path = [found for minor in (12, 13, 14) if (found := shutil.which(f"python3.{minor}"))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    others = sorted(str(path) for path in pyenv.glob("3.1[2-9]*/bin/python3"))
    return [named] if named else [sys.executable, *on_path, *others]


def harbor(venv: Path, named: str | None) -> Path:
    """The `harbor` command of `venv`, installed there if it is not yet."""
    command = venv / "bin" / "harbor"
    if command.exists():
        return command
    python = next((p for p in interpreters(named) if new_enough(p)), None)
    if python is None:
        print(
            "harbor needs Python 3.12 or later and none was found: pass --python /path/to/python3.12", file=sys.stderr
        )
        raise SystemExit(2)
    subprocess.run([python, "-m", "venv", str(venv)], check=True)
    subprocess.run([str(venv / "bin" / "python"), "-m", "pip", "install", "-q", HARBOR], check=True)
    return command


def findings(command: Path, packages: list[Path], root: Path) -> dict[tuple[str, str], list[str]]:
    """(rule, path in the package) -> one line for each finding."""
    done = subprocess.run(
        [str(command), "lint", "--select", "ALL", "--json", *map(str, packages)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )  # fmt: skip
    if done.returncode not in (0, 1) or not done.stdout.strip().startswith("["):
        raise SystemExit(f"harbor lint failed ({done.returncode}): {done.stderr[-2000:]}")
    found: dict[tuple[str, str], list[str]] = {}
    for finding in json.loads(done.stdout):
        name, _, path = Path(finding["path"]).resolve().relative_to(root.resolve()).as_posix().partition("/")
        found.setdefault((finding["rule"], path), []).append(f"{name}: {finding['message']}")
    return found


def main() -> int:
    """Make, lint, compare with the waivers."""
    parser = argparse.ArgumentParser(description="Lint our task packages with Harbor's linter.")
    parser.add_argument("--python", help="interpreter (3.12 or later) for Harbor's own environment")
    parser.add_argument("--venv", type=Path, default=Path("build/harbor-venv"))
    options = parser.parse_args()
    waivers = tomllib.loads((HERE / "harbor_waivers.toml").read_text())["waiver"]
    waived = {(w["rule"], w["path"]): w["reason"] for w in waivers}
    command = harbor(options.venv, options.python)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        wants = [Wanted(kind, 1, "train", size) for kind in ENVIRONMENT_TYPES for size in ("compact", "standard")]
        packages = [make_one(want, root) for want in wants]
        found = findings(command, packages, root)
    for key, lines in sorted(found.items()):
        mark = "waived" if key in waived else "FOUND"
        print(f"{mark}  {key[0]}  {key[1]}  {len(lines)} packages  {waived.get(key, lines[0])}")
    unused = sorted(set(waived) - set(found))
    for rule, path in unused:
        print(f"UNUSED  waiver {rule} {path}: remove it")
    wrong = set(found) - set(waived)
    print(f"{len(packages)} packages: {len(found)} kinds of finding, {len(wrong)} not waived, {len(unused)} unused")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
