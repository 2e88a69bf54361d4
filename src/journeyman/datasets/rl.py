"""RL batches from groups of sealed, graded episodes. What cannot be trained is set aside, never scored 0."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from journeyman.datasets.base import Attempt, Rows, own_segments, segment_ref
from journeyman.errors import UserError
from journeyman.records.base import Record
from journeyman.records.batch import DatasetManifest, Group, Member
from journeyman.records.grade import OPTIMISED
from journeyman.records.outcome import Graded, Quarantined
from journeyman.records.sample import Sample, SegmentRef
from journeyman.store.dataset import RowTokens, write_dataset
from journeyman.store.sealed import SealedEpisode, SegmentTokens
from journeyman.tokens.certificate import CertificateError


class RlConfig(Record):
    """Which reward a batch is about."""

    reward_name: str = OPTIMISED
    routes: bool = True  # carry recorded experts into the rows, to be replayed
    credit: dict[str, Any] | None = None  # put on record: how the run makes advantages of rewards; None: no run says
    may_be_empty: bool = True  # False: a batch without a row is refused
    subagents: bool = False  # True: children of the root run are trained under the same reward


def refusal(sealed: SealedEpisode) -> str:
    """Why this episode's tokens cannot be trained by RL; "" where they can. Orphan turns are only left out."""
    if not sealed.episode.engine.get("token_exact", False):
        return "engine: not token-exact"
    turns = [turn for turn in sealed.turns if not turn.orphan]
    if not turns:
        return "capture: no turn"
    for turn in turns:
        if turn.source != "policy":
            return f"capture: {turn.source} turn {turn.turn_id}"
        if not turn.trainable:
            return f"capture: untrainable turn {turn.turn_id}: {turn.untrainable_reason}"
    for segment in sealed.segments:
        if not segment.trainable:
            return f"capture: untrainable segment {segment.run}.{segment.index}: {segment.untrainable_reason}"
    return ""


def _token_fault(tokens: SegmentTokens) -> str:
    """Why a segment's arrays are unusable; "" where every sampled token has a finite log-prob <= 0 and a version."""
    sampled = tokens.mask == 1
    logprobs = tokens.logprobs[sampled]
    if not np.isfinite(logprobs).all():
        return f"capture: {int((~np.isfinite(logprobs)).sum())} sampled tokens without a finite log-prob"
    if (logprobs > 1e-4).any():
        return f"capture: log-prob {float(logprobs.max()):.4g} is above 0"
    if (tokens.versions[sampled] < 0).any():
        return "capture: sampled tokens without a policy version"
    return ""


def segment_routes(
    sealed: SealedEpisode, run: int, segment: int, tokens: SegmentTokens
) -> npt.NDArray[np.int64] | None:
    """[T - 1, layers, top_k] experts of a segment, -1 beyond what was recorded; None where nothing was.

    Raises ValueError where a position that a sampled token was predicted from has no record, or a record cannot be.
    """
    recorded = sealed.segment_experts(run, segment)
    if recorded is None:
        return None
    length = len(tokens.ids) - 1
    sampled = np.flatnonzero(tokens.mask[1:])  # position j predicts token j + 1
    if len(sampled) and int(sampled[-1]) >= len(recorded):
        raise ValueError(f"no routed experts at position {max(len(recorded), int(sampled[0]))}")
    routes = np.full((length, *recorded.shape[1:]), -1, dtype=np.int64)
    routes[: len(recorded)] = recorded[:length]
    ordered = np.sort(routes[: len(recorded)], axis=-1)
    if (ordered[..., 1:] == ordered[..., :-1]).any():
        raise ValueError("one expert twice at one position")
    return routes


def build_rl(
    groups: Mapping[str, Sequence[Attempt]],
    out: Path,
    config: RlConfig | None = None,
) -> DatasetManifest:
    """Write one RL batch to `out` (create-only): `groups` maps an explicit group id to its attempts.

    Raises UserError where reward names, temperatures, tokenizers or truncated supports would be mixed, or an episode
    appears twice, or no row is left where one must be; SealBroken where an episode is not what was sealed.
    """
    config = config or RlConfig()
    rows = Rows()
    temperatures: set[float] = set()
    seen: set[str] = set()
    written: list[Group] = []
    for group_id, attempts in groups.items():
        members: list[Member] = []
        task = ""
        for attempt in attempts:
            if attempt.episode in seen:
                raise UserError(f"{attempt.episode} appears twice in one batch: a group is consumed exactly once")
            seen.add(attempt.episode)
            members.append(_member(rows, attempt, group_id, config, temperatures))
            task = task or _task_of(attempt)
        written.append(Group(id=group_id, task=task, members=tuple(members)))
    if not rows.samples and not config.may_be_empty:
        why = f"no RL row is left for {out}: excluded {dict(rows.excluded)}"
        raise UserError(f"{why}: give graded episodes whose tokens a policy sampled")
    manifest = DatasetManifest(
        kind="rl",
        rows=len(rows.samples),
        tokens=rows.length,
        trained_tokens=rows.trained_tokens,
        groups=len(written),
        reward_name=config.reward_name,
        temperature=next(iter(temperatures), None),
        tokenizer_digest=next(iter(rows.tokenizers), ""),
        credit=config.credit,
        excluded=dict(rows.excluded),
    )
    write_dataset(out, manifest, rows.samples, rows.tokens, groups=written, routes=rows.routes)
    return manifest


def _task_of(attempt: Attempt) -> str:
    parts = attempt.episode.split("/")
    return parts[2] if len(parts) == 5 else ""


def _set_aside(rows: Rows, attempt: Attempt, cause: str) -> Member:
    rows.excluded[cause.split(" turn ")[0]] += 1
    return Member(episode=attempt.episode, valid=False, cause=cause)


def _check_sampling(sealed: SealedEpisode, temperatures: set[float]) -> None:
    sampling = sealed.episode.spec.sampling
    temperatures.add(sampling.temperature)
    if sampling.temperature <= 0 or sampling.top_p < 1 or sampling.top_k > 0:
        raise UserError(
            f"{sealed.episode.spec.id} was sampled at temperature {sampling.temperature}, top_p {sampling.top_p}, "
            f"top_k {sampling.top_k}: RL needs full support (temperature > 0, top_p 1, top_k -1)"
        )
    if len(temperatures) > 1:
        raise UserError(f"temperatures {sorted(temperatures)} are mixed in one batch: sample its episodes at one")


def _member(rows: Rows, attempt: Attempt, group: str, config: RlConfig, temperatures: set[float]) -> Member:
    outcome = attempt.outcome
    if outcome is None:
        return _set_aside(rows, attempt, "grader: ungraded")
    if isinstance(outcome, Quarantined):
        return _set_aside(rows, attempt, f"{outcome.layer}: {outcome.cause}")
    if outcome.reward_name != config.reward_name:
        raise UserError(
            f"{attempt.episode} carries reward {outcome.reward_name!r} in a batch of {config.reward_name!r}: "
            "rewards of two names are never mixed; grade again or build another batch"
        )
    if attempt.directory is None or not np.isfinite(outcome.reward):
        return _set_aside(rows, attempt, "grader: no sealed episode or no finite reward")
    sealed = SealedEpisode.open(attempt.directory)
    if cause := refusal(sealed):
        return _set_aside(rows, attempt, cause)
    segments = {key: sealed.segment_tokens(*key) for key in own_segments(sealed, config.subagents)}
    refs: dict[tuple[int, int], SegmentRef] = {}
    routes: dict[tuple[int, int], npt.NDArray[np.int64] | None] = {}
    for key, tokens in segments.items():
        if cause := _token_fault(tokens):
            return _set_aside(rows, attempt, cause)
        try:
            refs[key] = segment_ref(sealed, *key, tokens)
        except CertificateError as error:
            return _set_aside(rows, attempt, f"capture: no certificate: {error.name}")
        try:
            routes[key] = segment_routes(sealed, *key, tokens) if config.routes else None
        except ValueError as error:
            return _set_aside(rows, attempt, f"capture: {error}")
    _check_sampling(sealed, temperatures)
    rows.saw_tokenizer(sealed)
    indexes = tuple(
        _add_row(rows, sealed, outcome, group, refs[key], tokens, routes[key])
        for key, tokens in segments.items()
        if tokens.mask[1:].any()
    )
    turns = [turn for turn in sealed.turns if not turn.orphan]
    calls = [len(turn.message.get("tool_calls") or ()) for turn in turns]
    return Member(
        episode=attempt.episode,
        valid=True,
        reward=outcome.reward,
        turns=len(turns),
        sampled_tokens=sum(turn.sampled.end - turn.sampled.start for turn in turns),
        prompt_tokens=sealed.episode.usage.prompt_tokens,
        invalid_calls=sealed.episode.usage.invalid_calls,
        tool_calls=sum(calls),
        calling_turns=sum(n > 0 for n in calls),
        rows=indexes,
    )


def _add_row(
    rows: Rows,
    sealed: SealedEpisode,
    outcome: Graded,
    group: str,
    ref: SegmentRef,
    tokens: SegmentTokens,
    routes: npt.NDArray[np.int64] | None,
) -> int:
    mask = tokens.mask.copy()
    mask[:1] = 0  # nothing predicts the first token
    sample = Sample(
        ref=ref,
        kind="rl",
        offset=rows.length,
        length=len(mask),
        trained_tokens=int(mask.sum()),
        reward=outcome.reward,
        reward_name=outcome.reward_name,
        group=group,
        stop=str(sealed.episode.stop or ""),
    )
    return rows.add(sample, RowTokens(tokens.ids, mask, tokens.logprobs, tokens.versions), routes)
