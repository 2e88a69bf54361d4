"""The buffer: FIFO, exactly once, stale groups withheld when a batch is assembled and again when it is popped."""

import pytest

from journeyman.errors import UserError
from journeyman.training.buffer import BufferConfig, Finished, GroupBuffer


def group(name: str, oldest: int | None = 0, kept: bool = True) -> Finished[str]:
    return Finished(id=name, oldest_version=oldest, kept=kept, payload=name)


def buffer(size: int = 2, **keys: object) -> GroupBuffer[str]:
    return GroupBuffer(BufferConfig(groups_per_batch=size, **keys))  # type: ignore[arg-type]


def test_a_full_batch_leaves_in_order_of_arrival() -> None:
    b = buffer()
    assert b.add(group("a"))
    assert b.pop(0) is None
    b.add(group("b"))
    b.add(group("c"))
    assert [g.id for g in b.pop(0) or []] == ["a", "b"]
    assert b.pop(0) is None


def test_a_group_is_taken_once_however_often_it_arrives() -> None:
    b = buffer(1)
    assert b.add(group("a"))
    assert not b.add(group("a"))
    taken = b.pop(0) or []
    b.commit(taken)
    assert not b.add(group("a"))
    assert b.pop(0) is None


def test_after_resume_what_the_learner_consumed_is_not_given_again() -> None:
    b: GroupBuffer[str] = GroupBuffer(BufferConfig(groups_per_batch=1), consumed={"a"})
    assert not b.add(group("a"))
    assert b.add(group("b"))


def test_an_unanswered_batch_is_given_again_first() -> None:
    b = buffer(2)
    for name in "abc":
        b.add(group(name))
    b.give_back(b.pop(0) or [])
    assert [g.id for g in b.pop(0) or []] == ["a", "b"]


@pytest.mark.parametrize(("limit", "kept"), [(3, True), (2, False)])
def test_the_oldest_token_decides_staleness(limit: int, kept: bool) -> None:
    b = buffer(1, max_staleness=limit)
    b.add(group("a", oldest=min(3, 3, 4, 5)))
    assert (b.pop(6) is not None) == kept
    assert b.stale == ([] if kept else ["a"])


def test_staleness_is_checked_again_at_the_moment_of_taking() -> None:
    b = buffer(1, max_staleness=1)
    b.add(group("a", oldest=4))
    assert b.ready(5)
    assert b.pop(5, current=lambda: 6) is None
    assert b.stale == ["a"]


def test_a_paused_trainer_makes_drops_rise_and_never_trains_on_stale() -> None:
    b = buffer(1, max_staleness=2)
    taken = []
    for version in range(8):
        b.add(group(f"g{version}", oldest=max(0, version - 4) if version % 2 else version))
        taken += [(version, g.oldest_version) for g in b.pop(version) or []]
    assert all(v - (o or 0) <= 2 for v, o in taken)
    assert b.stale == ["g3", "g5", "g7"]


def test_filtered_groups_take_no_place_in_a_batch() -> None:
    b = buffer(1)
    assert not b.add(group("a", kept=False))
    assert b.pop(0) is None
    assert b.filtered == ["a"]
    assert buffer(1, count_filtered_groups=True).add(group("a", kept=False))


def test_starvation_stops_the_run_instead_of_spinning() -> None:
    b = buffer(1, max_consecutive_filtered=3)
    b.add(group("a", kept=False))
    b.add(group("b"))
    b.add(group("c", kept=False))
    b.add(group("d", kept=False))
    with pytest.raises(UserError, match="3 groups in a row"):
        b.add(group("e", kept=False))
