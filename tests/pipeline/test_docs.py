"""Every command the documentation shows is run, in the order shown; every verb the README lists exists."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from journeyman.cli.main import VERBS
from tests.pipeline.conftest import Made

ROOT = Path(__file__).parents[2]


def shown_commands(page: Path) -> list[str]:
    """Lines of `sh` blocks that start with journeyman."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), flags=re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.startswith("journeyman ")]


@pytest.mark.slow
def test_every_command_of_the_tour_runs(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.directory, tmp_path / "runs" / "quickstart")
    commands = shown_commands(ROOT / "docs" / "tour.md")
    assert len(commands) >= 10
    for command in commands:
        arguments = [sys.executable, "-m", "journeyman.cli.main", *shlex.split(command)[1:]]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-1500:]}{done.stderr[-1500:]}"


def test_the_readme_lists_every_verb_and_no_other() -> None:
    listed = re.findall(r"^\| `journeyman ([a-z]+)", (ROOT / "README.md").read_text(), flags=re.M)
    assert listed == list(VERBS)


def test_every_make_target_the_readme_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, flags=re.M))
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", (ROOT / "README.md").read_text(), flags=re.M))
    patterns = tuple(re.findall(r"^([a-z]+-)%:", makefile, flags=re.M))
    assert not {name for name in named if name not in targets and not name.startswith(patterns)}


def test_the_documentation_links_to_files_that_exist() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"
