"""Generated errors: ways to do a task wrongly that follow from the task itself, one function each (T-06, E-07, G-07).

Invariant: deterministic; an error that cannot be told apart from the reference's own work is not generated, and why it
does not apply is said.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from journeyman.admission.rewriting import Change, rewritten
from journeyman.admission.variation import Sealed, ServiceCall, Work
from journeyman.grading.text import as_number, fold, invented, near, numbers_in
from journeyman.office.rendered import Rendered

PER_KIND = 4  # at most so many variants of one kind of error
_IDENTIFIER = re.compile(r"\b(?=[\w-]*\d)[A-Za-z][\w-]*\b")


@dataclass(frozen=True)
class Setting:
    """What errors are generated from: the sealed reference and what could be seen."""

    sealed: Sealed
    public_texts: Mapping[str, str]  # folded, by place
    rendered: Mapping[str, Rendered]  # visible files

    @cached_property
    def passages(self) -> tuple[str, ...]:
        """Visible lines and rows, folded."""
        return tuple(fold(line) for document in self.rendered.values() for line in document.lines)

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """Names with a digit that occur in what can be seen."""
        text = " ".join(self.public_texts.values())
        return tuple(dict.fromkeys(m.group(0) for m in _IDENTIFIER.finditer(text)))

    def rewrite(self, change: Change) -> Iterator[Work]:
        """The reference's work with `change` made to every deliverable, where it changes one."""
        work = self.sealed.work
        made = {p: rewritten(self.sealed.deliverables[p], data, change) for p, data in work.files.items()}
        if any(made.values()):
            yield work._replace(files={p: made[p] or data for p, data in work.files.items()})

    def others(self, service: str, argument: str, value: object) -> list[object]:
        """Other values that the service's tables hold in a column of this name, if `value` is one of them."""
        tables = self.sealed.state.get(service, {})
        held = [row[argument] for rows in tables.values() for row in rows if row.get(argument) is not None]
        return [v for v in dict.fromkeys(held) if v != value] if value in held else []


def constant(setting: Setting) -> Iterator[Work]:
    """The same empty answer in every field."""
    yield from setting.rewrite(lambda key, value: "0" if as_number(value) else "unknown")


def claim_only(setting: Setting) -> Iterator[Work]:
    """Everything was looked up, nothing was done."""
    work = setting.sealed.work
    yield Work({}, tuple(call for call in work.calls if not call.writes))


def omitted_write(setting: Setting) -> Iterator[Work]:
    """One of the files, or one kind of write, is left out."""
    work = setting.sealed.work
    for path in work.files:
        if path in setting.sealed.task.metadata.deliverables:
            yield work._replace(files={p: data for p, data in work.files.items() if p != path})
    for service, tool in dict.fromkeys((c.service, c.tool) for c in work.calls if c.writes):
        yield work._replace(calls=tuple(c for c in work.calls if (c.service, c.tool) != (service, tool)))


def duplicate_write(setting: Setting) -> Iterator[Work]:
    """A write that acts again when it is repeated is repeated."""
    calls = setting.sealed.work.calls
    for at, call in enumerate(calls):
        if call.writes and not call.repeatable:
            yield setting.sealed.work._replace(calls=(*calls[: at + 1], call, *calls[at + 1 :]))


def _misdirected(setting: Setting) -> Iterator[tuple[int, ServiceCall]]:
    """Each write of the reference on another record of the same table."""
    for at, call in enumerate(setting.sealed.work.calls):
        for argument, value in call.arguments.items() if call.writes else ():
            for other in setting.others(call.service, argument, value)[:1]:
                yield at, call._replace(arguments={**call.arguments, argument: other})


def wrong_entity(setting: Setting) -> Iterator[Work]:
    """A write on another record than the right one; a name of the same form in place of the right one."""
    calls = setting.sealed.work.calls
    for at, call in _misdirected(setting):
        yield setting.sealed.work._replace(calls=(*calls[:at], call, *calls[at + 1 :]))
    yield from setting.rewrite(lambda key, value: _alike(setting, value))


def _alike(setting: Setting, value: str) -> str | None:
    if not _IDENTIFIER.fullmatch(value):
        return None
    form = _form(fold(value))
    return next((i for i in setting.identifiers if _form(i) == form and i != fold(value)), None)


def _form(name: str) -> str:
    return re.sub(r"\d+", "9", name)


def unauthorised(setting: Setting) -> Iterator[Work]:
    """All is done right, and the same is done to a record that nobody asked about."""
    work = setting.sealed.work
    for _, call in _misdirected(setting):
        extra = work._replace(calls=(*work.calls, call))
        state, _ledger = setting.sealed.replayed(extra.calls)
        if state != setting.sealed.evidence.state:
            yield extra


def stale_source(setting: Setting) -> Iterator[Work]:
    """Every figure is one that stands beside the same label elsewhere in the material."""

    def other(key: str, value: str) -> str | None:
        number = as_number(value)
        words = re.findall(r"[a-z]{3,}", fold(key))
        if number is None or not words:
            return None
        for line in setting.passages:
            if all(word in line for word in words[:2]):
                for found in numbers_in(line):
                    if not near(found, number, 0.0):
                        return str(found.value)
        return None

    yield from setting.rewrite(other)


def fabricated(setting: Setting) -> Iterator[Work]:
    """Every figure is invented: near the right one, in none of the sources."""

    def other(key: str, value: str) -> str | None:
        number = as_number(value)
        return None if number is None else str(invented(number.value))

    yield from setting.rewrite(other)


KINDS: dict[str, Callable[[Setting], Iterator[Work]]] = {
    "constant": constant,
    "claim_only": claim_only,
    "stale_source": stale_source,
    "wrong_entity": wrong_entity,
    "omitted_write": omitted_write,
    "duplicate_write": duplicate_write,
    "unauthorised": unauthorised,
    "fabricated": fabricated,
}


def generated(setting: Setting) -> Iterator[tuple[str, Work]]:
    """(kind or kind-N, work) of every error that can be generated for the task, distinct from the reference's work."""
    for kind, make in KINDS.items():
        found = (work for work in make(setting) if work != setting.sealed.work)
        for number, work in enumerate(islice(found, PER_KIND)):
            yield (f"{kind}-{number + 1}" if number else kind), work
