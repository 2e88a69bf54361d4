"""One made run for the whole room."""

import pytest

from journeyman.evaluation.rows import EpisodeRow, read_rows
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer
from tests.evaluation.made_run import MadeRun, make_run


@pytest.fixture(scope="session")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    return TemplateRenderer(write_tiny_tokenizer(tmp_path_factory.mktemp("tokenizer")))


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, renderer: TemplateRenderer) -> MadeRun:
    return make_run(tmp_path_factory.mktemp("run") / "made", renderer, per_type=3)


@pytest.fixture(scope="session")
def rows(run: MadeRun) -> list[EpisodeRow]:
    return read_rows(run.job, run.job.sealed(), run.tasks)
