"""The board forecast as short text files, one per version: which figures are used is decided by which file is read."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Requirement, Split
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, WorldDraft, text_file
from journeyman.worlds.criteria import any_of, criterion, field
from journeyman.worlds.types.board_forecast import plans
from journeyman.worlds.types.board_forecast.truth import BoardForecastTruth

INDEX, COUNSEL, NOTE = plans.SOURCES


class Phrases(NamedTuple):
    """Sentence templates of a split; one of each is drawn per world."""

    ask: tuple[str, ...]
    write: tuple[str, ...]
    approved: tuple[str, ...]
    superseded: tuple[str, ...]
    withdrawn: tuple[str, ...]
    board_release: tuple[str, ...]
    cleared: tuple[str, ...]
    pending: tuple[str, ...]
    note_head: tuple[str, ...]
    note_use: tuple[str, ...]
    figure: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        ask=(
            "{company} needs its forecast {doc} for the board.",
            "Please prepare the forecast {doc} of {company} for the board.",
            "Write the {year} forecast {doc} that the board of {company} will read.",
            "We owe the board of {company} a forecast {doc}.",
        ),
        write=(
            "Read {files}. Write {path} with one line each for {keys}.",
            "The sources are {files}. Put one line each for {keys} in {path}.",
            "Use {files} and write {path} with these lines: {keys}.",
        ),
        approved=(
            "board approved {v}",
            "the board approved {v} on {date}",
            "approved {v} by the board",
            "approved {v}",
        ),
        superseded=("superseded {v}", "superseded {v} since {why}", "file superseded {v}"),
        withdrawn=("withdrawn {v}", "withdrawn {v} since {why}", "file withdrawn {v}"),
        board_release=("board wants release to {a}", "the board says release to {a}", "release to {a} by the board"),
        cleared=("counsel cleared {a}", "we cleared {a} to see {v}", "cleared {a} for {v}", "{firm} cleared {a}"),
        pending=("pending {a} for now", "still pending {a}", "pending {a} until we have read it"),
        note_head=("from {who} the {role}", "note of the {role} {who}", "{who} the {role} writes"),
        note_use=("please use {v} in the {doc}", "I would use {v}", "use {v} and not the other"),
        figure=("{m} {n}", "{m} {n} million", "the {m} {n}"),
    ),
    "validation": Phrases(
        ask=("Prepare the {doc} on the forecast of {company} for its board.", "A forecast {doc} is due at {company}."),
        write=("Read {files} first. Then write {path} with a line for each of {keys}.",),
        approved=("on {date} the board approved {v}", "the file approved {v}"),
        superseded=("superseded {v} for now",),
        withdrawn=("withdrawn {v} for now",),
        board_release=("the board will release to {a}",),
        cleared=("on {v} counsel cleared {a}",),
        pending=("{firm} has pending {a}",),
        note_head=("the {role} {who} wrote",),
        note_use=("let us use {v}",),
        figure=("our {m} {n}",),
    ),
    "heldout": Phrases(
        ask=(
            "The board of {company} will read a forecast {doc} of {year}.",
            "For the board of {company}, prepare a {doc} on its forecast.",
            "{company} has a board and it needs the forecast {doc}.",
        ),
        write=(
            "Use the sources {files}. Then write one line each for {keys} in {path}.",
            "Please read {files} and put these lines in {path}: {keys}.",
        ),
        approved=("for us the board approved {v}", "since {date} approved {v}"),
        superseded=("by now superseded {v}", "since then superseded {v}"),
        withdrawn=("by now withdrawn {v}", "since then withdrawn {v}"),
        board_release=("please release to {a} says the board", "the board has in mind release to {a}"),
        cleared=("by {firm} cleared {a}", "the counsel has cleared {a}"),
        pending=("we have pending {a}", "for {v} pending {a}"),
        note_head=("{role} {who} says", "this is from the {role} {who}"),
        note_use=("please use {v} for now", "we would use {v}"),
        figure=("for us {m} {n}", "in all {m} {n}"),
    ),
}


def realise(truth: BoardForecastTruth) -> WorldDraft:
    """The compact world of a truth."""
    rng = random.Random(f"compact:{truth.seed}:{truth.split}:finance.board_forecast")
    phrases = PHRASES[truth.split]
    path = plans.deliverable(truth)
    keys = plans.keys(truth)
    ask = rng.choice(phrases.ask).format(company=truth.company, doc=truth.deliverable, year=truth.headline_year)
    how = rng.choice(phrases.write).format(
        files=_names(truth), path=path, keys=f"{', '.join(keys[:-1])} and {keys[-1]}"
    )
    meaning = (
        "Version is the one that the board approved, cleared is whom counsel cleared, "
        "conflict is the version that the note would use instead."
    )
    return WorldDraft(
        environment_type="finance.board_forecast",
        domain="finance",
        size="compact",
        split=truth.split,
        seed=truth.seed,
        instruction=f"{ask} {how} {meaning}",
        requirements=_requirements(truth, path),
        files=_files(truth, rng, phrases),
        rubric=_rubric(truth, path),
        budget=COMPACT_BUDGET,
        deliverables=(path,),
        frozen_time=truth.frozen_time,
        axes=truth.axes,
        truth_digest=truth.digest(),
        reference=plans.reference(truth),
        negatives=plans.negatives(truth),
    )


def _names(truth: BoardForecastTruth) -> str:
    """The sources, as the instruction lists them."""
    *names, last = (*plans.SOURCES, *(plans.figures_of(v) for v in truth.versions))
    return f"{', '.join(names)} and {last}"


def _files(truth: BoardForecastTruth, rng: random.Random, phrases: Phrases) -> dict[str, FileDraft]:
    approved = truth.version("approved")
    index = [
        rng.choice(getattr(phrases, v.status)).format(v=v.id, date=v.dated[5:], why=v.dated[5:]) for v in truth.versions
    ]
    rng.shuffle(index)
    index.append(rng.choice(phrases.board_release).format(a=truth.held))
    figure = rng.choice(phrases.figure)
    counsel = [
        rng.choice(phrases.cleared).format(a=truth.cleared, v=approved.id, firm=truth.counsel_firm),
        rng.choice(phrases.pending).format(a=truth.held, v=approved.id, firm=truth.counsel_firm),
    ]
    rng.shuffle(counsel)
    note = [
        rng.choice(phrases.note_head).format(who=truth.people[truth.note_author], role=truth.note_author),
        rng.choice(phrases.note_use).format(v=truth.note_version, doc=truth.deliverable),
    ]
    texts = {
        INDEX: ([f"{truth.company} forecast index", *index], truth.board_date),
        COUNSEL: ([f"{truth.counsel_firm} for {truth.company}", *counsel], truth.counsel_date),
        NOTE: (note, truth.note_date),
    }
    for version in truth.versions:
        rows = [figure.format(m=m, n=n) for m, n in version.headline.items()]
        texts[plans.figures_of(version)] = (
            [f"{truth.company} {truth.currency} million {version.id}", *rows],
            version.dated,
        )
    return {name: text_file(body, as_of) for name, (body, as_of) in texts.items()}


def _requirements(truth: BoardForecastTruth, path: str) -> tuple[Requirement, ...]:
    return (
        Requirement(id="version", text=f"{path} names the forecast version that the board approved"),
        Requirement(id="figures", text=f"{path} gives {', '.join(truth.metrics)} of that version"),
        Requirement(id="cleared", text=f"{path} names those whom counsel cleared"),
        Requirement(id="conflict", text=f"{path} names the version that the note would use instead"),
    )


def _rubric(truth: BoardForecastTruth, path: str) -> Rubric:
    return Rubric(criteria=(*_credits(truth, path), *_errors(truth, path)))


def _credits(truth: BoardForecastTruth, path: str) -> Iterator[Criterion]:
    right, asked = truth.version("approved"), truth.note_version
    said = f"The version used is {right.id}, which the board approved"
    yield criterion("version", said, 2.0, field(path, "version", right.id), "version", (INDEX,), "authority")
    for m, n in right.headline.items():
        said = f"The {m} given is {n}, that of {right.id}"
        yield criterion(f"figure_{m}", said, 1.0, field(path, m, n), "figures", (INDEX, plans.figures_of(right)))
    said = f"Those cleared are {truth.cleared}, whom counsel cleared"
    yield criterion("cleared", said, 3.0, field(path, "cleared", truth.cleared), "cleared", (COUNSEL,), "authority")
    said = f"The conflict flagged is {asked}, which the note would use instead of {right.id}"
    yield criterion("conflict", said, 2.0, field(path, "conflict", asked), "conflict", (INDEX, NOTE), "source")


def _errors(truth: BoardForecastTruth, path: str) -> Iterator[Criterion]:
    wrong = [v for v in truth.versions if v.status != "approved"]
    stale = any_of(*(field(path, m, *(v.headline[m] for v in wrong)) for m in truth.metrics))
    said = f"A figure of a superseded or withdrawn version ({', '.join(v.id for v in wrong)}) is given"
    yield criterion(
        "error_stale_figures", said, -1.0, stale, "figures", (INDEX, *(plans.figures_of(v) for v in wrong)), "source"
    )
    held = field(path, "cleared", truth.held)
    said = f"Named as cleared are {truth.held}, whom the board wants and counsel has not cleared"
    yield criterion("error_uncleared_release", said, -3.0, held, "cleared", (INDEX, COUNSEL), "authority")
