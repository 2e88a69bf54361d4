"""One sealed episode made readable: the exact tokens of its first run, decoded; nothing is re-rendered."""

import math
from collections.abc import Callable, Sequence

from journeyman.records.grade import REPORTED, Grade
from journeyman.records.report import ShownEpisode, ShownToken, ShownTurn, ShownVerdict
from journeyman.records.task import Task
from journeyman.records.turn import Turn
from journeyman.store.sealed import SealedEpisode

Decode = Callable[[Sequence[int]], str]


def show_episode(sealed: SealedEpisode, grade: Grade, task: Task, decode: Decode) -> ShownEpisode:
    """The episode turn by turn. `decode` turns ids into text, special tokens included."""
    criteria = {criterion.id: criterion for criterion in task.rubric.criteria}
    verdicts = tuple(
        ShownVerdict(
            criterion=v.criterion,
            proposition=criteria[v.criterion].proposition,
            weight=criteria[v.criterion].weight,
            met=v.met,
            evidence=v.evidence,
        )
        for v in grade.verdicts
    )
    return ShownEpisode(
        episode=sealed.episode.spec.id,
        environment_type=task.metadata.environment_type,
        instruction=task.instruction,
        reward=grade.rewards[REPORTED],
        verdicts=verdicts,
        turns=tuple(_turn(sealed, turn, decode) for turn in sealed.turns if turn.run == 0 and not turn.orphan),
    )


def _turn(sealed: SealedEpisode, turn: Turn, decode: Decode) -> ShownTurn:
    ids, logprobs = sealed.tokens.ids, sealed.tokens.logprobs
    context = decode([int(i) for i in ids[turn.context.start : turn.context.end]])
    sampled = slice(turn.sampled.start, turn.sampled.end)
    tokens = _pieces([int(i) for i in ids[sampled]], [float(p) for p in logprobs[sampled]], decode)
    return ShownTurn(context=context, tokens=tuple(tokens))


def _pieces(ids: Sequence[int], logprobs: Sequence[float], decode: Decode) -> list[ShownToken]:
    """Each token's text and log-prob. Tokens that share a character show as one, their log-probs summed."""
    shown: list[ShownToken] = []
    done, total = 0, 0.0
    for end in range(1, len(ids) + 1):
        text = decode(ids[done:end])
        total += logprobs[end - 1]
        if text.endswith("\N{REPLACEMENT CHARACTER}") and end < len(ids):
            continue
        shown.append(ShownToken(text=text, logprob=None if math.isnan(total) else total))
        done, total = end, 0.0
    return shown
