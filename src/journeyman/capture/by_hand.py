"""An episode without a task: its header says what was captured and by which engine, and it is sealed like any other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from journeyman.records.episode import Episode, EpisodeSpec, Seal, Usage
from journeyman.records.outcome import StopReason
from journeyman.store.seal import seal

_COUNTED = ("turns", "prompt_tokens", "cached_tokens", "sampled_tokens", "segments")


def seal_by_hand(
    directory: Path, spec: EpisodeSpec, captured: Mapping[str, Any], engine: dict[str, Any], seconds: float = 0.0
) -> Seal:
    """Write the header and seal. `captured`: fields of `recorder.Captured`. Raises UserError where it is sealed."""
    header = Episode(
        spec=spec,
        task_digest="",
        grader_digest="",
        harness_digest="",
        engine=engine,
        sandbox={},
        stop=StopReason.FINISHED,
        usage=Usage(**{name: captured[name] for name in _COUNTED}),
        timing={"total": round(seconds, 6)},
    )
    (directory / "episode.json").write_bytes(header.canonical())
    return seal(directory)
