"""Evidence, rubric and grader to one grade: every criterion decided, by its check or by the judge, then aggregated.

Invariant: a grade holds exactly one verdict per criterion, in the rubric's order; otherwise GraderFailure.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from journeyman.errors import GraderFailure, UserError
from journeyman.grading.base import OFFICIAL, Contract
from journeyman.grading.checks import CHECKS_VERSION, decide
from journeyman.grading.contract import contract_of
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.judge import Judge
from journeyman.grading.programs import PROGRAMS_VERSION, Programs, programs, with_answers
from journeyman.grading.rubric import aggregate, refusal
from journeyman.office.render import RENDERING_VERSION
from journeyman.records.grade import Grade, GraderIdentity
from journeyman.records.rubric import Check, Criterion, Rubric, Verdict


def identity_of(rubric: Rubric, judge: Judge | None = None, name: str = OFFICIAL) -> GraderIdentity:
    """Who would grade with this rubric and judge: checks, rubric, judge, prompt and rendering, all bound (Z-10).

    Raises UserError where a criterion is judged and no judge is given.
    """
    judged = [c.id for c in rubric.criteria if not isinstance(c.decide, Check)]
    if judged and judge is None:
        raise UserError(f"criterion {judged[0]} is judged and no judge was given: name one in the recipe's [judge]")
    return GraderIdentity(
        name=name,
        checks_version=f"{CHECKS_VERSION}+{PROGRAMS_VERSION}" if programs(rubric) else CHECKS_VERSION,
        rubric_digest=rubric.digest(),
        judge=judge.name if judge else None,
        prompt_digest=judge.prompt_digest if judge else None,
        rendering_version=RENDERING_VERSION,
    )


@dataclass(frozen=True)
class Grader:
    """Grades by deterministic checks and, where criteria are judged, a judge (`grading.base.Grades`).

    `programs` runs what a rubric wants to be run; without it such a rubric is not graded.
    """

    judge: Judge | None = None
    name: str = OFFICIAL
    programs: Programs | None = None

    def identity(self, rubric: Rubric) -> GraderIdentity:
        """Frozen identity for one rubric. Raises UserError where the rubric needs a judge this grader lacks."""
        return identity_of(rubric, self.judge, self.name)

    def contract(self, task_dir: Path) -> Contract:
        """The contract of one of our packages. Raises UserError, GraderFailure."""
        return contract_of(task_dir)

    async def grade(self, evidence: SealedEvidence, contract: Contract, identity: GraderIdentity) -> Grade:
        """Checks, then the judge. Raises GraderFailure."""
        return await grade(evidence, contract.rubric, identity, self.judge, self.programs)


async def grade(
    evidence: SealedEvidence,
    rubric: Rubric,
    identity: GraderIdentity,
    judge: Judge | None = None,
    runs: Programs | None = None,
) -> Grade:
    """Decide every criterion and aggregate. Pure but for the judge's calls and the programs that are run.

    Raises GraderFailure: a check of the rubric is malformed, a program could not be run, or a judged verdict stayed
    missing after bounded retries.
    """
    started = time.perf_counter()
    evidence = await with_answers(evidence, rubric, runs)
    verdicts = [_checked(c, c.decide, evidence) for c in rubric.criteria if isinstance(c.decide, Check)]
    judged = [c for c in rubric.criteria if not isinstance(c.decide, Check)]
    if judged:
        verdicts += await _judged(judged, evidence, rubric, verdicts, judge)
    order = {c.id: i for i, c in enumerate(rubric.criteria)}
    verdicts.sort(key=lambda v: order[v.criterion])
    raw, rewards = aggregate(rubric, verdicts)
    return Grade(
        episode=evidence.episode,
        seal_digest=evidence.seal_digest,
        grader=identity,
        verdicts=tuple(verdicts),
        raw=raw,
        rewards=rewards,
        seconds=time.perf_counter() - started,
    )


def _checked(criterion: Criterion, check: Check, evidence: SealedEvidence) -> Verdict:
    try:
        finding = decide(check, evidence)
    except UserError as error:
        raise GraderFailure("check_malformed", f"criterion {criterion.id}: {error}") from error
    return Verdict(criterion=criterion.id, met=finding.met, evidence=finding.evidence, source="check")


async def _judged(
    judged: list[Criterion], evidence: SealedEvidence, rubric: Rubric, checked: list[Verdict], judge: Judge | None
) -> tuple[Verdict, ...]:
    if judge is None:
        raise GraderFailure("no_judge", f"criterion {judged[0].id} is judged and no judge was given")
    result = await judge.decide(judged, evidence)
    if result.refused:
        known = {v.criterion: v.met for v in (*checked, *result.verdicts)}
        why = "; ".join(f"{name}: {reason}" for name, reason in result.refused.items())
        raise refusal(rubric, known, f"no verdict after {judge.config.retries + 1} tries: {why}")
    return result.verdicts
