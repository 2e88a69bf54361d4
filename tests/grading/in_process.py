"""Programs of our own plans, run by the shipped probe in this very process: no box, no process of their own."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.probing import probe
from journeyman.grading.programs import ProgramGives, programs
from journeyman.records.base import canonical_json
from journeyman.records.rubric import Rubric


class HereAndNow:
    """A `Programs` for trusted plans. What each program answers is worked out once."""

    async def run(self, evidence: SealedEvidence, asked: tuple[ProgramGives, ...]) -> list[list[dict[str, Any]]]:
        """The probe's answers."""
        return [answered(evidence, one) for one in asked]


def answered(evidence: SealedEvidence, asked: ProgramGives) -> list[dict[str, Any]]:
    """The probe's answers to one check."""
    folder = asked.path.rpartition("/")[0]
    known = {*evidence.written, *(() if evidence.base is None else _below(evidence))} - evidence.deleted
    beside = sorted(p for p in known if p.endswith(".py") and p.rpartition("/")[0] == folder)
    texts = tuple((p.rpartition("/")[2].removesuffix(".py"), (evidence.file(p) or b"").decode()) for p in beside)
    return _answers(canonical_json(asked.model_dump(mode="json")), texts)


def _below(evidence: SealedEvidence) -> list[str]:
    assert evidence.base is not None
    return [p.relative_to(evidence.base).as_posix() for p in evidence.base.rglob("*.py")]


@lru_cache(maxsize=4096)
def _answers(check: bytes, texts: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    try:
        found += probe.answers(ProgramGives.model_validate_json(check).asked(), dict(texts))
    except Exception as error:
        found.append({"error": f"{type(error).__name__}: {error}"})
    return found


def with_answers_here(evidence: SealedEvidence, rubric: Rubric) -> SealedEvidence:
    """The evidence with what its programs answer."""
    asked = [p for p in programs(rubric) if evidence.file(p.path) is not None]
    return replace(evidence, answers={p.key(): answered(evidence, p) for p in asked}) if asked else evidence
