"""The page and its JSON: complete, self-contained, cautious."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from journeyman.evaluation.build import build_report, choose_episode, shown_episode
from journeyman.evaluation.cost import Priced
from journeyman.evaluation.curves import SHOWN, training_curves
from journeyman.evaluation.report.html import SECTIONS, render_html
from journeyman.evaluation.report.write import write_report
from journeyman.evaluation.rows import EpisodeRow
from journeyman.evaluation.shown import show_episode
from journeyman.grading.episode import grade_path
from journeyman.records.base import sha256_hex
from journeyman.records.grade import Grade
from journeyman.records.report import Report, ShownEpisode
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.template import TemplateRenderer
from tests.evaluation.made_run import SKILL, MadeRun, made_updates

POLICIES = tuple(SKILL)
VOID = {"meta", "br", "link", "img", "hr", "input"}


class _Balance(HTMLParser):
    """Collects attributes and fails on a tag that is closed out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _parse(page: str) -> _Balance:
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    return parser


@pytest.fixture(scope="module")
def shown(run: MadeRun, rows: list[EpisodeRow], renderer: TemplateRenderer) -> ShownEpisode:
    row = choose_episode(rows, POLICIES[:3])
    assert row is not None
    return shown_episode(run.job, row, run.tasks[row.spec.task], renderer.text)


@pytest.fixture(scope="module")
def report(rows: list[EpisodeRow], shown: ShownEpisode) -> Report:
    return build_report(
        "made",
        rows,
        POLICIES,
        updates=made_updates(),
        sample=shown,
        priced=Priced.of(),
        facts={"recipe": "recipes/made.toml"},
    )


def test_the_page_is_balanced_and_holds_every_section(report: Report) -> None:
    page = render_html(report)
    ids = [attributes["id"] for tag, attributes in _parse(page).tags if tag == "section"]
    assert ids == [anchor for anchor, _, _ in SECTIONS]
    assert "Held-out reward rose from" in page


def test_the_page_needs_nothing_from_outside(report: Report) -> None:
    page = render_html(report)
    tags = _parse(page).tags
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "object"}
    links = [a["href"] for _, a in tags if a.get("href")]
    assert all(link is not None and link.startswith("#") for link in links)
    assert "url(" not in page
    assert "@import" not in page


def test_the_page_is_light_and_dark_and_fits_a_phone(report: Report) -> None:
    page = render_html(report)
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page


def test_json_and_page_are_written_and_the_json_reads_back_and_names_the_pages_bytes(
    report: Report, tmp_path: Path
) -> None:
    page, data = write_report(report, tmp_path / "report")
    facts = {**report.facts, "index.html": sha256_hex(page.read_bytes())}
    assert Report.parse(data.read_bytes()) == report.model_copy(update={"facts": facts}).checked()
    assert page.read_text() == render_html(report)


def test_the_same_run_gives_the_same_page(report: Report, rows: list[EpisodeRow], shown: ShownEpisode) -> None:
    again = build_report(
        "made",
        list(reversed(rows)),
        POLICIES,
        updates=made_updates(),
        sample=shown,
        priced=Priced.of(),
        facts=report.facts,
    )
    assert render_html(again) == render_html(report)


def test_hostile_text_stays_text(report: Report, shown: ShownEpisode) -> None:
    nasty = "<script>alert(1)</script>\"'&"
    turn = shown.turns[0].model_copy(update={"context": nasty})
    verdict = shown.verdicts[0].model_copy(update={"evidence": nasty, "proposition": nasty})
    hostile = report.model_copy(
        update={
            "name": nasty,
            "facts": {nasty: nasty},
            "sample": shown.model_copy(update={"turns": (turn,), "verdicts": (verdict,), "episode": nasty}),
        }
    )
    page = render_html(hostile)
    assert "script" not in {tag for tag, _ in _parse(page).tags}
    assert "&lt;script&gt;" in page


def test_a_run_without_grades_still_has_a_page(rows: list[EpisodeRow]) -> None:
    failed = [row for row in rows if row.failure is not None]
    page = render_html(build_report("broken", failed, POLICIES))
    _parse(page)
    assert "Nothing was graded." in page
    assert "executor_lost" in page
    _parse(render_html(build_report("empty", [], POLICIES)))


def test_one_policy_is_told_without_a_comparison(rows: list[EpisodeRow]) -> None:
    page = render_html(build_report("one", rows, ("rl",)))
    _parse(page)
    assert re.search(r"<h1>RL earns 0\.\d\d on held-out tasks\.</h1>", page)
    assert 'id="differences"' not in page


def test_a_run_that_did_not_improve_says_so(rows: list[EpisodeRow]) -> None:
    page = render_html(build_report("worse", rows, ("rl", "base")))
    assert "No policy earned more than RL: 0." in page


def test_one_task_says_no_ranking(rows: list[EpisodeRow]) -> None:
    one = [row for row in rows if row.spec.task == rows[0].spec.task]
    page = render_html(build_report("one", one, POLICIES))
    assert "no ranking, n = 1" in page
    assert "cannot tell from chance" in page


def test_curves_are_what_was_recorded_in_the_order_shown() -> None:
    curves = training_curves(list(reversed(made_updates(10))))
    names = [curve.name for curve in curves]
    assert names == [name for name in SHOWN if name in names]
    assert "a_metric_nobody_shows" not in names
    entropy = next(c for c in curves if c.name == "entropy")
    assert entropy.steps == (0, 1, 2, 4, 5, 6, 7, 8, 9)
    assert training_curves([]) == ()


def test_the_shown_tokens_spell_the_sampled_text(run: MadeRun, shown: ShownEpisode, renderer: TemplateRenderer) -> None:
    sealed = SealedEpisode.open(run.job.episode_dir(shown.episode.split("/", 1)[1]))
    for turn, told in zip(sealed.turns, shown.turns, strict=True):
        ids = [int(i) for i in sealed.tokens.ids[turn.sampled.start : turn.sampled.end]]
        assert "".join(token.text for token in told.tokens) == renderer.text(ids)
    assert shown.reward == 1.0
    assert {v.criterion for v in shown.verdicts} == {"file_written", "approved_figure", "margin", "stale_version_used"}


def test_tokens_that_share_a_character_are_shown_as_one(run: MadeRun, shown: ShownEpisode) -> None:
    key = shown.episode.split("/", 1)[1]
    sealed = SealedEpisode.open(run.job.episode_dir(key))
    grade = Grade.parse(grade_path(run.job.grades_dir(key), sealed.episode.grader_digest).read_bytes())
    euro = "€".encode()

    def decode(ids: object) -> str:
        count = len(list(ids))  # type: ignore[call-overload]
        return (euro * count)[:count].decode(errors="replace") if count else ""

    told = show_episode(sealed, grade, run.tasks[sealed.episode.spec.task], decode)
    assert {token.text for token in told.turns[0].tokens[:-1]} == {"€"}


def test_the_chosen_episode_is_a_success_of_the_last_policy(rows: list[EpisodeRow]) -> None:
    chosen = choose_episode(rows, ("base", "sft"))
    assert chosen is not None
    assert (chosen.spec.policy, chosen.reward, chosen.spec.sampling.temperature) == ("sft", 1.0, 1.0)
    assert choose_episode([row for row in rows if row.reward is None], POLICIES) is None
