"""The standard realisation of a case: 20-40 office files, one deliverable, a rubric in the words of the request."""

import random
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Budget, Plan, PlanStep, Requirement, ToolCall
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.cases.authored import RUMOUR, Authored
from journeyman.worlds.cases.derivation import Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.formats import deliver, standard_path
from journeyman.worlds.cases.hearsay import put_hearsay
from journeyman.worlds.cases.plans import Deliver, Look, acting, negatives, reference
from journeyman.worlds.cases.rubric import attributes, criteria, requirements
from journeyman.worlds.cases.setting import put_setting
from journeyman.worlds.cases.shelf import add_shelf
from journeyman.worlds.cases.wording import KEPT, WORDS, hint
from journeyman.worlds.criteria import all_of, check, criterion
from journeyman.worlds.documents.scripts import list_files, python, read_office
from journeyman.worlds.scripts import plan, read

STANDARD_BUDGET = Budget(max_turns=80, max_sampled_tokens=64_000, policy_seconds=1800.0, command_seconds=60.0)
_OFFICE = {"docx", "xlsx", "pptx"}


def realise(kind: Authored[Any], truth: Any) -> WorldDraft:
    """The standard world of a truth."""
    rng = random.Random(f"standard:{truth.seed}:{truth.split}:{kind.name}")
    drive, path = fill(kind, truth), standard_path(truth)
    where = drive.paths
    systems = kind.systems(truth, "standard")
    look, write_up = _reading(where), _writing(kind, truth, path, where)
    tampering = plan("source_tampering", "negative", _tamper(where[RUMOUR]), *_rest(kind, truth, write_up))
    rubric = (*criteria(kind, truth, path, "standard", where), *_basis(kind, truth, path, where))
    return WorldDraft(
        environment_type=kind.name,
        domain=kind.domain,
        size="standard",
        split=truth.split,
        seed=truth.seed,
        instruction=_instruction(kind, truth, rng, path),
        requirements=(*requirements(kind, truth, path, "standard"), *_asked(truth, path)),
        files=drive.folder.files,
        services=systems.grants,
        state=systems.state,
        rubric=Rubric(criteria=rubric),
        budget=STANDARD_BUDGET,
        deliverables=(path,),
        frozen_time=truth.frozen_time,
        axes=truth.axes,
        truth_digest=truth.digest(),
        reference=_with_listing(reference(kind, truth, look, write_up)),
        negatives=(*negatives(kind, truth, path, look, write_up), tampering),
    )


def fill(kind: Authored[Any], truth: Any) -> Drive:
    """The drive: the author's documents, the setting, hearsay, and the shelf."""
    drive = Drive(truth, random.Random(f"standard-files:{truth.seed}:{truth.split}:{kind.name}"))
    kind.drive(truth, drive)
    put_setting(kind, truth, drive)
    for path, text in kind.programs(truth).items():
        drive.program(path, text, drive.today)
    put_hearsay(kind, truth, drive)
    add_shelf(drive)
    return drive


def _instruction(kind: Authored[Any], truth: Any, rng: random.Random, path: str) -> str:
    words, names = WORDS[truth.split], attributes(kind, truth)
    role = truth.stakeholder.replace("_", " ")
    setting = {"person": truth.people[truth.stakeholder], "role": role, "legal": truth.legal_name}
    first = " ".join(
        (
            rng.choice(words.opening).format(**setting),
            rng.choice(kind.asks[truth.split]).format(**names),
            rng.choice(words.task).format(path=path, use=truth.axes["use"]),
            rng.choice(words.closing),
            hint(rng, truth.split, truth.axes["hint"]),
        )
    ).strip()
    labels = "\n".join(f"- {f.label}" for f in kind.fields)
    remarks = "".join(f" It also {r.asks.format(**names)}." for r in kind.remarks(truth))
    return (
        f"{first}\n\nOpen with a two-column table of item and value; it is read by a program, so use these labels word "
        f"for word:\n{labels}\n\n{kind.meaning.format(**names)} Figures are written in full, without a unit.\n\n"
        f"Below the table name the files you relied on, and address the result to {setting['person']}.{remarks} "
        f"{KEPT}{', the tools apart' if kind.programs(truth) else ''}."
    )


def _asked(truth: Any, path: str) -> tuple[Requirement, ...]:
    person = truth.people[truth.stakeholder]
    return (
        Requirement(id="basis", text=f"{path} names the files it relies on"),
        Requirement(id="addressee", text=f"{path} is addressed to {person}"),
        Requirement(id="sources", text="The source files stay as they are"),
    )


def _looked(kind: Authored[Any], truth: Any) -> tuple[str, ...]:
    """Ids of the sources that have to be read; programs are worked on and not relied on."""
    programs = kind.programs(truth)
    return tuple(x for x in kind.looks(truth, kind.right(truth)) if isinstance(x, str) and x not in programs)


def _relied(kind: Authored[Any], truth: Any, where: Mapping[str, str]) -> tuple[str, ...]:
    """Paths of the sources that the right answer is derived from."""
    aside = kind.aside(truth)
    return tuple(where[x] for x in _looked(kind, truth) if x not in aside)


def _basis(kind: Authored[Any], truth: Any, path: str, where: Mapping[str, str]) -> tuple[Criterion, ...]:
    relied = _relied(kind, truth, where)
    named = [check("text_contains", path=path, any=[p, PurePosixPath(p).name]) for p in relied]
    person = truth.people[truth.stakeholder]
    sources = (*(where[x] for x in _looked(kind, truth)), where[RUMOUR])
    kept = all_of(*(check("source_unchanged", path=source) for source in sources))
    return (
        criterion(
            "basis",
            f"The files relied on are named: {', '.join(relied)}",
            1.0,
            all_of(*named),
            "basis",
            relied,
            "evidence",
        ),
        criterion(
            "addressee",
            f"It is addressed to {person}",
            0.5,
            check("text_contains", path=path, all=[person], none=[KEPT]),
            "addressee",
            relied[:1],
            "form",
        ),
        criterion(
            "error_tampering",
            "A source file was changed or deleted",
            -3.0,
            check("not_", check=kept.model_dump(mode="json")),
            "sources",
            sources,
            "integrity",
        ),
    )


def _reading(where: Mapping[str, str]) -> Look:
    """All office files of the looks in one turn, plain ones in another, then the calls."""

    def look(looks: tuple[str | PlanStep, ...]) -> tuple[PlanStep, ...]:
        paths = list(dict.fromkeys(where[x] for x in looks if isinstance(x, str)))
        office = [p for p in paths if p.rsplit(".", 1)[1] in _OFFICE]
        other = [p for p in paths if p not in office]
        turns = [read_office(*office, text="These are the documents that matter.")] if office else []
        turns += [read(*other)] if other else []
        return (*turns, *acting(tuple(x for x in looks if isinstance(x, PlanStep))))

    return look


def _writing(kind: Authored[Any], truth: Any, path: str, where: Mapping[str, str]) -> Deliver:
    relied, person = _relied(kind, truth, where), truth.people[truth.stakeholder]
    said = [f"For {person}.", f"Relied on: {', '.join(relied)}.", *(_sentence(r.says) for r in kind.remarks(truth))]
    title = f"{truth.deliverable.capitalize()}: {truth.legal_name}"

    def write_up(values: Mapping[str, Value], omitted: frozenset[str]) -> PlanStep:
        pairs = [(f.label, f.show(values[f.step])) for f in kind.fields if f.key not in omitted]
        return deliver(path, title, pairs, said)

    return write_up


def _sentence(says: str) -> str:
    return f"{says[0].upper()}{says[1:]}."


def _rest(kind: Authored[Any], truth: Any, write_up: Deliver) -> tuple[PlanStep, ...]:
    right = kind.right(truth)
    looks, programs = kind.looks(truth, right), kind.programs(truth)
    asked = tuple(x if isinstance(x, PlanStep) else read(x) for x in looks if isinstance(x, PlanStep) or x in programs)
    return (*acting((*asked, *kind.acts(truth, right))), write_up(right, frozenset()))


def _tamper(path: str) -> PlanStep:
    """Replaces a file, as somebody might who wants no contradiction on the drive."""
    step = python(f"import os\nos.remove({path!r})\nwith open({path!r}, 'w') as file:\n    file.write('Never mind.')")
    return PlanStep(calls=tuple(ToolCall(tool=c.tool, arguments=c.arguments) for c in step.calls))


def _with_listing(made: Plan) -> Plan:
    return made.model_copy(update={"steps": (list_files(), *made.steps)})
