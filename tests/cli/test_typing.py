"""Every verb explains itself with an example; every mistake is one line on stderr, exit 2, and no traceback."""

import ctypes
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from journeyman.cli.display import Real
from journeyman.cli.main import VERBS, app, main

ROOT = Path(__file__).parents[2]


def commands() -> Iterator[tuple[str, ...]]:
    """Every verb and subverb as it is typed."""
    context = click.Context(app)
    for verb in VERBS:
        command = app.get_command(context, verb)
        yield (verb,)
        if isinstance(command, click.Group):
            yield from ((verb, sub) for sub in command.commands)


ALL = list(commands())


def typed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `journeyman ARGUMENTS`."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    shown = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, shown.out, shown.err


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_every_verb_has_help_with_an_example_of_itself(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    code, out, err = typed(capsys, *command, "--help")
    assert code == 0
    assert not err
    example = out.partition("Example")[2]
    assert f"journeyman {' '.join(command)}" in example


@pytest.mark.parametrize(
    "command", [c for c in ALL if c not in {("tasks",), ("data",), ("export",), ("train",)}], ids=" ".join
)
def test_every_option_in_an_example_exists(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    _, out, _ = typed(capsys, *command, "--help")
    _, _, rest = out.partition("Example")
    example, _, options = rest.partition("Options:")
    for line in re.findall(rf"journeyman {' '.join(command)} .*", example):
        for option in re.findall(r"--[a-z-]+", line):
            assert option in options, f"{option} in {line!r}"


def test_the_help_of_the_whole_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed(capsys, "--help")
    assert code == 0
    for verb, (_, about) in VERBS.items():
        assert re.search(rf"^\s+{verb}\s+{re.escape(about[:20])}", out, re.MULTILINE)


def test_the_readme_lists_every_verb_and_subverb() -> None:
    text = (ROOT / "README.md").read_text()
    for verb, *sub in ALL:
        found = re.search(rf"`journeyman {verb}(?: \{{([a-z,]+)\}})?[ `]", text)
        assert found, verb
        if sub:
            assert sub[0] in (found.group(1) or "").split(","), (verb, sub)


SGLANG = ("--engine", "sglang", "--url")
MISTAKES = {
    "no verb of that name": (["rnu"], "did you mean 'run'?"),
    "no subverb of that name": (["tasks", "mak"], "mak"),
    "unknown option": (["run", "--resum"], "--resume"),
    "missing argument": (["run"], "RECIPE"),
    "one argument too many": (["tasks", "types", "x"], "unexpected extra argument"),
    "recipe that is not there": (["run", "nothing.toml"], "nothing.toml does not exist: give a .toml file"),
    "recipe that is a directory": (["run", "."], "Is a directory"),
    "override that is none": (["run", "nothing.toml", "--set"], "--set"),
    "run that is not there": (["verify", "nowhere"], "nowhere is no directory"),
    "directory without a run": (["verify", "."], "nothing to verify"),
    "grade of nothing": (["grade", "nowhere"], "nowhere is no run"),
    "report of nothing": (["report", "nowhere"], "nowhere is no run"),
    "token that is none": (["explain", "what"], "is no token"),
    "token of a run that is not there": (["explain", "j/p/t/g/0.0#0.0:1"], "no episode j/p/t/g/0.0"),
    "no packages": (["tasks", "check", "nowhere"], "holds no task package"),
    "no package": (["tasks", "show", "nowhere"], "no such task package"),
    "nothing to admit": (["tasks", "admit", "nowhere"], "holds no task package"),
    "type that is none": (
        ["tasks", "make", "--out", "made", "--type", "finance.x"],
        "did you mean 'finance.",
    ),
    "type that is planned": (
        ["tasks", "make", "--out", "made", "--type", "finance.cash_forecast"],
        "is planned, not live",
    ),
    "all types and one": (["tasks", "make", "--out", "made", "--all", "--type", "x"], "leave out --type"),
    "two counts": (["tasks", "make", "--out", "made", "--count", "1", "--train", "3"], "leave out --train"),
    "held out by count": (["tasks", "make", "--out", "made", "--count", "1", "--heldout", "3"], "leave out --heldout"),
    "size of documents": (["tasks", "make", "--from", ".", "--size", "compact", "--out", "made"], "leave out --size"),
    "nothing to make": (["tasks", "make", "--out", "made", "--train", "0", "--heldout", "0"], "nothing to make"),
    "number that is none": (["tasks", "make", "--out", "made", "--train", "many"], "'many'"),
    "size that is none": (["tasks", "make", "--out", "made", "--size", "huge"], "'huge'"),
    "rollout of nothing": (["rollout", "nowhere"], "holds no task package"),
    "policy that is none": (["rollout", "nowhere", "--policy", "none"], "policy 'none'"),
    "episodes of nobody": (["data", "sft", "nowhere", "--out", "made"], "no sealed episode"),
    "groups of nobody": (["data", "rl", "nowhere", "--out", "made"], "no sealed episode"),
    "no dataset": (["train", "sft", "nowhere", "--out", "made"], "journeyman data sft"),
    "no batch": (["train", "rl", "nowhere", "--out", "made"], "journeyman data rl"),
    "one parent": (["merge", "a", "--out", "made"], "at least two"),
    "parents that are none": (["merge", "a", "b", "--out", "made"], "a holds no config.json"),
    "no release": (["evaluate", "nowhere", "--policy", "base"], "RELEASED"),
    "gateway for everyone": (["gateway", "--host", "0.0.0.0", "--port", "0"], "is not loopback"),
    "model that is none": (["gateway", "--policy", "nowhere"], "policy 'nowhere'"),
    "address that is none": (["gateway", *SGLANG, "http://[bad"], "'http://[bad' is not the address of a server"),
    "port of no server": (["gateway", *SGLANG, "http://127.0.0.1:99999"], "is not the address of a server"),
    "password in an address": (["gateway", *SGLANG, "http://me:secret@127.0.0.1:1"], "127.0.0.1:1 holds a user"),
    "name that is too long": (["explain", "a" * 300], "is no token"),
    "episode that is too long": (["explain", "a" * 300 + "/p/t/g/0.0"], "no sealed episode aaa"),
    "position that is too long": (["explain", "j/p/t/g/0.0#0.0:" + "9" * 5000], "is no token"),
    "position in other digits": (["explain", "j/p/t/g/0.0#0.0:\u00b2"], "is no token"),
    "path that is too long": (["verify", "a" * 300], "File name too long: give a shorter name"),
    "policy that is too long": (["rollout", "nowhere", "--policy", "a" * 300], "give base"),
    "job of no name": (["gateway", "--out", "/"], "/ is the root of the file system"),
    "job of an empty name": (["rollout", "nowhere", "--out", ""], "'' names no directory"),
    "port that is none": (["gateway", "--port", "99999"], "99999"),
    "policy that is a path": (["data", "sft", "nowhere", "--policy", "/etc", "--out", "made"], "'/etc' is no name"),
    "policy that is a pattern": (["data", "rl", "nowhere", "--policy", "r*", "--out", "made"], "'r*' is no name"),
    "rollouts of a path": (
        ["tasks", "admit", "nowhere", "--tried", "run:/etc", "--release", "made"],
        "'/etc' is no name",
    ),
    "rules that are a directory": (
        ["tasks", "admit", "nowhere", "--tried", "run", "--release", "made", "--rules", "."],
        "'.' is a directory",
    ),
    "author of nothing": (["tasks", "make", "--author", __file__, "--out", "made"], "without --from"),
    "licence of nothing": (["tasks", "make", "--licence", "ours", "--out", "made"], "--licence ours does nothing"),
    "type of documents": (["tasks", "make", "--from", ".", "--type", "x", "--out", "made"], "leave out --type"),
    "rules of nothing": (["tasks", "admit", "nowhere", "--rules", __file__], "does nothing without --tried"),
    "stronger than nothing": (["tasks", "admit", "nowhere", "--strong", "run"], "does nothing without --tried"),
    "grader without a name": (["grade", "nowhere", "--grader", ""], "'' is no name"),
    "grader that is a path": (["grade", "nowhere", "--grader", "../../x"], "'../../x' is no name"),
    "run that no id can name": (["rollout", "nowhere", "--out", "a#b"], "'a#b': episodes go by its last part"),
    "recipe that no id can name": (["run", f"{ROOT}/recipes/quickstart.toml", "--set", "name=a#b"], "'runs/a#b'"),
    "gateway that no id can name": (["gateway", "--out", "a\tb", "--port", "0"], "'a\\tb'"),
    "evaluation that no id can name": (["evaluate", "nowhere", "--policy", "base", "--out", "#"], "'#': episodes"),
    "author that is a directory": (["tasks", "make", "--author", ".", "--out", "made"], "'.' is a directory"),
    "bypasses that are not there": (
        ["tasks", "admit", "nowhere", "--tried", "run", "--release", "made", "--bypassed", "none"],
        "'none' does not exist",
    ),
    "bypasses that are no text": (
        ["tasks", "admit", "nowhere", "--tried", "run", "--release", "made", "--bypassed", sys.executable],
        "is no text",
    ),
    "release below a file": (["tasks", "admit", "nowhere", "--release", f"{__file__}/x"], "is no directory"),
}


def test_a_judge_at_no_address_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    code, _, err = typed(capsys, "grade", str(tmp_path), "--judge", "m", "--judge-url", "http://[bad")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "'http://[bad' is not the address of a server" in err


@pytest.mark.parametrize(("arguments", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = typed(capsys, *arguments)
    assert code == 2
    assert len(err.splitlines()) == 1, err
    assert err.startswith("journeyman: ")
    assert said in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "made").exists()


def test_a_grade_of_a_policy_that_is_not_there_names_those_that_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "episodes" / "base").mkdir(parents=True)
    code, out, err = typed(capsys, "grade", str(tmp_path), "--policy", "zzz")
    assert (code, out) == (2, "")
    assert "no sealed episode of policy 'zzz' to grade: its policies are base" in err


def test_a_key_that_is_unknown_names_the_nearest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("[rl]\ngroup_sise = 8\n")
    code, _, err = typed(capsys, "run", str(path), "--out", str(tmp_path / "run"))
    assert code == 2
    assert err == f"journeyman: {path}: unknown key 'rl.group_sise': did you mean 'rl.group_size'?\n"
    assert not (tmp_path / "run").exists()


def test_verbs_say_what_to_type_next(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tasks = str(tmp_path / "tasks")
    made = ["tasks", "make", "--type", "law.covenant_certificate", "--train", "1", "--heldout", "0", "--out", tasks]
    package = f"{tasks}/law-covenant-certificate-compact-train-1"
    for arguments, follows in (
        (["tasks", "types"], "journeyman tasks make"),
        (made, "journeyman tasks admit"),
        (["tasks", "check", tasks], "journeyman tasks admit"),
        (["tasks", "show", package], "journeyman tasks check"),
    ):
        code, out, err = typed(capsys, *arguments)
        assert (code, err) == (0, "")
        assert re.search(r"^next: ", out, re.MULTILINE)
        assert follows in out.rpartition("next: ")[2]


def test_doctor_says_what_can_run_and_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed(capsys, "doctor")
    for part in ("python", "machine", "sandbox", "train", "office", "policy"):
        assert re.search(rf"^(ok|cannot)\s+{part}\s", out, re.MULTILINE)
    assert ("next: journeyman run" in out) == (code == 0)
    assert code in (0, 1)


def test_a_failed_check_exits_1_and_names_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = ["--type", "finance.board_forecast", "--train", "1", "--heldout", "0", "--out", str(tmp_path / "tasks")]
    typed(capsys, "tasks", "make", *made)
    package = next((tmp_path / "tasks").iterdir())
    instruction = package / "instruction.md"
    instruction.write_text(instruction.read_text() + "One more wish.\n")
    code, out, err = typed(capsys, "tasks", "check", str(package))
    assert "Traceback" not in err
    assert code in (1, 2)
    assert package.name in out + err


def _options() -> Iterator[tuple[tuple[str, ...], click.Option]]:
    context = click.Context(app)
    for words in ALL:
        command = app.get_command(context, words[0])
        for word in words[1:]:
            assert isinstance(command, click.Group)
            command = command.commands[word]
        assert command is not None
        yield from ((words, option) for option in command.params if isinstance(option, click.Option))


def test_every_number_typed_is_finite() -> None:
    for words, option in _options():
        assert not isinstance(option.type, click.types.FloatParamType) or isinstance(option.type, Real), (words, option)
    context = click.Context(app)
    for wrong in ("nan", "inf", "-inf"):
        with pytest.raises(click.BadParameter, match="finite"):
            Real().convert(wrong, None, context)


@pytest.mark.parametrize("verb", ["run recipes/quickstart.toml", "rollout tasks", "tasks make", "evaluate release"])
def test_a_file_where_a_directory_is_wanted_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: str
) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        code, out, err = typed(capsys, *verb.split(), "--out", str(place))
        assert (code, out) == (2, "")
        assert f"{tmp_path / 'file'} is no directory: give another path" in err


@pytest.mark.parametrize(
    "override",
    ["rl.optimiser.lr=nan", "sft.optimiser.lr=-1", "rl.schedule.floor=2", "rl.credit.shaping.output_rate=-1"],
)
def test_a_number_that_no_run_can_use_is_refused_before_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, override: str
) -> None:
    recipe = str(ROOT / "recipes" / "quickstart.toml")
    code, _, err = typed(capsys, "run", recipe, "--set", override, "--out", str(tmp_path / "run"))
    assert code == 2
    assert override.partition("=")[0] in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("verb", ["run", "ablate"])
@pytest.mark.parametrize("text", [f"x = {'[' * 5000}{']' * 5000}", f"[{'.'.join('a' * 5000)}]"], ids=["list", "table"])
def test_what_is_nested_too_deep_to_be_read_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: str, text: str
) -> None:
    (tmp_path / "deep.toml").write_text(text)
    code, _, err = typed(capsys, verb, str(tmp_path / "deep.toml"), "--out", str(tmp_path / "run"))
    assert (code, len(err.splitlines())) == (2, 1)
    assert "too deep" in err


def test_a_recipe_that_says_nothing_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "empty.toml").touch()
    code, _, err = typed(capsys, "run", str(tmp_path / "empty.toml"), "--out", str(tmp_path / "run"))
    assert code == 2
    assert "says nothing" in err


def alone(
    *arguments: str, cwd: Path, stdout: str = "", closed: bool = False, before: Callable[[], object] | None = None
) -> subprocess.CompletedProcess[str]:
    """`journeyman ARGUMENTS` in a process of its own; `stdout`: a file it goes to; `closed`: it has none."""
    command = [sys.executable, "-m", "journeyman.cli.main", *arguments]
    if closed:
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    with Path(stdout or "/dev/null").open("w") as file:
        return subprocess.run(
            command, cwd=cwd, stdout=file, stderr=subprocess.PIPE, text=True, check=False, timeout=60, preexec_fn=before
        )


def _closed_to_us() -> None:
    """Root is refused what others are refused: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are dropped."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))


def test_output_that_nobody_can_take_is_one_line_and_none_is_no_fault(tmp_path: Path) -> None:
    full = alone("--help", cwd=tmp_path, stdout="/dev/full")
    assert (full.returncode, len(full.stderr.splitlines())) == (2, 1)
    assert "no space is left" in full.stderr
    closed = alone("tasks", "types", cwd=tmp_path, closed=True)
    assert (closed.returncode, closed.stderr) == (0, "")


def test_a_write_that_the_system_refuses_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    done = alone("tasks", "make", "--train", "1", "--out", "made", cwd=tmp_path, before=_small_files)
    assert done.returncode == 2
    assert done.stderr.startswith("journeyman: ")
    assert "File too large: raise the limit" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_path_that_is_closed_to_us_is_named_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    done = alone("tasks", "make", "--out", "closed", cwd=tmp_path, before=_closed_to_us)
    assert (done.returncode, "closed cannot be written to" in done.stderr) == (2, True)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").touch(mode=0o000)
    done = alone("report", "run", cwd=tmp_path, before=_closed_to_us)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "run/config.toml" in done.stderr
    assert "Permission denied" in done.stderr


@pytest.mark.parametrize("verb", ["verify", "report", "tasks check", "tasks show", "run recipes/quickstart.toml --out"])
def test_a_name_too_long_for_the_system_is_said_so(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    code, _, err = typed(capsys, *verb.split(), "x" * 300)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "File name too long: give a shorter name" in err
