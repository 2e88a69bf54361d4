"""Imperfect demonstrations take one of four routes, the mildest that leaves only sound supervision.

    repair    what was wrong is done again elsewhere and the new episode is verified: it replaces the old one
    mask      single assistant turns are wrong and the rest is useful: they condition only
    truncate  only what precedes a turn is valid: no loss from it on
    discard   supervision is broadly unreliable: no row

Nothing is rewritten in place: a repair is another sealed, graded episode (Occamy, section 7.2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from journeyman.datasets.base import Attempt
from journeyman.records.base import Record, canonical_json
from journeyman.records.outcome import Graded
from journeyman.records.turn import Turn
from journeyman.store.sealed import SealedEpisode

Extent = Literal["turn", "onward", "episode"]
Route = Literal["keep", "mask", "truncate", "discard"]


class Finding(Record):
    """Something wrong with a demonstration, from a turn of it."""

    turn_id: str
    what: str  # short slug
    extent: Extent  # this turn alone; from this turn on; the whole episode


class SanitiseConfig(Record):
    """When a row is worth keeping."""

    how: Literal["mask", "truncate", "discard"] = "mask"
    """The mildest route, a repair apart: `truncate` masks no single turn, `discard` keeps no faulty episode."""
    loop_length: int = 3  # the same calls so many turns in a row are a loop
    max_masked: float = 0.5  # share of an episode's sampled tokens; more masked ones discard it


@dataclass(frozen=True)
class Decision:
    """What becomes of one episode. `masked`: turns without loss; `ends_before`: turn ids of cut segments."""

    route: Route
    masked: frozenset[str] = frozenset()
    ends_before: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()


Find = Callable[[SealedEpisode], Sequence[Finding]]
Repair = Callable[[SealedEpisode, Sequence[Finding]], Attempt | None]


def find(sealed: SealedEpisode, config: SanitiseConfig | None = None) -> list[Finding]:
    """What the record itself shows: invalid calls, replies cut off or aborted, and loops of identical calls."""
    config = config or SanitiseConfig()
    found: list[Finding] = []
    turns = [turn for turn in sealed.turns if not turn.orphan]
    for turn in turns:
        if turn.invalid_calls:
            found.append(Finding(turn_id=turn.turn_id, what="invalid call", extent="turn"))
        elif turn.finish_reason in ("length", "aborted"):
            found.append(Finding(turn_id=turn.turn_id, what=f"reply ended by {turn.finish_reason}", extent="turn"))
    for run in {turn.run for turn in turns}:
        found += _loops([turn for turn in turns if turn.run == run], config.loop_length)
    return found


def _loops(turns: Sequence[Turn], length: int) -> list[Finding]:
    """Repetitions after the first of each loop; one that goes on to the end spoils everything from there."""
    found: list[Finding] = []
    start = 0
    for end in range(1, len(turns) + 1):
        if end < len(turns) and _calls(turns[end]) and _calls(turns[end]) == _calls(turns[start]):
            continue
        if end - start >= length and _calls(turns[start]):
            if end == len(turns):
                found.append(Finding(turn_id=turns[start + 1].turn_id, what="loop to the end", extent="onward"))
            else:
                found += [Finding(turn_id=t.turn_id, what="loop", extent="turn") for t in turns[start + 1 : end]]
        start = end
    return found


def _calls(turn: Turn) -> bytes:
    """What the turn called, as bytes to compare; empty where it called nothing."""
    calls: list[dict[str, Any]] = list(turn.message.get("tool_calls") or [])
    return canonical_json([[call.get("name"), call.get("arguments")] for call in calls]) if calls else b""


def decide(turns: Sequence[Turn], findings: Sequence[Finding], config: SanitiseConfig | None = None) -> Decision:
    """The route of an episode with these turns (orphans left out) and findings."""
    config = config or SanitiseConfig()
    told = tuple(findings)
    if not told:
        return Decision("keep")
    if config.how == "discard" or any(f.extent == "episode" for f in told):
        return Decision("discard", findings=told)
    cut = frozenset(f.turn_id for f in told if f.extent == "onward" or config.how == "truncate")
    masked = frozenset(f.turn_id for f in told if f.extent == "turn" and config.how == "mask")
    sampled = {t.turn_id: t.sampled.end - t.sampled.start for t in turns}
    if sum(sampled.get(t, 0) for t in masked) > config.max_masked * sum(sampled.values()):
        return Decision("discard", findings=told)
    return Decision("truncate" if cut else "mask", masked, cut, told)


def repaired(
    sealed: SealedEpisode, reward: float, findings: Sequence[Finding], repair: Repair, look: Find
) -> Attempt | None:
    """The repair of an episode if it can be verified: sealed, graded no worse, and nothing found in it."""
    made = repair(sealed, findings)
    if made is None or made.directory is None or not isinstance(made.outcome, Graded) or made.outcome.reward < reward:
        return None
    return None if look(SealedEpisode.open(made.directory)) else made
