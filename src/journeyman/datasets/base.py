"""What datasets are made of: a sealed episode with its outcome, the rows collected from it."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from journeyman.errors import UserError
from journeyman.records.outcome import Graded, Quarantined
from journeyman.records.sample import Sample, SegmentRef
from journeyman.store.dataset import RowTokens
from journeyman.store.sealed import SealedEpisode, SegmentTokens
from journeyman.tokens.certificate import certify


@dataclass(frozen=True)
class Attempt:
    """One episode with how it ended. `directory` is None where nothing was sealed (then `outcome` is a quarantine)."""

    episode: str  # EpisodeSpec.id
    directory: Path | None
    outcome: Graded | Quarantined | None  # None: not graded yet, which is not a reward


@dataclass
class Rows:
    """Rows collected for one dataset, in order, with what was left out and why."""

    samples: list[Sample] = field(default_factory=list)
    tokens: list[RowTokens] = field(default_factory=list)
    routes: list[npt.NDArray[np.int64] | None] = field(default_factory=list)  # [T - 1, layers, top_k] experts
    excluded: Counter[str] = field(default_factory=Counter)
    length: int = 0
    tokenizers: set[str] = field(default_factory=set)

    def add(self, sample: Sample, tokens: RowTokens, routes: npt.NDArray[np.int64] | None = None) -> int:
        """Append a row; returns its index."""
        self.samples.append(sample)
        self.tokens.append(tokens)
        self.routes.append(routes)
        self.length += len(tokens.ids)
        return len(self.samples) - 1

    def saw_tokenizer(self, sealed: SealedEpisode) -> None:
        """Note whose ids these are. Raises UserError where two tokenizers would be mixed."""
        self.tokenizers.add(str(sealed.episode.engine.get("tokenizer_digest", "")))
        if len(self.tokenizers) > 1:
            raise UserError(
                f"{sealed.episode.spec.id} was recorded with another tokenizer than the rest "
                f"({', '.join(sorted(t[:12] or 'unknown' for t in self.tokenizers))}): build one dataset per tokenizer"
            )

    @property
    def trained_tokens(self) -> int:
        """Sum of all masks."""
        return sum(sample.trained_tokens for sample in self.samples)


def segment_ref(sealed: SealedEpisode, run: int, segment: int, tokens: SegmentTokens) -> SegmentRef:
    """Where a row's tokens come from, bound to the segment's certificate. Raises CertificateError where it has none."""
    certificate = certify(run, segment, *tokens, turns=sealed.segment_turns(run, segment))
    return SegmentRef(
        episode=sealed.episode.spec.id,
        seal_digest=sealed.seal_digest,
        run=run,
        segment=segment,
        ids_sha256=certificate.ids_sha256,
    )


def own_segments(sealed: SealedEpisode, subagents: bool) -> list[tuple[int, int]]:
    """(run, segment) of the runs that are trained: the root run, and children only on request."""
    asides = {run.run for run in sealed.runs if run.aside}
    roots = {run.run for run in sealed.runs if run.parent is None} or {0}
    keys = dict.fromkeys((t.run, t.segment) for t in sealed.turns if not t.orphan)
    return [key for key in keys if key[0] not in asides and (subagents or key[0] in roots)]
