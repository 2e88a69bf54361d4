"""What the driver saw of a batch: reward by environment type, tools called, how attempts ended, what they used.

Means are over valid attempts only, tokens over all; a figure nothing was measured for is absent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from journeyman.episodes.run_many import Finished
from journeyman.pipeline.recipe import Recipe
from journeyman.records.episode import Usage
from journeyman.store.sealed import SealedEpisode


class Seen(NamedTuple):
    """One attempt that ended."""

    environment_type: str
    reward: float | None
    """None: quarantined."""
    usage: Usage
    stop: str
    calls: Mapping[str, int]
    """Executed calls by tool; those of a service count under its name."""
    errors: int
    """Of those, how many answered with an error."""


def seen(finished: Finished, environment_type: str) -> Seen:
    """What a finished attempt shows."""
    sealed = SealedEpisode(finished.directory)
    episode = sealed.episode
    executed = [event for event in sealed.dispatch if event.dispatched]
    calls = Counter(event.tool.partition("__")[0] for event in executed)
    errors = sum(event.is_error for event in executed)
    return Seen(environment_type, finished.reward, episode.usage, str(episode.stop or ""), calls, errors)


def figures_of(batch: Iterable[Seen]) -> dict[str, float]:
    """`reward/TYPE`, `calls/TOOL` (an attempt), `stop/REASON` (share of attempts), the longest attempt, tool errors."""
    attempts = [one for one in batch if one.reward is not None]
    if not attempts:
        return {}
    count = len(attempts)
    figures: dict[str, float] = {}
    for kind in sorted({one.environment_type for one in attempts}):
        rewards = [one.reward or 0.0 for one in attempts if one.environment_type == kind]
        figures[f"reward/{kind}"] = sum(rewards) / len(rewards)
    calls: Counter[str] = Counter()
    for one in attempts:
        calls.update(one.calls)
    figures |= {f"calls/{tool}": calls[tool] / count for tool in sorted(calls)}
    stops = Counter(one.stop for one in attempts)
    figures |= {f"stop/{reason}": stops[reason] / count for reason in sorted(stops)}
    figures["sampled_tokens_max"] = float(max(one.usage.sampled_tokens for one in attempts))
    figures["turns_max"] = float(max(one.usage.turns for one in attempts))
    if executed := calls.total():
        figures["tool_errors"] = sum(one.errors for one in attempts) / executed
    return figures


def usage(finished: Finished) -> Usage:
    """What a finished attempt used, valid or not."""
    return SealedEpisode(finished.directory).episode.usage


def used(usages: Iterable[Usage]) -> dict[str, int]:
    """Attempts and their tokens, for the run ledger: prompt tokens are summed over calls, as a provider bills them."""
    found = list(usages)
    return {
        "episodes": len(found),
        "prompt_tokens": sum(one.prompt_tokens for one in found),
        "cached_tokens": sum(one.cached_tokens for one in found),
        "sampled_tokens": sum(one.sampled_tokens for one in found),
    }


def samplers(recipe: Recipe) -> int:
    """Devices that sample: our own sampler's, or one a server. A hosted engine is none of ours."""
    return {"embedded": 1, "openai": 0}.get(recipe.engine.kind, len(recipe.engine.urls))
