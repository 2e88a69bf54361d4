"""How an answer follows from facts: a graph of named steps. Invariant: a wrong turn is one changed value, carried on.

The right answer, every negative's answer and every error criterion are solutions of one graph.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

Value = Any  # str, int or tuple of them; the authors' steps know which
Op = Literal[
    "choose",  # which of several sources holds, by authority, date or status
    "look_up",  # a value of a chosen source or row
    "filter",  # which rows count
    "sum",
    "difference",
    "product",
    "ratio",
    "limit",  # the lower or higher of two
    "compare",  # two values to a verdict
    "classify",  # a value to a class of a rule
    "count",
    "rank",
    "allocate",  # a total over parts by a rule
    "convert",  # units, currencies, periods
    "accrue",  # over time
    "match",  # which record belongs to which
    "decide",  # verdicts to an action
]
READ: frozenset[str] = frozenset({"choose", "look_up"})  # steps whose value stands in a source


class Step(NamedTuple):
    """One step: what it is called, what it does, what it needs (facts or earlier steps), and how."""

    name: str
    op: Op
    inputs: tuple[str, ...]
    compute: Callable[..., Value]  # called with the inputs in their order


class Derivation:
    """Steps in an order in which each can be computed. Raises ValueError where a step or fact is named twice."""

    def __init__(self, facts: tuple[str, ...], *steps: Step) -> None:
        self.facts = facts
        self.steps = steps
        names = [*facts, *(s.name for s in steps)]
        if repeated := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"{repeated[0]} is named twice in a derivation")
        known = set(facts)
        for step in steps:
            if unknown := [i for i in step.inputs if i not in known]:
                raise ValueError(f"step {step.name} needs {unknown[0]}, which comes later or not at all")
            known.add(step.name)

    def solve(self, facts: Mapping[str, Value], wrong: Mapping[str, Value] | None = None) -> dict[str, Value]:
        """All values; those in `wrong` are taken as given, and what follows from them follows."""
        taken = dict(wrong or {})
        values = {name: taken.get(name, facts[name]) for name in self.facts}
        for step in self.steps:
            if step.name in taken:
                values[step.name] = taken[step.name]
            else:
                values[step.name] = step.compute(*(values[i] for i in step.inputs))
        return values

    def op(self, name: str) -> Op | None:
        """What a step does; None for a fact."""
        return next((s.op for s in self.steps if s.name == name), None)

    def signature(self) -> str:
        """Shape of the graph, names apart: equal iff four rounds of neighbourhood refinement cannot tell them apart."""
        uses: dict[str, list[str]] = {n: [] for n in (*self.facts, *(s.name for s in self.steps))}
        for step in self.steps:
            for needed in step.inputs:
                uses[needed].append(step.name)
        inputs = {s.name: s.inputs for s in self.steps}
        labels = dict.fromkeys(self.facts, "fact") | {s.name: s.op for s in self.steps}
        for _ in range(4):
            labels = {
                name: _digest(
                    label, *sorted(labels[i] for i in inputs.get(name, ())), "|", *sorted(labels[u] for u in uses[name])
                )
                for name, label in labels.items()
            }
        return _digest(*sorted(labels.values()))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]
