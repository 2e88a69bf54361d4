"""Four imperfect demonstrations take the four routes; what is sound stays exactly as it was sampled."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from journeyman.datasets.base import Attempt
from journeyman.datasets.sanitise import Finding, SanitiseConfig, decide, find
from journeyman.datasets.sft import SftConfig, build_sft
from journeyman.records.turn import Segment
from journeyman.store.dataset import Dataset
from journeyman.store.sealed import SealedEpisode

from .conftest import EpisodeMaker, T

ON = SftConfig(sanitise=SanitiseConfig())


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "tool_calls": [{"id": name, "name": name, "arguments": arguments}]}}


GOOD = [T([1, 2], [3, 4]), T([5], [6, 7]), T([8], [9])]
BAD_CALL = [GOOD[0], T([5], [6, 7], fields={"invalid_calls": 1}), T([8], [9, 10, 11])]
LOOP_TO_THE_END = [GOOD[0], *(T([5], [6], fields=calling("read", path="a")) for _ in range(4))]
MOSTLY_BAD = [T([1], [2], fields={"invalid_calls": 1}), T([3], [4, 5], fields={"finish_reason": "length"}), T([6], [7])]


def masks(root: Path) -> list[list[int]]:
    data = Dataset.open(root)
    return [data.row(i).mask.tolist() for i in range(len(data.samples))]


def opened(attempt: Attempt) -> SealedEpisode:
    assert attempt.directory is not None
    return SealedEpisode.open(attempt.directory)


def test_an_isolated_bad_call_conditions_only(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    manifest = build_sft([make_episode(BAD_CALL)], tmp_path / "d", ON)
    assert masks(tmp_path / "d") == [[0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1]]
    assert manifest.excluded == {"sanitised: mask": 1}


def test_a_loop_to_the_end_leaves_what_precedes_it(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    manifest = build_sft([make_episode(LOOP_TO_THE_END)], tmp_path / "d", ON)
    data = Dataset.open(tmp_path / "d")
    assert data.row(0).ids.tolist() == [1, 2, 3, 4, *[5, 6] * 4]  # still the sealed segment
    assert masks(tmp_path / "d") == [[0, 0, 1, 1, 0, 1, *[0] * 6]]
    assert manifest.excluded == {"sanitised: truncate": 1}


def test_broadly_unreliable_supervision_makes_no_row(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    manifest = build_sft([make_episode(MOSTLY_BAD), make_episode(GOOD, attempt=1)], tmp_path / "d", ON)
    assert manifest.rows == 1
    assert manifest.excluded == {"sanitised: discard": 1}


def test_a_repair_takes_the_place_of_what_it_repairs_only_if_it_is_verified(
    make_episode: EpisodeMaker, tmp_path: Path
) -> None:
    bad = make_episode(BAD_CALL, reward=0.5)
    made = make_episode([T([1, 2], [3, 4]), T([5], [60])], attempt=1, reward=0.8)
    worse = make_episode([T([1, 2], [3])], attempt=2, reward=0.2)
    still_bad = make_episode(BAD_CALL, attempt=3, reward=0.9)

    def repairing(answer: Attempt | None):  # type: ignore[no-untyped-def]
        def repair(sealed: SealedEpisode, findings: Sequence[Finding]) -> Attempt | None:
            assert [f.what for f in findings] == ["invalid call"]
            return answer

        return repair

    manifest = build_sft([bad], tmp_path / "a", ON, repair=repairing(made))
    assert manifest.excluded == {"sanitised: repair": 1}
    assert Dataset.open(tmp_path / "a").samples[0].ref.episode == made.episode
    for number, answer in enumerate((worse, still_bad, None)):
        manifest = build_sft([bad], tmp_path / f"b{number}", ON, repair=repairing(answer))
        assert manifest.excluded == {"sanitised: mask": 1}


def test_the_mildest_route_is_the_one_that_was_asked_for(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    attempts = [make_episode(BAD_CALL), make_episode(GOOD, attempt=1)]
    whole, cut = [0, 0, 1, 1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    manifest = build_sft(attempts, tmp_path / "t", SftConfig(sanitise=SanitiseConfig(how="truncate")))
    assert (masks(tmp_path / "t"), manifest.excluded) == ([cut, whole], {"sanitised: truncate": 1})
    manifest = build_sft(attempts, tmp_path / "d", SftConfig(sanitise=SanitiseConfig(how="discard")))
    assert (masks(tmp_path / "d"), manifest.excluded) == ([whole], {"sanitised: discard": 1})


def test_a_sound_demonstration_is_untouched(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    episode = make_episode(GOOD)
    plain, checked = build_sft([episode], tmp_path / "a"), build_sft([episode], tmp_path / "b", ON)
    assert masks(tmp_path / "a") == masks(tmp_path / "b")
    assert plain == checked


def test_segments_after_a_truncation_are_left_out_too(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    segments = [
        Segment(run=0, index=0, opened_by="start"),
        Segment(run=0, index=1, opened_by="summary", predecessor=0, summary_by="harness"),
    ]
    turns = [GOOD[0], *LOOP_TO_THE_END[1:], T([1, 90], [6], segment=1, fields=calling("read", path="a"))]
    manifest = build_sft([make_episode(turns, segments=segments)], tmp_path / "d", ON)
    assert manifest.rows == 1
    assert manifest.excluded == {"sanitised: truncate": 1, "after a truncation": 1}


def test_a_loop_that_ends_costs_its_repetitions_only(make_episode: EpisodeMaker) -> None:
    loop = [T([5], [6], fields=calling("read", path="a")) for _ in range(3)]
    found = find(opened(make_episode([GOOD[0], *loop, GOOD[2]])))
    assert [(f.turn_id, f.what, f.extent) for f in found] == [("t2", "loop", "turn"), ("t3", "loop", "turn")]
    other = [T([5], [6], fields=calling("read", path=p)) for p in "aba"]
    assert find(opened(make_episode([GOOD[0], *other], attempt=1))) == []
    assert find(opened(make_episode([GOOD[0], *loop[:2]], attempt=2))) == []


def test_an_outside_finding_may_condemn_the_whole_episode(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    sealed = opened(make_episode(GOOD))
    leak = Finding(turn_id="t1", what="reads the grader", extent="episode")
    assert decide(sealed.turns, [leak]).route == "discard"
    manifest = build_sft(
        [make_episode(GOOD, attempt=1), make_episode(GOOD, attempt=2)],
        tmp_path / "d",
        ON,
        look=lambda s: [leak] if s.episode.spec.attempt == 1 else [],
    )
    assert manifest.excluded == {"sanitised: discard": 1}
