"""Capability structures: what has to be found out before what, over documents; a plan is left open (C-01).

Invariant: a structure is a finite graph without cycles whose edges are load-bearing; a single look-up is none.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from journeyman.records.base import Record

Kind = Literal["discovery", "extraction", "reasoning", "decision", "execution", "construction", "verification"]
MIN_SOURCES, MIN_OPERATIONS = 2, 3


class Operation(Record):
    """One step of work. `needs` are operations whose results it uses, `sources` the documents it looks into."""

    id: str
    kind: Kind
    needs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Structure(Record):
    """Operations in any order; the last one gives what is delivered."""

    operations: tuple[Operation, ...]


def structure_faults(structure: Structure) -> tuple[str, ...]:
    """Unknown and repeated nodes, cycles, and work that joins too little; empty where the structure holds."""
    ids = [o.id for o in structure.operations]
    found = [f"operation {i} appears twice" for i in dict.fromkeys(ids) if ids.count(i) > 1]
    found += [
        f"operation {o.id} needs {n}, which is not there" for o in structure.operations for n in o.needs if n not in ids
    ]
    if found or not ids:
        return tuple(found or ["there is no operation"])
    if len(ordered(structure)) < len(ids):
        return (f"operations {', '.join(sorted(set(ids) - set(ordered(structure))))} need each other in a circle",)
    return tuple(_too_little(structure))


def _too_little(structure: Structure) -> Iterator[str]:
    """X-05, C-05: a result that one document gives in one look is no task."""
    used = _behind(structure, structure.operations[-1].id)
    sources = {s for o in structure.operations if o.id in used for s in o.sources}
    if len(sources) < MIN_SOURCES:
        looked = ", ".join(sorted(sources)) or "nothing"
        yield f"a look-up in {looked}: at least {MIN_SOURCES} documents are to be joined"
    if len(used) < MIN_OPERATIONS:
        yield f"{len(used)} operations lead to the result, at least {MIN_OPERATIONS} are needed"


def _behind(structure: Structure, last: str) -> set[str]:
    """An operation and everything it rests on."""
    by_id = {o.id: o for o in structure.operations}
    found: set[str] = set()
    pending = [last]
    while pending:
        if (name := pending.pop()) not in found:
            found.add(name)
            pending += by_id[name].needs
    return found


def ordered(structure: Structure) -> tuple[str, ...]:
    """Operations with their prerequisites first; those in a circle are left out."""
    done: list[str] = []
    waiting = list(structure.operations)
    while ready := [o for o in waiting if set(o.needs) <= set(done)]:
        done += [o.id for o in ready]
        waiting = [o for o in waiting if o not in ready]
    return tuple(done)


def satisfied_by(structure: Structure, plan: Sequence[str]) -> bool:
    """Whether a plan (operations in the order they were done) does everything, each after what it needs."""
    at = {name: i for i, name in enumerate(plan)}
    return all(o.id in at and all(at.get(n, len(plan)) < at[o.id] for n in o.needs) for o in structure.operations)


def supported(structure: Structure, sources: set[str]) -> Structure | None:
    """The largest part that the sources carry: evidence closure (C-06). None where nothing worth a task is left."""
    kept: list[Operation] = []
    by_id = {o.id: o for o in structure.operations}
    for name in ordered(structure):
        operation = by_id[name]
        if set(operation.sources) <= sources and set(operation.needs) <= {o.id for o in kept}:
            kept.append(operation)
    smaller = Structure(operations=tuple(kept))
    return smaller if kept and not structure_faults(smaller) else None
