"""A policy may be sampled by a server: named in a recipe or typed, checked before work starts, exact in the record."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from journeyman.engines.fakes.server import FakeServer
from journeyman.errors import UserError
from journeyman.pipeline.recipe import load_recipe
from journeyman.pipeline.state import SHIPPED_POLICY
from journeyman.sandbox.detect import detect
from journeyman.store.sealed import SealedEpisode
from tests.pipeline.conftest import typed
from tests.pipeline.miniature import RECIPE, UNTRACKED

SAMPLES = {"tokens": 12, "first": 300, "vocabulary": 2000, "context": 2048}
TOKENIZER = str(SHIPPED_POLICY / "tokenizer.json")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One training and one held-out task, admitted."""
    if not detect().ready:
        pytest.skip(detect().line())
    root = tmp_path_factory.mktemp("made")
    types = ("--type", "finance.board_forecast")
    made = typed("tasks", "make", *types, "--train", "1", "--heldout", "1", "--out", root / "tasks")
    assert made.returncode == 0, made.stderr
    admitted = typed("tasks", "admit", root / "tasks", "--release", root / "release")
    assert admitted.returncode == 0, admitted.stderr
    return root / "release"


def episodes(run: Path) -> list[SealedEpisode]:
    return [SealedEpisode.open(path.parent) for path in sorted(run.glob("episodes/*/*/*/*/SEAL.json"))]


@pytest.mark.parametrize("kind", ["sglang", "vllm"])
def test_a_rollout_against_a_server_is_sealed_graded_and_verifiable(kind: str, release: Path, tmp_path: Path) -> None:
    with FakeServer(kind, tokenizer=TOKENIZER, **SAMPLES) as one, FakeServer(kind, **SAMPLES) as other:
        urls = ("--url", one.url, "--url", other.url)
        done = typed("rollout", release, "--engine", kind, *urls, "--attempts", "2", "--out", tmp_path / "rolled")
        assert "4 of 4 attempts graded" in done.stdout, done.stdout + done.stderr
        assert one.state()["calls"]
        assert other.state()["calls"]
        assert (one.state()["loads"], other.state()["loads"]) == ([], [])
    assert typed("verify", tmp_path / "rolled").returncode == 0
    for episode in episodes(tmp_path / "rolled"):
        assert (episode.episode.engine["kind"], episode.episode.engine["model"]) == (kind, "fake-model")
        assert [(turn.source, turn.trainable) for turn in episode.turns] == [("policy", True)] * len(episode.turns)
        for turn in episode.turns:
            assert turn.sampled.end - turn.sampled.start == 12


@pytest.mark.parametrize("kind", ["sglang", "vllm"])
def test_an_evaluation_loads_each_policy_into_the_server(kind: str, release: Path, tmp_path: Path) -> None:
    with FakeServer(kind, **SAMPLES) as server:
        policies = ("--policy", "base", "--policy", f"other={SHIPPED_POLICY}")
        typing = ("evaluate", release, *policies, "--engine", kind, "--url", server.url, "--attempts", "1")
        done = typed(*typing, "--out", tmp_path / "evaluated")
        assert done.returncode == 0, done.stdout + done.stderr
        assert server.state()["loads"] == [str(SHIPPED_POLICY)]
        assert server.state()["version"] == "1"
        again = typed(*typing, "--out", tmp_path / "again")  # the server holds other weights than its own by now
        assert again.returncode == 0, again.stdout + again.stderr
        assert server.state()["loads"] == [str(SHIPPED_POLICY)] * 3
    assert typed("verify", tmp_path / "evaluated").returncode == 0
    found = {episode.episode.spec.policy: set(episode.tokens.versions) for episode in episodes(tmp_path / "evaluated")}
    assert found == {"base": {-1, 0}, "other": {-1, 1}}


def test_a_hosted_model_is_evaluated_and_never_trained_on(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", "fake-key")
    with FakeServer("openai") as server:
        hosted = (
            "--engine",
            "openai",
            "--url",
            f"{server.url}/v1",
            "--model",
            "some-model",
            "--api-key-env",
            "FAKE_KEY",
        )
        done = typed("evaluate", release, "--policy", "base", "--attempts", "1", *hosted, "--out", tmp_path / "run")
        assert done.returncode == 0, done.stdout + done.stderr
    (sampled, greedy) = episodes(tmp_path / "run")
    for episode in (sampled, greedy):
        assert episode.turns
        assert {turn.trainable for turn in episode.turns} == {False}
        assert {turn.source for turn in episode.turns} == {"hosted"}


@pytest.mark.parametrize("kind", ["sglang", "vllm"])
def test_reinforcement_learning_goes_round_through_a_server(kind: str, tmp_path: Path) -> None:
    if not detect().ready:
        pytest.skip(detect().line())
    text = RECIPE.format(
        stages=json.dumps(["tasks", "rl"]),
        policy=SHIPPED_POLICY,
        steps=2,
        count_filtered="true",
        tracking=UNTRACKED,
    )
    with FakeServer(kind, **SAMPLES | {"tokens": 23}, spread=22) as server:
        path = tmp_path / "served.toml"
        path.write_text(text + f'\n[engine]\nkind = "{kind}"\nurls = ["{server.url}"]\n')
        done = typed("run", path, "--out", tmp_path / "run")
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert server.state()["loads"] == [str(tmp_path / "run" / "weights" / "rl" / f"v{n}") for n in (1, 2)]
    assert typed("verify", tmp_path / "run").returncode == 0


def test_a_server_that_dies_in_mid_run_quarantines_and_names_the_engine(release: Path, tmp_path: Path) -> None:
    with FakeServer("sglang", seconds=1.0, **SAMPLES) as server:
        options = ["--engine", "sglang", "--url", server.url, "--out", str(tmp_path / "run")]
        rolling = subprocess.Popen(
            [sys.executable, "-m", "journeyman.cli.main", "rollout", str(release), *options],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        while not server.state()["open"]:
            assert rolling.poll() is None
    shown, _ = rolling.communicate(timeout=120)
    assert rolling.returncode == 0
    assert "quarantined engine" in shown
    assert "0 of 2 attempts graded" in shown
    causes = {episode.episode.failure.layer for episode in episodes(tmp_path / "run") if episode.episode.failure}
    assert causes == {"engine"}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer("vllm", **SAMPLES) as fake:
        yield fake


MISTAKES = {
    "no address": (["--engine", "sglang"], "engine 'sglang' is reached by its address"),
    "an address without engine": (["--url", "http://127.0.0.1:1"], "the embedded engine has no address"),
    "an address that is none": (["--engine", "vllm", "--url", "127.0.0.1:30000"], "is not the address of a server"),
    "an engine that is none": (
        ["--engine", "trt", "--url", "http://127.0.0.1:1"],
        "engine.kind = 'trt' is none that can be used: choose embedded, sglang",
    ),
    "a script": (["--engine", "scripted", "--url", "http://127.0.0.1:1"], "follows a script"),
    "nobody there": (
        ["--engine", "vllm", "--url", "http://127.0.0.1:1"],
        "no vllm server answers at http://127.0.0.1:1",
    ),
    "no such model": (
        ["--engine", "vllm", "--url", "SERVER", "--model", "gpt"],
        "does not serve 'gpt': it serves fake",
    ),
    "another protocol": (["--engine", "sglang", "--url", "SERVER"], "no sglang server answers at"),
    "no key": (["--engine", "vllm", "--url", "SERVER", "--api-key-env", "NONE"], "$NONE is not set"),
    "no name": (["--engine", "openai", "--url", "SERVER", "--api-key-env", ""], "needs the name of a model"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_engine_that_cannot_be_used_is_one_line_and_nothing_begins(
    mistake: str, release: Path, tmp_path: Path, server: FakeServer
) -> None:
    arguments, said = MISTAKES[mistake]
    options = [server.url if a == "SERVER" else a for a in arguments]
    done = typed("rollout", release, *options, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run" / "episodes").exists()


def test_a_server_whose_tokenizer_is_not_the_policys_is_refused(release: Path, tmp_path: Path) -> None:
    from journeyman.tokens.tiny import write_tiny_tokenizer

    other = write_tiny_tokenizer(tmp_path / "tiny") / "tokenizer.json"
    with FakeServer("sglang", tokenizer=str(other), **SAMPLES) as server:
        done = typed("rollout", release, "--engine", "sglang", "--url", server.url, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "serves 'fake-model', whose tokenizer is not that of" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[engine]\nkind = 'sglang'", "give urls"),
        ("[engine]\nkin = 'sglang'", "did you mean 'engine.kind'?"),
        ("[engine]\nurls = ['http://h']", "the embedded engine has no address"),
        ("[engine]\nkind = 'openai'\nurls = ['http://h']\nmodel = 'm'", "take 'rl' out of stages"),
        ("stages = ['evaluate']\n[engine]\nkind = 'openai'\nurls = ['http://h']", "can only be ['base']"),
    ],
)
def test_a_recipe_says_at_once_what_its_engine_cannot_do(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_recipe(path)
    assert said in str(caught.value)


def test_where_the_servers_are_is_no_part_of_what_a_recipe_is(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("[engine]\nkind = 'vllm'\nurls = ['http://a']")
    recipe, moved = load_recipe(path), load_recipe(path, ("engine.urls=['http://b', 'http://c']",))
    assert moved.identity() == recipe.identity()
    assert load_recipe(path, ("engine.model='m'",)).identity() != recipe.identity()
