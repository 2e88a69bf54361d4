"""What code decides about models' proposals: leaked targets, unsupported facts, and criteria tried on answers.

Invariant: pure; a finding is one line that can be handed back to whoever proposed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from journeyman.errors import UserError
from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.propositions import figure_faults
from journeyman.grading.text import fold, numbers_in
from journeyman.records.base import Record
from journeyman.records.rubric import Check, Criterion, Rubric
from journeyman.synthesis.capability_first.records import Attack, Brief, Contract, ReferenceTask, Request, Solution
from journeyman.tasks.rubric_lint import rubric_faults
from journeyman.worlds.criteria import check, criterion

PATH = "answer.txt"
_PHRASE = 5  # words in a row that a de-identified text may not share with its target
_NAMED = re.compile(r"(?<=[a-z,;] )[A-Z][\w-]+|\b[\w-]*\d[\w-]*\b")


def leaked(target: ReferenceTask, handed: Record) -> tuple[str, ...]:
    """What a record that is handed on says of the target: names, figures, phrases (C-03)."""
    told = fold(handed.model_dump_json())
    secret = " ".join((target.text, target.answer, *target.successful, *target.unsuccessful))
    named = {fold(m.group(0)) for m in _NAMED.finditer(secret)}
    found = [f"names {name!r} of the target" for name in sorted(named) if _says(told, name)]
    words = fold(secret).split()
    phrases = {" ".join(words[i : i + _PHRASE]) for i in range(len(words) - _PHRASE + 1)}
    return tuple(found + [f"repeats {phrase!r} of the target" for phrase in sorted(phrases) if phrase in told][:1])


def _says(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", text) is not None


def unsupported(request: Request, documents: Sequence[Brief]) -> tuple[str, ...]:
    """Figures and names in a request that no document holds (C-07)."""
    shown = fold("\n".join(f"{d.path} {d.as_of} {d.text}" for d in documents))
    figures = {number.full for number in numbers_in(shown)}
    said = " ".join((request.role, request.trigger, request.audience, request.use, *request.labels.values()))
    found = [f"the request says {n.value}, which no document holds" for n in numbers_in(said) if n.full not in figures]
    named = {m.group(0) for m in _NAMED.finditer(said) if not any(c.isdigit() for c in m.group(0))}
    return tuple(
        found + [f"the request names {n}, which no document does" for n in sorted(named) if fold(n) not in shown]
    )


def rubric_of(request: Request, contract: Contract) -> Rubric:
    """The contract as checks: the full value and its alternatives count, material failures are errors of their own."""
    made: list[Criterion] = []
    for number, c in enumerate(contract.criteria, start=1):
        right = check("field_equals", path=PATH, key=c.label, value=[c.full, *c.accept])
        wrong = check("field_equals", path=PATH, key=c.label, value=list(c.reject))
        said = f"{c.label} is one of the answers that must not count: {', '.join(c.reject)}"
        made.append(criterion(f"c{number}", c.proposition, c.weight, right, c.label, c.evidence))
        made.append(criterion(f"error_{number}", said, -c.weight / 2, wrong, c.label, c.evidence))
    return Rubric(criteria=tuple(made))


def contract_faults(request: Request, documents: Sequence[Brief], contract: Contract) -> Iterator[str]:
    """Criteria without evidence, labels nobody grades or asks for, values that are right and wrong at once."""
    paths, labels = {d.path for d in documents}, [c.label for c in contract.criteria]
    yield from (f"label {x!r} is asked for and not graded" for x in request.labels if x not in labels)
    for c in contract.criteria:
        if c.label not in request.labels or labels.count(c.label) > 1:
            yield f"label {c.label!r} is graded twice, or was not asked for"
        yield from (
            f"criterion {c.label} rests on {path}, which is no document" for path in c.evidence if path not in paths
        )
        both = {fold(v) for v in (c.full, *c.accept)} & {fold(v) for v in c.reject}
        yield from (f"criterion {c.label} both accepts and rejects {value!r}" for value in sorted(both))
    try:
        rubric = rubric_of(request, contract)
        yield from (*rubric_faults(rubric), *figure_faults(rubric))
    except ValueError as error:
        yield str(error)


def score(rubric: Rubric, fields: Mapping[str, str]) -> float:
    """Reported reward, before clipping, of a deliverable with these fields. Raises UserError for a broken check."""
    text = "".join(f"{label}: {value}\n" for label, value in fields.items())
    evidence = SealedEvidence("draft", "", None, written={PATH: text.encode()})
    met = [c for c in rubric.criteria if isinstance(c.decide, Check) and decide(c.decide, evidence).met]
    return sum(c.weight for c in met) / rubric.positive_weight


def attacked(rubric: Rubric, solution: Solution, attack: Attack) -> Iterator[str]:
    """Where the contract treats the adversary's answers wrongly: it is to be loosened or tightened there."""
    try:
        best = score(rubric, solution.fields)
        if best < 1:
            yield f"the blind solution earns {best:.2f}: contract and solver do not agree"
        for answer in attack.alternatives:
            if score(rubric, answer) < 1:
                yield f"loosen: the right answer {dict(answer)} earns {score(rubric, answer):.2f}"
        for answer in attack.errors:
            if score(rubric, answer) >= best:
                yield f"tighten: the wrong answer {dict(answer)} earns {score(rubric, answer):.2f}"
    except UserError as error:
        yield str(error)
