"""The LLM author: proposer, reviewers, author, blind solver, drafter and adversary make one task, stage by stage.

Invariant: who reviews, solves or attacks is another model than who wrote; what code can decide no model decides; what
does not hold after the allowed rounds is rejected with stage and reasons, never repaired by hand (C-01..C-09).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from journeyman.errors import UserError
from journeyman.models.base import Model, ModelMessage, ModelUnavailable
from journeyman.records.base import Record
from journeyman.synthesis.capability_first import stages
from journeyman.synthesis.capability_first.records import (
    Attack,
    Binding,
    Brief,
    Contract,
    Proposal,
    ReferenceTask,
    Rejected,
    Request,
    Review,
    Solution,
)
from journeyman.synthesis.capability_first.screening import attacked, contract_faults, leaked, rubric_of, unsupported
from journeyman.synthesis.capability_first.trace import BudgetSpent, Trace, read_answer
from journeyman.synthesis.structure import Structure, structure_faults, supported

ROLES = ("proposer", "reviewer", "author", "solver", "drafter", "adversary", "second_reviewer")
_APART = (
    ("proposer", "reviewer"),
    ("author", "solver"),
    ("drafter", "adversary"),
    ("drafter", "solver"),
    ("reviewer", "second_reviewer"),
    ("author", "reviewer"),
    ("drafter", "second_reviewer"),
)
R = TypeVar("R", bound=Record)


class _Stopped(Exception):
    def __init__(self, stage: str, reasons: Sequence[str]) -> None:
        super().__init__(stage)
        self.rejected = Rejected(stage=stage, reasons=tuple(reasons))


@dataclass(frozen=True)
class Author:
    """One model a role. Roles that check each other must have different names."""

    models: Mapping[str, Model]
    trace: Trace
    rounds: int = 2  # further tries after a rejection, per stage

    def __post_init__(self) -> None:
        """Raises UserError for a missing role, or one identity on both sides of a check (C-02)."""
        if missing := [role for role in ROLES if role not in self.models]:
            raise UserError(f"no model for the role {missing[0]}: name one each for {', '.join(ROLES)}")
        for one, other in _APART:
            if _identity(self.models[one]) == _identity(self.models[other]):
                who = _identity(self.models[one])
                raise UserError(f"{one} and {other} are both {who}: they check each other, name two models")

    async def write(self, target: ReferenceTask, documents: Sequence[Brief]) -> Proposal | Rejected:
        """One task over `documents`, after the capabilities of `target`; or why there is none."""
        try:
            structure = await self._structure(target)
            structure, used = await self._bound(structure, documents)
            request = await self._request(structure, used)
            solution = await self._ask("solve", "solver", Solution, stages.solve(request, used))
            if missing := request.labels.keys() - solution.fields.keys():
                raise _Stopped("solve", [f"the blind solver gives no {label!r}" for label in sorted(missing)])
            contract, found = await self._contract(request, used, solution)
            for role in ("reviewer", "second_reviewer"):
                await self._accepted("review", role, stages.review_task(request, used, contract))
        except _Stopped as stopped:
            return stopped.rejected
        except ModelUnavailable as error:
            return Rejected(stage="endpoint", reasons=(str(error),))
        except BudgetSpent as error:
            return Rejected(stage="budget", reasons=(str(error),))
        return Proposal(
            structure=structure,
            request=request,
            contract=contract,
            solution=solution,
            attack=found,
            sources=tuple(d.path for d in used),
            authors={role: self.models[role].name for role in ROLES},
        )

    async def _structure(self, target: ReferenceTask) -> Structure:
        """A de-identified structure that another model accepts; nothing of `target` goes further (C-01..C-03)."""
        reasons: tuple[str, ...] = ()
        for _ in range(self.rounds + 1):
            text = await self.trace.ask("propose", self.models["proposer"], stages.propose(target, reasons))
            made = read_answer(Structure, text)
            reasons = (made,) if isinstance(made, str) else (*structure_faults(made), *leaked(target, made))
            if not reasons and not isinstance(made, str):
                await self._accepted("review_structure", "reviewer", stages.review_structure(made))
                return made
        raise _Stopped("propose", reasons)

    async def _bound(self, structure: Structure, documents: Sequence[Brief]) -> tuple[Structure, tuple[Brief, ...]]:
        """The largest part of the structure that the documents carry, and those documents (C-04..C-06)."""
        made = await self._ask("bind", "author", Binding, stages.bind(structure, documents))
        known = {d.path for d in documents}
        if foreign := sorted({p for paths in made.documents.values() for p in paths} - known):
            raise _Stopped("bind", [f"{foreign[0]} is no document of the catalogue"])
        held = tuple(
            o.model_copy(update={"sources": made.documents.get(o.id, ("?",) if o.sources else ())})
            for o in structure.operations
        )
        smaller = supported(Structure(operations=held), known)
        if smaller is None:
            raise _Stopped("bind", ["the documents carry no part of the structure that joins two of them"])
        used = {source for o in smaller.operations for source in o.sources}
        return smaller, tuple(d for d in documents if d.path in used)

    async def _request(self, structure: Structure, documents: Sequence[Brief]) -> Request:
        reasons: tuple[str, ...] = ()
        for _ in range(self.rounds + 1):
            text = await self.trace.ask(
                "request", self.models["author"], stages.write_request(structure, documents, reasons)
            )
            made = read_answer(Request, text)
            if isinstance(made, str):
                reasons = (made,)
            elif not (reasons := unsupported(made, documents)):
                return made
        raise _Stopped("request", reasons)

    async def _contract(
        self, request: Request, documents: Sequence[Brief], solution: Solution
    ) -> tuple[Contract, Attack]:
        """A contract that stands the adversary: loosened and tightened by its findings, round by round (C-09)."""
        reasons: tuple[str, ...] = ()
        for _ in range(self.rounds + 1):
            ask = stages.draft_contract(request, documents, solution, reasons)
            made = read_answer(Contract, await self.trace.ask("contract", self.models["drafter"], ask))
            if isinstance(made, str):
                reasons = (made,)
                continue
            if reasons := tuple(contract_faults(request, documents, made)):
                continue
            found = await self._ask("attack", "adversary", Attack, stages.attack(request, documents, made))
            if not (reasons := tuple(attacked(rubric_of(request, made), solution, found))):
                return made, found
        raise _Stopped("contract", reasons)

    async def _ask(self, stage: str, role: str, kind: type[R], messages: Sequence[ModelMessage]) -> R:
        made = read_answer(kind, await self.trace.ask(stage, self.models[role], messages))
        if isinstance(made, str):
            raise _Stopped(stage, [made])
        return made

    async def _accepted(self, stage: str, role: str, messages: Sequence[ModelMessage]) -> None:
        review = await self._ask(stage, role, Review, messages)
        if not review.accept:
            raise _Stopped(stage, review.reasons or ("no reason given",))


def _identity(model: Model) -> str:
    """Who a model is: its name without its decoding settings, so that another temperature is no other reviewer."""
    return model.name.partition("@")[0]
