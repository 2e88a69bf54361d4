"""Curriculum: stability, floors and caps before difficulty; gaps of our making vanish; bypasses count for nothing."""

import pytest

from journeyman.admission.curriculum import Rules, Trial, Tried, choose, concentration
from journeyman.errors import UserError


def trials(*rewards: float | None, tokens: int = 100, bypass: bool = False) -> tuple[Trial, ...]:
    return tuple(Trial(reward=r, sampled_tokens=tokens, bypass=bypass) for r in rewards)


def tried(task: str, *rewards: float | None, cell: str = "a", tokens: int = 100, **more: tuple[Trial, ...]) -> Tried:
    return Tried(task=task, cell=cell, base=trials(*rewards, tokens=tokens), **more)


RULES = Rules(floor=0)
GOOD = tried("good", 0.2, 1.0, 0.5, 0.0)


def reason(one: Tried, rules: Rules = RULES) -> str:
    return choose([GOOD, one], rules)[one.task].reason


def test_a_task_is_kept_between_never_anything_and_always_everything() -> None:
    found = choose([GOOD], RULES)["good"]
    assert found.passed
    assert found.figures == {"valid": 4, "lost": 0, "mean": 0.425, "best": 1.0, "pass@4": 1.0}
    assert "nothing to learn from yet" in reason(tried("x", 0.0, 0.0, 0.0))
    assert "nothing left to learn" in reason(tried("x", 1.0, 1.0, 1.0))
    assert reason(tried("x", 0.0, 0.1, 0.0)) == ""  # partial credit is enough, pass@k = 0 is no reason


def test_attempts_that_our_side_broke_are_no_evidence() -> None:
    assert "1 valid attempts, 2 are needed" in reason(tried("x", 0.5, None, None))
    assert reason(tried("x", 0.5, 0.4, None)) == ""


def test_a_gap_made_by_our_failures_vanishes_and_a_real_one_stays() -> None:
    strong, broken = trials(0.8, 0.8, 0.8), trials(0.8, None, None)
    assert "leads by 0.000" in reason(tried("x", 0.2, 0.8, strong=strong, weak=broken))
    assert reason(tried("x", 0.2, 0.8, strong=strong, weak=trials(0.8, 0.1, 0.0))) == ""
    assert "no valid attempt" in reason(tried("x", 0.2, 0.8, strong=strong, weak=trials(None)))


def test_an_attempt_that_went_round_the_task_does_not_make_it_passable() -> None:
    cheat = Tried(task="x", cell="a", base=(*trials(1.0, bypass=True), *trials(0.0, 0.0)))
    assert "nothing to learn from yet" in reason(cheat)
    report = concentration([GOOD, cheat, tried("y", 0.0)])
    assert (report.attempts, report.bypasses, report.by_task) == (8, 1, {"x": 1})


def test_a_floor_keeps_the_most_learnable_of_a_cell_that_difficulty_would_empty() -> None:
    easy, hard = tried("easy", 1.0, 1.0, cell="b"), tried("hard", 0.0, 0.0, cell="b")
    none = choose([GOOD, easy, hard], RULES)
    assert [name for name, r in none.items() if r.passed] == ["good"]
    one = choose([GOOD, easy, hard], Rules(floor=1))
    assert sum(r.passed for name, r in one.items() if name != "good") == 1


def test_a_cell_never_takes_more_than_its_share_of_tokens() -> None:
    long = [tried(f"long{i}", 0.2, 0.9, cell="long", tokens=1000 * (i + 1)) for i in range(3)]
    short = [tried(f"short{i}", 0.2, 0.9, cell="short", tokens=600) for i in range(3)]
    found = choose([*long, *short], Rules(token_share=0.6))
    assert [name for name, r in found.items() if not r.passed] == ["long0", "long2"]
    assert all(r.passed for name, r in found.items() if name.startswith("short"))
    assert "long has 77% of all sampled tokens, 60% is the cap" in found["long2"].reason


def test_an_all_easy_mixture_is_refused() -> None:
    with pytest.raises(UserError, match="all easy"):
        choose([tried("a", 1.0, 1.0), tried("b", 1.0, 1.0)], Rules(floor=2))


def test_an_all_hard_mixture_is_refused() -> None:
    with pytest.raises(UserError, match="all hard"):
        choose([tried("a", 0.0, 0.0), tried("b", 0.0, 0.0)], Rules(floor=2))
