"""The stages as handouts: what each role is told, built from nothing but the records its stage may see.

Invariant: a boundary is the signature of a function. No stage after `propose` takes a reference task; the solver takes
neither structure nor contract; the drafter's adversary never sees the solution (C-02, C-03, C-08).
"""

import json
from collections.abc import Sequence

from journeyman.models.base import ModelMessage
from journeyman.records.base import Record
from journeyman.synthesis.capability_first.records import Brief, Contract, ReferenceTask, Request, Solution
from journeyman.synthesis.structure import Structure

_JSON = "Answer with one JSON object and nothing else."


def _messages(role: str, ask: str, **handed: object) -> tuple[ModelMessage, ...]:
    plain = {name: _plain(value) for name, value in handed.items()}
    body = f"{ask}\n\n{json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True)}"
    return ModelMessage(role="system", content=f"{role} {_JSON}"), ModelMessage(role="user", content=body)


def _plain(value: object) -> object:
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


def propose(reference: ReferenceTask, reasons: Sequence[str]) -> tuple[ModelMessage, ...]:
    """A structure, from a real task and runs of it. The only stage that sees one."""
    return _messages(
        "You describe which capabilities a piece of professional work needs.",
        'Give {"operations": [{"id", "kind", "needs": [], "sources": []}]}. kind: discovery, extraction, reasoning,'
        " decision, execution, construction or verification. needs: operations whose results it uses. sources: roles of"
        " documents, in general words. Give no name, figure, date or phrase of the task. The last delivers.",
        task=reference,
        rejected_before=list(reasons),
    )


def review_structure(structure: Structure) -> tuple[ModelMessage, ...]:
    """Generality, preserved prerequisites, discoverable evidence: by another model than the proposer."""
    return _messages(
        "You review capability structures of professional work.",
        'Give {"accept": true or false, "reasons": []}. Accept a structure that is general, whose edges are real'
        " prerequisites, and whose evidence can be found in documents.",
        structure=structure,
    )


def bind(structure: Structure, documents: Sequence[Brief]) -> tuple[ModelMessage, ...]:
    """Which documents carry which operations."""
    return _messages(
        "You match work to the documents at hand.",
        'Give {"documents": {operation: [path]}}. Leave an operation out where no document carries it. Invent none.',
        structure=structure,
        documents=documents,
    )


def write_request(structure: Structure, documents: Sequence[Brief], reasons: Sequence[str]) -> tuple[ModelMessage, ...]:
    """Role, trigger, audience, use and the deliverable's labels; no fact that a document does not hold."""
    return _messages(
        "You write requests for professional work over given documents.",
        'Give {"role", "trigger", "audience", "use", "labels": {label: what it is}, "rules": []}. Labels are short'
        " lower-case words. State no figure or finding of the documents.",
        structure=structure,
        documents=documents,
        rejected_before=list(reasons),
    )


def solve(request: Request, documents: Sequence[Brief]) -> tuple[ModelMessage, ...]:
    """Blind: the public view and nothing else."""
    return _messages(
        "You do the work that is asked for.",
        'Give {"fields": {label: value}, "trace": [what you looked at and concluded]}.',
        request=request,
        documents=documents,
    )


def draft_contract(
    request: Request, documents: Sequence[Brief], solution: Solution, reasons: Sequence[str]
) -> tuple[ModelMessage, ...]:
    """Criteria from request and documents; the solution is a hypothesis among others."""
    return _messages(
        "You write grading criteria: one fact each, never a wording.",
        'Give {"criteria": [{"label", "proposition", "weight", "evidence": [path], "full", "partial", "accept": [],'
        ' "reject": []}]}. full is the right value, partial an incomplete one, accept other ways to say it, reject'
        " values that must not count. The solution may be wrong, and its choices are no requirements.",
        request=request,
        documents=documents,
        hypothesis=solution.fields,
        rejected_before=list(reasons),
    )


def attack(request: Request, documents: Sequence[Brief], contract: Contract) -> tuple[ModelMessage, ...]:
    """Answers that should count and answers that should not, against the contract."""
    return _messages(
        "You look for answers that a grading contract treats wrongly.",
        'Give {"alternatives": [{label: value}], "errors": [{label: value}]}: complete right answers said otherwise,'
        " and complete answers that look right and are wrong. An error gives every label.",
        request=request,
        documents=documents,
        contract=contract,
    )


def review_task(request: Request, documents: Sequence[Brief], contract: Contract) -> tuple[ModelMessage, ...]:
    """Grounding, realism, difficulty, consistency."""
    return _messages(
        "You review tasks before they are released.",
        'Give {"accept": true or false, "reasons": []}. Accept what is grounded in the documents, realistic, not a'
        " look-up, and graded by what the request asks for.",
        request=request,
        documents=documents,
        contract=contract,
    )
