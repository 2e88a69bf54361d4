"""Lint of a rubric: one proposition a criterion, named entities, no golden phrase, nothing twice (R-01, C-09).

Invariant: pure functions from a rubric to faults, one line each; what needs reading for meaning is left to reviewers.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from journeyman.records.rubric import Check, Criterion, Judged, Rubric

GOLDEN_WORDS = 8  # a phrase of more words than this that has no alternative asks for wording, not for a fact
_SENTENCES = re.compile(r"[.!?;]\s+(?=[A-Z(])")
_VAGUE = re.compile(
    r"\b(?:good|nice|proper(?:ly)?|appropriate(?:ly)?|adequate(?:ly)?|reasonabl[ey]|professional(?:ly)?|high[- ]quality"
    r"|well[- ](?:written|structured|presented)|comprehensive(?:ly)?|sufficient(?:ly)?|as needed)\b",
    re.I,
)
_NAMED = re.compile(r"\d|(?<=[a-z,;:] )[A-Z]|[\w-]+[./_][\w-]+")


def rubric_faults(rubric: Rubric) -> tuple[str, ...]:
    """Weights, wording, golden phrases and duplicates, one line each; empty where the rubric is usable."""
    found: list[str] = []
    seen: dict[str, str] = {}
    decided: dict[str, str] = {}
    for criterion in rubric.criteria:
        name = f"criterion {criterion.id}"
        found += [f"{name} {fault}" for fault in _faults(criterion)]
        key = " ".join(criterion.proposition.split()).casefold()
        if key in seen:
            found.append(f"{name} repeats the proposition of {seen[key]}")
        seen.setdefault(key, criterion.id)
        how = f"{criterion.weight > 0}{criterion.decide.model_dump_json()}"
        if how in decided:
            found.append(f"{name} is decided exactly like {decided[how]}")
        decided.setdefault(how, criterion.id)
    if not any(c.weight > 0 for c in rubric.criteria):
        found.append("no criterion has a positive weight")
    return tuple(found)


def _faults(criterion: Criterion) -> Iterator[str]:
    said, weight = criterion.proposition, criterion.weight
    if weight == 0 or weight != weight or abs(weight) == float("inf"):
        yield f"has weight {weight}"
    if len(said.split()) < 3:
        yield f"is too short to be a proposition: {said!r}"
    if not criterion.evidence:
        yield "names no evidence from which it can be known"
    if _SENTENCES.search(said):
        yield f"says more than one thing: {said!r}"
    if (vague := _VAGUE.search(said)) and not _NAMED.search(said):
        yield f"asks for {vague.group(0)!r} and names neither entity nor threshold"
    if isinstance(criterion.decide, Judged):
        if not criterion.decide.accept or not criterion.decide.reject:
            yield "is judged and tells the judge no acceptable alternative or no material failure"
    else:
        yield from (f"asks for a golden phrase: {phrase!r}" for phrase in _golden(criterion.decide))


def _golden(check: Check) -> Iterator[str]:
    """Long phrases that have to stand in a deliverable word for word, with no other way to say them."""
    pending: list[tuple[str, Mapping[str, Any], bool]] = [(check.kind, check.args, False)]
    while pending:
        kind, args, free = pending.pop()
        if kind == "text_contains" and not free:
            alone = args.get("any", ()) if len(args.get("any", ())) == 1 else ()
            yield from (p for p in (*args.get("all", ()), *alone) if len(str(p).split()) > GOLDEN_WORDS)
        inner = args.get("checks") or ([args["check"]] if "check" in args else [])
        plain = [one.model_dump() if isinstance(one, Check) else one for one in inner]
        loose = free or kind == "not_" or (kind == "any_of" and len(plain) > 1)
        pending += [(str(one["kind"]), one.get("args") or {}, loose) for one in plain if isinstance(one, Mapping)]
