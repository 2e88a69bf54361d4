"""An episode without a task: its header says what was captured and by which engine, and it is sealed like any other.

A capture that met a failure of ours is sealed as failed, so that nothing is ever trained on it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from journeyman.capture.recorder import FAILED
from journeyman.records.episode import Episode, EpisodeSpec, Seal, Usage
from journeyman.records.outcome import FailureCause, StopReason
from journeyman.store.atomic import write_atomic
from journeyman.store.seal import seal

_COUNTED = ("turns", "prompt_tokens", "cached_tokens", "sampled_tokens", "segments")


def seal_by_hand(
    directory: Path, spec: EpisodeSpec, captured: Mapping[str, Any], engine: dict[str, Any], seconds: float = 0.0
) -> Seal:
    """Write the header and seal. `captured`: fields of `recorder.Captured`. Raises UserError where it is sealed."""
    failure = captured["failure"]
    header = Episode(
        spec=spec,
        task_digest="",
        grader_digest="",
        harness_digest="",
        engine=engine,
        sandbox={},
        stop=None if failure else StopReason.FINISHED,
        failure=FailureCause(layer=failure.layer, cause=failure.cause, detail=failure.detail[:2000])
        if failure
        else None,
        usage=Usage(**{name: captured[name] for name in _COUNTED}),
        timing={"total": round(seconds, 6)},
    )
    write_atomic(directory / "episode.json", header.canonical())
    (directory / FAILED).unlink(missing_ok=True)  # the header says it
    return seal(directory)
