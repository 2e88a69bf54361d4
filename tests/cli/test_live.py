"""What stands below the bars while a stage goes on: the newest step's figures, by what they are about."""

import io

from rich.console import Console

from journeyman.cli.display import Display
from journeyman.cli.live import rows

FIGURES = {
    "reward": 0.41234,
    "k3": 0.0000123,
    "reward/finance.board_forecast": 0.5,
    "reward/law.covenant_certificate": 0.25,
    "calls/read": 3.5,
    "inspect_turns": 0.31,
    "used/sampled_tokens": 123456.0,
    "unheard_of": 1.0,
}


def test_figures_stand_in_lines_by_what_they_are_about_and_what_was_not_measured_is_not_there() -> None:
    found = dict(rows(FIGURES))
    assert found == {
        "reward": "reward 0.412",
        "by type": "finance.board_forecast 0.500  law.covenant_certificate 0.250",
        "policy": "k3 1.2e-05",
        "calls": "read 3.500",
        "look": "turns 0.310",
        "used": "sampled_tokens 123,456",
    }
    assert rows({}) == []


def test_a_new_stage_begins_without_the_figures_of_the_last() -> None:
    display = Display()
    display.stage("rl", "two steps")
    display.figures("rl", 0, FIGURES)
    console = Console(file=io.StringIO(), width=120)
    console.print(*display._bars.get_renderables())
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "finance.board_forecast 0.500" in shown
    display.stage("merge", "a soup")
    assert not display._bars.figures
