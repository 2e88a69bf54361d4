"""SFT rows from sealed, graded episodes: loss on newly produced ids only, each exactly once, never re-rendered.

What a rewrite replays (prefix, harness-written summary) is a later segment's context, so its mask is 0 by provenance.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from journeyman.datasets.base import Attempt, Rows, own_segments, segment_ref
from journeyman.datasets.packing import pack
from journeyman.datasets.sanitise import Decision, Find, Repair, SanitiseConfig, decide, find, repaired
from journeyman.datasets.think import empty_think_tokens
from journeyman.errors import UserError
from journeyman.records.base import Record
from journeyman.records.batch import DatasetManifest, Pack
from journeyman.records.outcome import Graded
from journeyman.records.sample import Sample
from journeyman.records.turn import Turn
from journeyman.store.dataset import RowTokens, write_dataset
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.certificate import CertificateError


class SftConfig(Record):
    """Which episodes and turns become SFT rows."""

    sources: tuple[Literal["scripted", "policy"], ...] = ("scripted", "policy")
    min_reward: float | None = None  # None: every graded demonstration, also imperfect ones
    max_length: int = 2048  # tokens; longer rows are dropped and counted, never truncated
    ignore_empty_think: bool = True
    think_opened_by_prompt: bool = False  # the generation prompt ends with <think>
    strict_whitespace: bool = False
    subagents: bool = False
    sanitise: SanitiseConfig | None = None  # None: imperfect demonstrations stay whole


def build_sft(
    attempts: Iterable[Attempt],
    out: Path,
    config: SftConfig | None = None,
    decode: Callable[[Sequence[int]], str] | None = None,
    look: Find | None = None,
    repair: Repair | None = None,
) -> DatasetManifest:
    """Write an SFT dataset to `out` (create-only).

    `decode` turns ids into text with special tokens kept; None: the tokenizer has no think tags. `look` finds what is
    wrong with an episode (None: what its record shows) and `repair` may offer another, where `config.sanitise` is set.
    Raises UserError where nothing is left, SealBroken where an episode is not what was sealed.
    """
    config = config or SftConfig()
    rows = Rows()
    for attempt in attempts:
        if not isinstance(attempt.outcome, Graded) or attempt.directory is None:
            rows.excluded["no final-state proof: " + ("ungraded" if attempt.outcome is None else "quarantined")] += 1
        elif config.min_reward is not None and attempt.outcome.reward < config.min_reward:
            rows.excluded["reward below min_reward"] += 1
        else:
            sealed = SealedEpisode.open(attempt.directory)
            if config.sanitise is None:
                _add_episode(rows, sealed, config, decode, Decision("keep"))
            else:
                seen = look or partial(find, config=config.sanitise)
                _add_sanitised(rows, sealed, attempt.outcome.reward, config, decode, seen, repair)
    if not rows.samples:
        raise UserError(f"no SFT row is left for {out}: excluded {dict(rows.excluded)}")
    bins, _ = pack([sample.length for sample in rows.samples], config.max_length)
    packs = [Pack(rows=tuple(b), tokens=sum(rows.samples[i].length for i in b)) for b in bins]
    manifest = DatasetManifest(
        kind="sft",
        rows=len(rows.samples),
        tokens=rows.length,
        trained_tokens=rows.trained_tokens,
        tokenizer_digest=next(iter(rows.tokenizers), ""),
        max_length=config.max_length,
        excluded=dict(rows.excluded),
    )
    write_dataset(out, manifest, rows.samples, rows.tokens, packs=packs)
    return manifest


def _weightless_ids(
    turn: Turn, ids: np.ndarray, config: SftConfig, decode: Callable[[Sequence[int]], str] | None
) -> int:
    """Leading sampled ids of the turn that carry no loss; all of them where the turn is not eligible."""
    if turn.source not in config.sources or not turn.trainable:
        return len(ids)
    if decode is None or not config.ignore_empty_think:
        return 0
    return empty_think_tokens(ids.tolist(), decode, config.think_opened_by_prompt, config.strict_whitespace)


def _add_sanitised(
    rows: Rows,
    sealed: SealedEpisode,
    reward: float,
    config: SftConfig,
    decode: Callable[[Sequence[int]], str] | None,
    look: Find,
    repair: Repair | None,
) -> None:
    findings = look(sealed)
    if findings and repair is not None and (made := repaired(sealed, reward, findings, repair, look)) is not None:
        rows.excluded["sanitised: repair"] += 1
        assert made.directory is not None
        _add_episode(rows, SealedEpisode.open(made.directory), config, decode, Decision("keep"))
        return
    decision = decide([turn for turn in sealed.turns if not turn.orphan], findings, config.sanitise)
    if decision.route != "keep":
        rows.excluded[f"sanitised: {decision.route}"] += 1
    if decision.route != "discard":
        _add_episode(rows, sealed, config, decode, decision)


def _add_episode(
    rows: Rows,
    sealed: SealedEpisode,
    config: SftConfig,
    decode: Callable[[Sequence[int]], str] | None,
    decision: Decision,
) -> None:
    ended: set[int] = set()  # runs that a truncation has ended
    closed = {(s.run, s.index) for s in sealed.segments if not s.trainable}
    for run, segment in own_segments(sealed, config.subagents):
        if (run, segment) in closed:
            rows.excluded["untrainable segment"] += 1
            continue
        if run in ended:
            rows.excluded["after a truncation"] += 1
            continue
        tokens = sealed.segment_tokens(run, segment)
        try:
            ref = segment_ref(sealed, run, segment, tokens)
        except CertificateError as error:
            rows.excluded[f"no certificate: {error.name}"] += 1
            continue
        mask = tokens.mask.copy()
        at = 0
        for turn in sealed.segment_turns(run, segment):
            if turn.turn_id in decision.ends_before:
                ended.add(run)
                mask[at:] = 0  # the ids stay those of the certificate
                break
            at += turn.context.end - turn.context.start
            length = turn.sampled.end - turn.sampled.start
            bad = turn.turn_id in decision.masked
            weightless = length if bad else _weightless_ids(turn, tokens.ids[at : at + length], config, decode)
            mask[at : at + weightless] = 0
            at += length + (turn.closing.end - turn.closing.start if turn.closing else 0)
        mask[:1] = 0  # nothing predicts the first token
        if len(tokens.ids) > config.max_length:
            rows.excluded["longer than max_length"] += 1
        elif not mask.any():
            rows.excluded["no trained token"] += 1
        else:
            rows.saw_tokenizer(sealed)
            sample = Sample(
                ref=ref,
                kind="sft",
                offset=rows.length,
                length=len(mask),
                trained_tokens=int(mask.sum()),
                stop=str(sealed.episode.stop or ""),
            )
            rows.add(sample, RowTokens(tokens.ids, mask, tokens.logprobs, tokens.versions))
