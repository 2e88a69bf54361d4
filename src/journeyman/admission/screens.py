"""Detectors of shortcuts in a task, by name: a registry that grows whenever training confirms another exploit (G-12).

Invariant: a detector reads a setting and says what it found, one line each. Adding one changes `identity()`, so that
what was screened before is known to be screened by less.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from journeyman.admission.mutations import Setting
from journeyman.admission.variation import Work
from journeyman.grading.programs import programs
from journeyman.grading.text import EXACT, as_number, fold
from journeyman.office.rendered import kind_of
from journeyman.records.base import canonical_json, sha256_hex

HALF = 0.5  # of the reference's reward: more than this for a deliverable that decides nothing is a shortcut
_GRADING = re.compile(
    r"\b(rubric\.json|reference\.json|tests?/test\.sh|answer key|grading (?:key|rubric)|reward model)\b"
)
_TO_A_JUDGE = re.compile(
    r"\b(ignore (?:all |any )?(?:previous|prior|above) instructions|mark (?:all|every|each) criteri(?:a|on) (?:as )?met"
    r"|(?:award|give) (?:this|it) full (?:marks|credit)|you are (?:the|a) (?:judge|grader))\b"
)
_TEXT = frozenset({"txt", "md", ""})


def grading_disclosed(setting: Setting) -> Iterator[str]:
    """Something visible says how the work is graded."""
    yield from (
        f"{place} speaks of {m.group(0)!r}" for place, t in setting.public_texts.items() if (m := _GRADING.search(t))
    )


def words_to_a_judge(setting: Setting) -> Iterator[str]:
    """Something visible is addressed to whoever grades."""
    yield from (
        f"{place} says {m.group(0)!r}" for place, t in setting.public_texts.items() if (m := _TO_A_JUDGE.search(t))
    )


def everything_handed_in(setting: Setting) -> Iterator[str]:
    """All material, copied into the deliverable, earns more than half."""
    work, lines = setting.sealed.work, [line for d in setting.rendered.values() for line in d.lines]
    dump = "\n".join(lines).encode()
    made = {path: dump for path in work.files if kind_of(path) in _TEXT}
    if made:
        yield from _paid(setting, "all material copied into the deliverable", {**work.files, **made})


def every_answer_given(setting: Setting) -> Iterator[str]:
    """Each figure beside others that could be meant earns more than half."""

    def hedge(key: str, value: str) -> str | None:
        number = as_number(value)
        return f"{value} / unknown" if number is None else f"{value} or {EXACT.add(number.value, 1)}"

    for work in setting.rewrite(hedge):
        yield from _paid(setting, "every field answered twice", work.files)


def backing_store(setting: Setting) -> Iterator[str]:
    """A visible file holds the rows of a system of record, so that nothing has to be asked of it."""
    for service, tables in setting.sealed.state.items():
        for name, rows in tables.items():
            told = [fold(json.dumps(row)) for row in rows]
            for path, text in setting.public_texts.items() if len(told) > 1 else ():
                if all(row in text for row in told):
                    yield f"{path} holds all rows of {service}.{name}"
    for path, document in setting.rendered.items():
        if document.plain.startswith("SQLite format 3"):
            yield f"{path} is a database"


def _paid(setting: Setting, what: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """A fault where `files`, with nothing done in any system of record or to any program, earn more than half."""
    sealed = setting.sealed
    run = {program.path for program in programs(sealed.task.rubric)}
    files = {path: data for path, data in files.items() if path not in run}
    looked_up = tuple(call for call in sealed.work.calls if not call.writes)
    reward = sealed.reward_of(sealed.verdicts_of(Work(files, looked_up)))
    if reward > HALF * sealed.reward:
        yield f"{what} earns {reward:.3f} of {sealed.reward:.3f}"


DETECTORS: dict[str, Callable[[Setting], Iterator[str]]] = {
    "grading_disclosed": grading_disclosed,
    "words_to_a_judge": words_to_a_judge,
    "everything_handed_in": everything_handed_in,
    "every_answer_given": every_answer_given,
    "backing_store": backing_store,
}


def identity() -> str:
    """sha256 of the detectors' names: changes whenever one is added."""
    return sha256_hex(canonical_json(sorted(DETECTORS)))


def screened(setting: Setting) -> list[str]:
    """What the detectors find, one line each."""
    return [f"{name}: {found}" for name, detect in DETECTORS.items() for found in detect(setting)]
