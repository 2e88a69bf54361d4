"""House rules that are tests: names, sizes, docstrings, broad excepts, machine paths, examples in docs."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "journeyman").rglob("*.py"))
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "core", "misc"}


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def test_files_are_named_for_what_they_are_about() -> None:
    bad = [p for p in SOURCES for part in p.relative_to(ROOT).with_suffix("").parts if part in FORBIDDEN_NAMES]
    assert not bad


def test_files_stay_under_400_lines() -> None:
    long = {p.relative_to(ROOT).as_posix(): n for p in SOURCES if (n := len(p.read_text().splitlines())) > 400}
    assert not long


def test_functions_stay_under_60_lines() -> None:
    long = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > 60:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert not long


def test_every_module_says_what_it_is() -> None:
    bare = [
        p.relative_to(ROOT).as_posix()
        for p in SOURCES
        if p.read_text().strip() and not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert not bare


def test_broad_excepts_live_only_at_boundaries() -> None:
    # boundary() itself, and the outermost frame of a forked child, which tells what broke and exits
    allowed = {"src/journeyman/errors.py", "src/journeyman/sandbox/spawner.py"}
    bad = []
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and name not in allowed:
                kinds = ast.unparse(node.type) if node.type else "BaseException"
                if re.search(r"\b(Base)?Exception\b", kinds) and not any(
                    isinstance(inner, ast.Raise) for inner in ast.walk(node)
                ):
                    bad.append(f"{name}:{node.lineno}")
    assert not bad


def test_tests_use_real_parts_and_never_patch() -> None:
    bad = [
        p.relative_to(ROOT).as_posix()
        for p in sorted((ROOT / "tests").rglob("*.py"))
        if p != Path(__file__) and re.search(r"monkeypatch\.setattr|mock\.patch|MagicMock|assert True\b", p.read_text())
    ]
    assert not bad


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    pattern = re.compile(rb"(?<![\w.])/(?:work|farm|root)/")
    bad = [
        p.relative_to(ROOT).as_posix()
        for p in _tracked()
        if p != Path(__file__) and p.suffix not in {".safetensors", ".png"} and pattern.search(p.read_bytes())
    ]
    assert not bad
