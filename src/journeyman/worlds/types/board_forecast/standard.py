"""The board forecast in standard size: some thirty office files, one Word deliverable, a rubric in public words."""

import random
from typing import NamedTuple

from journeyman.records.rubric import Check, Criterion, Rubric
from journeyman.records.task import Budget, Requirement, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.criteria import all_of, any_of, check, criterion, field
from journeyman.worlds.documents.folder import day
from journeyman.worlds.types.board_forecast import standard_plans as plans
from journeyman.worlds.types.board_forecast.standard_files import build, model_path
from journeyman.worlds.types.board_forecast.standard_scene import METRIC_NAMES, Scene, scene
from journeyman.worlds.types.board_forecast.truth import BoardForecastTruth

STANDARD_BUDGET = Budget(max_turns=80, max_sampled_tokens=64_000, policy_seconds=1800.0, command_seconds=60.0)


class Phrases(NamedTuple):
    """How a request is worded in a split."""

    opening: tuple[str, ...]
    task: tuple[str, ...]
    closing: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        (
            "You support the CFO of {legal}. The board met on {board}.",
            "{cfo}, CFO of {legal}, needs a paper after the board meeting of {board}.",
        ),
        (
            "Prepare the forecast {doc} ({stage}) for {year} from the documents on this drive and save it as {path}.",
            "Please write the forecast {doc} for {year}, to be used for the {stage}, from what is on this drive. Save "
            "it as {path}.",
        ),
        (
            "Where documents disagree, follow the rules of the board and say so.",
            "Documents on the drive contradict each other; decide by the board's own rules and name the conflict.",
        ),
    ),
    "validation": Phrases(
        ("After the board of {legal} met on {board}, its CFO asks for your help.",),
        ("Draft the {year} forecast {doc} for the {stage} in {path}, using the files here.",),
        ("Not all files can be right. Apply the board's rules and report what does not fit.",),
    ),
    "heldout": Phrases(
        (
            "{legal} held a board meeting on {board}; the finance team is short of hands.",
            "The finance team of {legal} owes a paper that follows the board meeting of {board}.",
        ),
        (
            "Put together the {doc} on the {year} forecast for the {stage}. The result belongs in {path}; everything "
            "you need is in this folder.",
            "We need the {doc} on the forecast of {year} ({stage}). Use this folder and store the result as {path}.",
        ),
        (
            "Several papers conflict: let the governing documents decide and point the conflict out.",
            "Expect contradictions, settle them by the documents that govern, and make them visible.",
        ),
    ),
}


def standard(truth: BoardForecastTruth) -> WorldDraft:
    """The standard world of a truth."""
    setting = scene(truth)
    return WorldDraft(
        environment_type="finance.board_forecast",
        domain="finance",
        size="standard",
        split=truth.split,
        seed=truth.seed,
        instruction=_instruction(setting),
        requirements=_requirements(setting),
        files=build(setting).files,
        rubric=_rubric(setting),
        budget=STANDARD_BUDGET,
        deliverables=(plans.deliverable(setting),),
        frozen_time=truth.frozen_time,
        axes=truth.axes,
        truth_digest=truth.digest(),
        reference=plans.reference(setting),
        negatives=plans.negatives(setting),
    )


def _instruction(setting: Scene) -> str:
    t = setting.truth
    rng = random.Random(f"standard-words:finance:{t.split}:{t.seed}")
    words = PHRASES[t.split]
    values = {
        "legal": t.legal_name,
        "cfo": t.people["cfo"],
        "board": day(t.board_date),
        "doc": t.deliverable,
        "stage": t.axes["stage"].replace("_", "-"),
        "year": t.headline_year,
        "path": plans.deliverable(setting),
    }
    opening, task, closing = (rng.choice(part).format(**values) for part in words)
    labels = [key for key, _ in plans.key_facts(setting, plans.right(setting))]
    listed = "\n".join(f"- {label}" for label in labels)
    metrics = ", ".join(METRIC_NAMES[m] for m in t.metrics)
    return (
        f"{opening} {task}\n\n"
        f"The {t.deliverable} opens with a two-column table of key facts. Its first column carries these labels, word "
        f"for word, because the board portal reads them:\n{listed}\n\n"
        f"Give amounts in {t.currency} million as plain numbers; the change is the {t.headline_year} figure of the "
        "version you use less that of the superseded version. Name one audience per row. For the version not to be "
        "used, take the one that a note on the drive asks for, and give its status as the board decided it.\n\n"
        f"Then add a table of {metrics} for {t.years[0]} to {t.years[2]}, and short sections on basis (which decision "
        f"and which file), release (whose letter, of which day) and conflicts. {closing} Leave the source files as "
        "they are."
    )


def _requirements(setting: Scene) -> tuple[Requirement, ...]:
    path = plans.deliverable(setting)
    return (
        Requirement(id="version", text=f"{path} uses and names the version the board approved, with its resolution"),
        Requirement(id="figures", text=f"{path} gives the key figures of that version and the change"),
        Requirement(id="years", text=f"{path} gives the figures of three years"),
        Requirement(id="release", text=f"{path} names the cleared audience, the one waiting, and counsel's letter"),
        Requirement(id="conflict", text=f"{path} names the version not to be used and its status"),
        Requirement(id="sources", text="The source files stay as they are"),
    )


def _rubric(setting: Scene) -> Rubric:
    credit = (*_authority(setting), *_figures(setting), *_release(setting), *_conflict(setting))
    return Rubric(criteria=(*credit, *_errors(setting)))


def _figures(setting: Scene) -> tuple[Criterion, ...]:
    t, path, good = setting.truth, plans.deliverable(setting), plans.right(setting)
    approved, first = good.version, t.metrics[0]
    model = model_path(approved)
    change = f"{METRIC_NAMES[first]} change on superseded version"
    outer = [
        check("number_near", path=path, label=METRIC_NAMES[m], value=approved.by_year[year][m])
        for m in t.metrics
        for year in (t.years[0], t.years[2])
    ]
    return (
        *(
            criterion(
                f"figure_{m}", f"{METRIC_NAMES[m]} for {t.headline_year} is {approved.headline[m]}", 1.5,
                field(path, plans.figure_key(setting, m), approved.headline[m]), "figures", (model,),
            )
            for m in t.metrics
        ),
        criterion(
            "change", f"{METRIC_NAMES[first]} changes by {good.change} against the superseded version", 2.0,
            field(path, change, good.change), "figures", (model, model_path(t.version("superseded"))),
        ),
        criterion(
            "years", f"The figures of {t.years[0]} and {t.years[2]} are those of {approved.id}", 1.5,
            all_of(*outer), "years", (model,),
        ),
    )  # fmt: skip


def _authority(setting: Scene) -> tuple[Criterion, ...]:
    t, path, approved = setting.truth, plans.deliverable(setting), setting.truth.version("approved")
    model = model_path(approved)
    return (
        criterion(
            "version", f"The version used is {approved.id}, which the board approved", 3.0,
            field(path, "Forecast version", approved.id, f"forecast {approved.id}"), "version", (setting.minutes,),
            "authority",
        ),
        criterion(
            "resolution", f"The resolution named is {t.resolution}", 1.0,
            field(path, "Board resolution", t.resolution, f"resolution {t.resolution}"), "version",
            (setting.minutes, setting.resolution), "authority",
        ),
        criterion(
            "basis", f"The text names the day of the decision and the model file of {approved.id}", 1.0,
            all_of(
                check("text_contains", path=path, any=[day(t.board_date), t.board_date]),
                check("text_contains", path=path, any=[model, model.rsplit("/", 1)[1]]),
            ),
            "version", (setting.minutes, model), "evidence",
        ),
    )  # fmt: skip


def _release(setting: Scene) -> tuple[Criterion, ...]:
    t, path = setting.truth, plans.deliverable(setting)
    return (
        criterion(
            "cleared", f"The cleared audience is {t.cleared}", 3.0,
            field(path, "Cleared audience", t.cleared, f"the {t.cleared}"), "release", (setting.letter,), "authority",
        ),
        criterion(
            "held", f"The audience that waits for clearance is {t.held}", 2.0,
            field(path, "Audience awaiting clearance", t.held, f"the {t.held}"), "release", (setting.letter,),
            "authority",
        ),
        criterion(
            "letter", f"Counsel's letter is named with its firm and day ({t.counsel_date})", 1.0,
            all_of(
                check("text_contains", path=path, all=[t.counsel_firm]),
                check("text_contains", path=path, any=[day(t.counsel_date), t.counsel_date]),
            ),
            "release", (setting.letter,), "evidence",
        ),
    )  # fmt: skip


def _conflict(setting: Scene) -> tuple[Criterion, ...]:
    t, path, good = setting.truth, plans.deliverable(setting), plans.right(setting)
    return (
        criterion(
            "not_used", f"The version not to be used is {t.note_version}", 2.0,
            field(path, "Version not to be used", t.note_version, f"forecast {t.note_version}"), "conflict",
            (f"mail/{t.note_date}_use_{t.note_version}.eml",), "source",
        ),
        criterion(
            "not_used_status", f"Its status is {good.not_used_status}", 1.0,
            field(path, "Status of that version", good.not_used_status), "conflict", (setting.minutes,), "source",
        ),
    )  # fmt: skip


def _errors(setting: Scene) -> tuple[Criterion, ...]:
    t, path = setting.truth, plans.deliverable(setting)
    wrong = [v for v in t.versions if v.status != "approved"]
    stale = any_of(
        *(field(path, plans.figure_key(setting, m), *(v.headline[m] for v in wrong)) for m in t.metrics),
        field(path, "Forecast version", *(v.id for v in wrong)),
    )
    peer = any_of(*(field(path, plans.figure_key(setting, m), t.peer_headline[m]) for m in t.metrics))
    both = [f"{a} {word} {b}" for a, b in ((t.cleared, t.held), (t.held, t.cleared)) for word in ("and", "and the")]
    sources = [setting.minutes, setting.letter, f"mail/{t.note_date}_use_{t.note_version}.eml", setting.resolution]
    sources += [model_path(v) for v in t.versions]
    return (
        criterion(
            "error_stale", f"A figure or the name of {' or '.join(v.id for v in wrong)} is used", -3.0, stale,
            "figures", tuple(model_path(v) for v in wrong), "source",
        ),
        criterion(
            "error_peer", f"A figure of {t.peer} is given as the company's", -2.0, peer, "figures",
            (f"market/{t.peer.lower()}_results.pdf",), "source",
        ),
        criterion(
            "error_uncleared", f"The {t.held} are named as cleared", -4.0,
            field(path, "Cleared audience", t.held, f"the {t.held}", *both), "release",
            (setting.letter, setting.draft_letter), "authority",
        ),
        criterion(
            "error_resolution", f"Resolution {setting.previous_resolution}, which approved nothing, is cited", -1.0,
            field(path, "Board resolution", setting.previous_resolution), "version",
            (f"board/{setting.previous_date}_minutes_signed.docx",), "authority",
        ),
        criterion(
            "error_tampering", "A source file was changed or deleted", -3.0, _tampered(sources), "sources",
            tuple(sources), "integrity",
        ),
    )  # fmt: skip


def _tampered(sources: list[str]) -> Check:
    kept = all_of(*(check("source_unchanged", path=source) for source in sources))
    return check("not_", check=kept.model_dump(mode="json"))
