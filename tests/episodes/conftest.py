"""Real compact tasks, a real box, service host and gateway; the policy is a script."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from journeyman.episodes.run_one import ReadyTask
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.pipeline.workplace import ready_task
from journeyman.sandbox.detect import detect
from journeyman.tokens.tiny import write_tiny_tokenizer
from journeyman.worlds.registry import ENVIRONMENT_TYPES
from tests.episodes.scene import Scene, scene

Open = Callable[..., AbstractAsyncContextManager[Scene]]


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReadyTask]:
    """One compact task of each environment type."""
    root = tmp_path_factory.mktemp("tasks")
    return {name: ready_task(make_one(Wanted(name, 7, "train", "compact"), root)) for name in ENVIRONMENT_TYPES}


@pytest.fixture
def open_scene(tokenizer: Path, tmp_path: Path) -> Open:
    """Opens a scene in its own job directory; skips, with the reason, where bubblewrap cannot run."""
    if not detect().ready:
        pytest.skip(detect().line())

    @asynccontextmanager
    async def opened(**wishes: object) -> AsyncIterator[Scene]:
        async with scene(tmp_path / "job", tokenizer, **wishes) as found:  # type: ignore[arg-type]
            yield found

    return opened
