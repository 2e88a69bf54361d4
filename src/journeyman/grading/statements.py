"""Whether a text states something of something: both named in one sentence, with the right polarity, nowhere denied.

Invariant: pure; a text that says a thing and its opposite states neither, and a question or hearsay states nothing.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import Field

from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.finding import Finding, brief
from journeyman.grading.text import fold, has_phrase, passages
from journeyman.records.base import Record

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s\|\s|\t")
_STOP = re.compile(
    r"[,:](?!\d)|[;()]|\b(?:and|or|but|because|since|as|although|though|while|whereas|so|which|who|then)\b"
)
_NEGATOR = re.compile(
    r"\b(?:not(?! (?:only|including|counting)\b)|no|never|neither|none|nobody|nothing|cannot)\b|n't\b"
)
_HEDGE = re.compile(
    r"\b(?:whether|if|unsure|unclear|unknown|perhaps|maybe|(?:may|might|could)(?! not)(?! \d)|would|know"
    r"|called|claimed|allegedly|reportedly)\b"
)
_SET_ASIDE = re.compile(r"\b(?:not|than|instead of|unlike)(?: (?:that|those|the|of|in|by|from|on|at|an?))*\s$")
_ANNOUNCES = (":", ", that of", ", namely")  # what a clause speaks of comes after it
_SAME_SUBJECT = re.compile(r"(?:\s|\b(?:is|are|was|were|does|do|did|has|have|been|be|not|still|therefore|also)\b)*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,.']*(?<![.,'])(?!\w)")

LONG = 2000  # characters; a longer sentence states nothing, so that reading stays linear
Phrase = Annotated[str, Field(min_length=1)]
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1)]


class States(Record):
    """The text states that what it is `about` is (`true`) or is not one of `holds`; `fails` are their opposites.

    The first of `about` is what the statement is of; one phrase of each further one stands in the same sentence.
    `rivals` are other things of which the same might be said. A text with a phrase of `none` states nothing.
    """

    path: str
    about: tuple[Phrases, ...] = Field(min_length=1)
    holds: Phrases
    fails: tuple[Phrase, ...] = ()
    rivals: tuple[Phrase, ...] = ()
    true: bool = True
    none: tuple[str, ...] = ()


class _Span(NamedTuple):
    start: int
    end: int


def states(evidence: SealedEvidence, args: States) -> Finding:
    """MET iff some sentence states it and none denies it."""
    document = evidence.rendered(args.path)
    if document is None:
        return Finding(False, f"{args.path}: no such file")
    if unwanted := next((p for p in args.none if has_phrase(fold(document.plain), p)), None):
        return Finding(False, f"{args.path}: says {unwanted!r}")
    told: dict[bool, str] = {}
    for sentence in sentences(document.lines):
        for polarity in stated(sentence, args):
            told.setdefault(polarity, sentence)
    if (other := told.get(not args.true)) is not None:
        return Finding(False, f"{args.path}: says otherwise: {brief(other)}")
    if args.true not in told:
        return Finding(False, f"{args.path}: does not say it of {args.about[0][0]!r}")
    return Finding(True, f"{args.path}: {brief(told[args.true])}")


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Folded sentences; cells of a row are sentences of their own."""
    for passage in passages(lines):
        yield from filter(None, _SENTENCE.split(passage))


def stated(sentence: str, args: States) -> Iterator[bool]:
    """What a folded sentence says: True for each assertion, False for each denial."""
    if len(sentence) > LONG or not all(any(True for _ in _found(sentence, group)) for group in args.about):
        return
    stops = [_Span(m.start(), m.end()) for m in _STOP.finditer(sentence)]
    subjects = _named(sentence, args.about[0])
    rivals = _named(sentence, args.rivals)
    if args.about[0][0][0].isdigit():
        numbers = (_Span(m.start(), m.end()) for m in _NUMBER.finditer(sentence))
        rivals += [n for n in numbers if not any(s.start <= n.start < s.end for s in subjects)]
    for phrases, says in ((args.holds, True), (args.fails, False)):
        for predicate in _found(sentence, phrases):
            clause = _Span(
                max((s.end for s in stops if s.end <= predicate.start), default=0),
                min((s.start for s in stops if s.start >= predicate.end), default=len(sentence)),
            )
            before = sentence[clause.start : predicate.start]
            if _HEDGE.search(before) or sentence.endswith("?"):
                continue
            polarity = says is (len(_NEGATOR.findall(before)) % 2 == 0)
            carried = says or polarity is args.true or _SAME_SUBJECT.fullmatch(before) is not None
            inside = any(_inside(s, clause) for s in subjects)
            if inside or (carried and _belongs(sentence, clause, subjects, rivals, says)):
                yield polarity


def _belongs(sentence: str, clause: _Span, subjects: list[_Span], rivals: list[_Span], says: bool) -> bool:
    """Whether a clause that names no subject speaks of one: of the nearest before it, or of the one it announces."""
    if any(_inside(r, clause) for r in rivals):
        return False
    named = sorted((*subjects, *rivals))
    if earlier := [n for n in named if n.end <= clause.start]:
        return earlier[-1] in subjects
    announced = says and sentence.startswith(_ANNOUNCES, clause.end)
    return announced and next((n in subjects for n in named if n.start >= clause.end), False)


def _inside(span: _Span, clause: _Span) -> bool:
    return clause.start <= span.start and span.end <= clause.end


@lru_cache(maxsize=4096)
def _pattern(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(fold(phrase))}(?!\w)(?![.,]\d)")


def _found(sentence: str, phrases: tuple[str, ...]) -> list[_Span]:
    return [_Span(m.start(), m.end()) for phrase in phrases for m in _pattern(phrase).finditer(sentence)]


def _named(sentence: str, phrases: tuple[str, ...]) -> list[_Span]:
    """Mentions that are not set aside ("not the loan agreement")."""
    return [span for span in _found(sentence, phrases) if not _SET_ASIDE.search(sentence[: span.start])]
