"""Plans of a case: the reference, a negative for each named error, the imperfect expert; all from one derivation."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.cases.authored import RUMOUR, Authored
from journeyman.worlds.cases.derivation import Value
from journeyman.worlds.cases.steps import as_declared
from journeyman.worlds.scripts import embellish, lines, plan, read, say, write

Look = Callable[[tuple[str | PlanStep, ...]], tuple[PlanStep, ...]]  # looks -> turns
Deliver = Callable[[Mapping[str, Value], frozenset[str]], PlanStep]  # values, keys left out -> the writing turn
_OMITTED = (0.15, 0.4)  # how often the expert leaves out a field of the first half, and of the rest


def compact_path(truth: Any) -> str:
    """Path of the compact deliverable."""
    return f"{truth.deliverable}.txt"


def reading(paths: Mapping[str, str]) -> Look:
    """Looks at compact sources, one a turn."""
    return lambda looks: tuple(read(paths[x]) if isinstance(x, str) else as_declared(x) for x in looks)


def acting(acts: tuple[PlanStep, ...]) -> tuple[PlanStep, ...]:
    """Acts with arguments as their tools declare them."""
    return tuple(as_declared(step) for step in acts)


def writing(kind: Authored[Any], path: str) -> Deliver:
    """Writes the compact deliverable."""

    def deliver(values: Mapping[str, Value], omitted: frozenset[str]) -> PlanStep:
        return write(path, lines((f.key, f.show(values[f.step])) for f in kind.fields if f.key not in omitted))

    return deliver


def reference(kind: Authored[Any], truth: Any, look: Look, deliver: Deliver) -> Plan:
    """Full marks, no wasted word."""
    right = kind.right(truth)
    steps = (*look(kind.looks(truth, right)), *acting(kind.acts(truth, right)), deliver(right, frozenset()))
    return plan("reference", "reference", *steps, say("Done."))


def negatives(kind: Authored[Any], truth: Any, path: str, look: Look, deliver: Deliver) -> Iterator[Plan]:
    """Doing nothing, claiming only, each trap carried on, other acts, a field left out, a figure made up."""
    right, facts = kind.right(truth), kind.facts(truth)
    yield plan("no_op", "negative", say("There is nothing to do."))
    files = tuple(x for x in kind.looks(truth, right) if isinstance(x, str))
    yield plan("claim_only", "negative", *look(files), say(f"All of it is in {path} and done."))

    def carried(name: str, values: Mapping[str, Value], acts: tuple[PlanStep, ...], *omitted: str) -> Plan:
        steps = (*look(kind.looks(truth, values)), *acting(acts), deliver(values, frozenset(omitted)))
        return plan(name, "negative", *steps)

    for trap in kind.traps(truth):
        values = kind.derivation.solve(facts, {trap.step: trap.value})
        yield carried(trap.name, values, kind.acts(truth, values))
    for name, acts in kind.wrong_acts(truth).items():
        yield carried(name, right, acts)
    yield carried(f"omitted_{kind.fields[-1].key}", right, kind.acts(truth, right), kind.fields[-1].key)
    numeric = next((f for f in kind.fields if isinstance(right[f.step], int)), None)
    if numeric is not None:
        made_up = {**right, numeric.step: right[numeric.step] + 7}
        yield carried(f"fabricated_{numeric.key}", made_up, kind.acts(truth, right))


def demonstrate(kind: Authored[Any], truth: Any, rng: random.Random, name: str) -> Plan:
    """One run of the imperfect expert on the compact world."""
    wrong: dict[str, Value] = {}
    for trap in kind.traps(truth):
        if rng.random() < trap.chance:
            wrong.setdefault(trap.step, trap.value)
    values = kind.derivation.solve(kind.facts(truth), wrong)
    paths = {s.id: s.path for s in kind.sources(truth)} | {RUMOUR: f"{truth.axes['rumour']}.txt"}
    paths |= {p: p for p in kind.programs(truth)}
    steps = list(reading(paths)(kind.looks(truth, values)))
    if rng.random() < 0.3:
        steps.insert(rng.randrange(len(steps) + 1), read(paths[RUMOUR]))
    steps += _acts(kind, truth, values, rng)
    half = len(kind.fields) // 2
    omitted = frozenset(f.key for i, f in enumerate(kind.fields) if rng.random() < _OMITTED[i >= half])
    if len(omitted) == len(kind.fields):
        omitted = frozenset()
    steps.append(writing(kind, compact_path(truth))(values, omitted))
    return embellish(rng, name, tuple(steps))


def _acts(kind: Authored[Any], truth: Any, values: Mapping[str, Value], rng: random.Random) -> tuple[PlanStep, ...]:
    others = list(kind.wrong_acts(truth).values())
    if others and rng.random() < 0.4:
        return acting(rng.choice(others))
    return acting(kind.acts(truth, values))
