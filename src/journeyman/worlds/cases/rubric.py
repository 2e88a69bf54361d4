"""The rubric of a case: credit for each field of the right solution, one error for each trap's, claims and remarks.

Invariant: an error's value is never one that earns credit; generation fails where an author's trap does not show.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from journeyman.records.rubric import Check, Criterion
from journeyman.records.task import Requirement, Size
from journeyman.worlds.cases.authored import Authored
from journeyman.worlds.cases.derivation import Value
from journeyman.worlds.cases.model import Field, Remark
from journeyman.worlds.cases.wording import KEPT
from journeyman.worlds.criteria import all_of, check, criterion, field, none_of

Where = Mapping[str, str]  # source id -> path


def attributes(kind: Authored[Any], truth: Any) -> dict[str, Any]:
    """What templates may name: the solution's values and the truth's attributes."""
    return {**kind.right(truth), **truth.__dict__}


def accepted(f: Field, value: Value) -> tuple[str, ...]:
    """Spellings of a field's value that earn credit."""
    return (f.show(value), *f.also)


def places(sources: tuple[str, ...], where: Where, names: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of source ids; "service.table.{name}" is a record. Raises KeyError for an unknown id."""
    return tuple(dict.fromkeys(s.format(**names) if "." in s else where[s] for s in sources))


def shown(kind: Authored[Any], truth: Any, wrong: dict[str, Value]) -> dict[str, str]:
    """What the deliverable says, by key, of somebody who takes `wrong` for true."""
    values = kind.derivation.solve(kind.facts(truth), wrong)
    return {f.key: f.show(values[f.step]) for f in kind.fields}


def criteria(kind: Authored[Any], truth: Any, path: str, size: Size, where: Where) -> Iterator[Criterion]:
    """Credits and errors on the deliverable, then claims on the systems."""
    values, names = kind.right(truth), attributes(kind, truth)
    by_key = {f.key: f for f in kind.fields}
    for f in kind.fields:
        value = values[f.step]
        said = f.says.format(**{**names, "value": f.show(value)})
        label = f.key if size == "compact" else f.label
        decide = field(path, label, *dict.fromkeys(accepted(f, value)))
        yield criterion(f.key, said, f.weight, decide, f.key, places(f.sources, where, names), f.group)
    for trap in kind.traps(truth):
        f = by_key[trap.tell]
        value = shown(kind, truth, {trap.step: trap.value})[trap.tell]
        if value in accepted(f, values[f.step]):
            raise ValueError(f"{kind.name} {truth.split} {truth.seed}: trap {trap.name} does not show in {trap.tell}")
        said = trap.says.format(**{**names, "value": value})
        decide = field(path, f.key if size == "compact" else f.label, value)
        yield criterion(
            f"error_{trap.name}", said, trap.weight, decide, f.key, places(trap.sources, where, names), trap.kind
        )
    for claim in kind.claims(truth):
        said = claim.says.format(**names)
        yield criterion(
            claim.id,
            said,
            claim.weight,
            claim.decide,
            requirement_of(kind, truth, claim.asks),
            places(claim.sources, where, names),
            claim.group,
        )
    if size == "standard":
        for remark in kind.remarks(truth):
            said = f"It says that {remark.says}"
            where_from = places(remark.sources, where, names)
            yield criterion(remark.id, said, remark.weight, stated(remark, path), remark.id, where_from, "words")


def stated(remark: Remark, path: str) -> Check:
    """The check that a deliverable states a remark."""
    words = {"holds": list(remark.holds), "fails": list(remark.fails)}
    about = [list(group) for group in remark.about]
    decide = check("states", path=path, about=about, rivals=list(remark.rivals), true=remark.true, none=[KEPT], **words)
    if not remark.alone:
        return decide
    other = check("states", path=path, about=[list(remark.rivals)], rivals=about[0], true=remark.true, **words)
    return all_of(decide, none_of(other))


def requirement_of(kind: Authored[Any], truth: Any, asks: str) -> str:
    """Id of the requirement that claims of these words share."""
    return f"act_{list(dict.fromkeys(c.asks for c in kind.claims(truth))).index(asks) + 1}"


def requirements(kind: Authored[Any], truth: Any, path: str, size: Size) -> Iterator[Requirement]:
    """One requirement a field, one for each thing to be done, one for each remark."""
    names = attributes(kind, truth)
    for f in kind.fields:
        yield Requirement(id=f.key, text=f"{path} gives the {f.label[0].lower()}{f.label[1:]}")
    for asks in dict.fromkeys(c.asks for c in kind.claims(truth)):
        yield Requirement(id=requirement_of(kind, truth, asks), text=asks.format(**names))
    if size == "standard":
        for remark in kind.remarks(truth):
            yield Requirement(id=remark.id, text=f"{path} {remark.asks.format(**names)}")
