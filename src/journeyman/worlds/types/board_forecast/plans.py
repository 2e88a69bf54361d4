"""Plans for the compact board forecast: the reference, realistic errors, an expert who is right part of the time."""

import random

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.scripts import embellish, lines, plan, read, say, write
from journeyman.worlds.types.board_forecast.truth import BoardForecastTruth, ForecastVersion

SOURCES = ("index.txt", "counsel.txt", "note.txt")


class Decisions(Record):
    """What a memo says. None: the line is left out."""

    version: ForecastVersion
    figures: dict[str, int | None]
    cleared: str | None
    conflict: str | None


def deliverable(truth: BoardForecastTruth) -> str:
    """Path of the file to write."""
    return f"{truth.deliverable}.txt"


def figures_of(version: ForecastVersion) -> str:
    """Path of the version's figures."""
    return f"{version.id}.txt"


def readings(version: ForecastVersion, *, note: bool = True) -> tuple[PlanStep, ...]:
    """The turns that read what a memo on this version needs, one file each."""
    index, counsel, asked = SOURCES
    paths = (index, figures_of(version), counsel, *((asked,) if note else ()))
    return tuple(read(path) for path in paths)


def keys(truth: BoardForecastTruth) -> tuple[str, ...]:
    """Keys of the memo's lines, in order."""
    return ("version", *truth.metrics, "cleared", "conflict")


def right(truth: BoardForecastTruth) -> Decisions:
    """The memo as it should be."""
    approved = truth.version("approved")
    return Decisions(
        version=approved,
        figures=dict(approved.headline),
        cleared=truth.cleared,
        conflict=truth.note_version,
    )


def memo(truth: BoardForecastTruth, decided: Decisions) -> PlanStep:
    """The turn that writes the memo."""
    pairs: list[tuple[str, str | int]] = [("version", decided.version.id)]
    pairs += [(m, n) for m, n in decided.figures.items() if n is not None]
    pairs += [(key, v) for key, v in (("cleared", decided.cleared), ("conflict", decided.conflict)) if v is not None]
    return write(deliverable(truth), lines(pairs))


def reference(truth: BoardForecastTruth) -> Plan:
    """Full marks, no wasted word."""
    good = right(truth)
    return plan("reference", "reference", *readings(good.version), memo(truth, good), say("Done."))


def negatives(truth: BoardForecastTruth) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    good = right(truth)

    def with_memo(name: str, **changes: object) -> Plan:
        decided = good.model_copy(update=changes)
        return plan(name, "negative", *readings(decided.version), memo(truth, decided))

    stale, withdrawn = truth.version("superseded"), truth.version("withdrawn")
    invented = {m: n + 7 for m, n in good.figures.items() if n is not None}
    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan("claim_only", "negative", *readings(good.version), say(f"I have written {deliverable(truth)}.")),
        with_memo("stale_source", version=stale, figures=dict(stale.headline)),
        with_memo("withdrawn_version", version=withdrawn, figures=dict(withdrawn.headline)),
        with_memo("uncleared_release", cleared=truth.held),
        with_memo("omitted_conflict", conflict=None),
        with_memo("fabricated_figures", figures=invented),
        with_memo("mixed_versions", figures=dict(stale.headline)),
    )


def demonstrations(truth: BoardForecastTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
    """Runs of the imperfect expert."""
    return tuple(_demonstrate(truth, rng, f"demo-{i}") for i in range(count))


def _demonstrate(truth: BoardForecastTruth, rng: random.Random, name: str) -> Plan:
    good = right(truth)
    note = next(v for v in truth.versions if v.id == truth.note_version)
    other = next(v for v in truth.versions if v not in (good.version, note))
    version = rng.choices((good.version, note, other), (0.36, 0.52, 0.12))[0]  # mostly taken in by the note
    figures: dict[str, int | None] = {m: n if rng.random() > 0.06 else None for m, n in version.headline.items()}
    cleared = rng.choices((truth.cleared, truth.held, None), (0.3, 0.08, 0.62))[0]  # mostly leaves it out
    reads_note = rng.random() < 0.6
    conflict = truth.note_version if reads_note and rng.random() < 0.6 else rng.choice(("none", None, None, None))
    decided = Decisions(version=version, figures=figures, cleared=cleared, conflict=conflict)
    return embellish(rng, name, (*readings(version, note=reads_note), memo(truth, decided)))
