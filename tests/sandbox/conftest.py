"""Both shipped sandboxes over the same small workspace; bubblewrap is skipped, with its reason, where it cannot run."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from journeyman.sandbox.base import Sandbox, SandboxSpec
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from journeyman.sandbox.detect import detect
from journeyman.sandbox.local import LocalProvider


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    (top / "data").mkdir(parents=True)
    (top / "a.txt").write_text("alpha\nbeta\ngamma\n")
    (top / "data" / "b.txt").write_text("key: 1\n")
    (top / "data" / "c.md").write_text("# title\n")
    return top


def provider_of(kind: str) -> Any:
    """A provider by name; skips the test where bubblewrap cannot run."""
    if kind == "local":
        return LocalProvider(asked_by_name=True)
    if not detect().ready:
        pytest.skip(detect().line())
    return BubblewrapProvider()


@pytest.fixture(params=["bubblewrap", "local"])
async def box(request: pytest.FixtureRequest, workspace: Path) -> AsyncIterator[Sandbox]:
    """A box of each kind."""
    async with provider_of(request.param) as provider:
        box = await provider.start(SandboxSpec(workspace=(workspace,)))
        yield box
        await box.close()


@pytest.fixture
async def bubblewrap() -> AsyncIterator[BubblewrapProvider]:
    async with provider_of("bubblewrap") as provider:
        yield provider
