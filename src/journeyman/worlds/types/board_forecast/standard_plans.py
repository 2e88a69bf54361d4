"""Plans for the standard board forecast: read, then write a Word file; each negative is one real error."""

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.scripts import heading, list_files, overwrite, paragraph, read_office, rows, write_docx
from journeyman.worlds.scripts import plan, read, say
from journeyman.worlds.types.board_forecast.standard_files import model_path
from journeyman.worlds.types.board_forecast.standard_scene import METRIC_NAMES, Scene
from journeyman.worlds.types.board_forecast.truth import ForecastVersion


class Section(Record):
    """What the section says. "" or an empty mapping: left out."""

    version: ForecastVersion
    figures: dict[str, int]
    change: int
    resolution: str
    cleared: str
    held: str
    not_used: str
    not_used_status: str


def deliverable(scene: Scene) -> str:
    """Path of the file to write."""
    return f"board/forecast_{scene.truth.deliverable}.docx"


def figure_key(scene: Scene, metric: str) -> str:
    """Label of a figure in the table of key facts."""
    return f"{METRIC_NAMES[metric]} {scene.truth.headline_year}"


def right(scene: Scene) -> Section:
    """The section as it should be."""
    t = scene.truth
    approved, stale = t.version("approved"), t.version("superseded")
    first = t.metrics[0]
    status = next(v.status for v in t.versions if v.id == t.note_version)
    return Section(
        version=approved,
        figures=dict(approved.headline),
        change=approved.headline[first] - stale.headline[first],
        resolution=t.resolution,
        cleared=t.cleared,
        held=t.held,
        not_used=t.note_version,
        not_used_status=status,
    )


def key_facts(scene: Scene, said: Section) -> tuple[tuple[str, str], ...]:
    """Rows of the table of key facts, in the words of the request."""
    t = scene.truth
    pairs = [("Forecast version", said.version.id), ("Board resolution", said.resolution)]
    pairs += [(figure_key(scene, m), str(n)) for m, n in said.figures.items()]
    pairs += [
        (f"{METRIC_NAMES[t.metrics[0]]} change on superseded version", str(said.change)),
        ("Cleared audience", said.cleared),
        ("Audience awaiting clearance", said.held),
        ("Version not to be used", said.not_used),
        ("Status of that version", said.not_used_status),
    ]
    return tuple((key, value) for key, value in pairs if value)


def write_section(scene: Scene, said: Section) -> PlanStep:
    """The turn that writes the section."""
    t = scene.truth
    table: list[tuple[str, ...]] = [(f"{t.currency} m", *t.years)]
    table += [(METRIC_NAMES[m], *(str(said.version.by_year[y][m]) for y in t.years)) for m in said.figures]
    blocks = [
        heading("Key facts"),
        rows(*key_facts(scene, said)),
        heading("Forecast by year"),
        rows(*table),
        heading("Basis"),
        paragraph(
            f"The figures are those of forecast {said.version.id}, approved by resolution {said.resolution} of the "
            f"board on {day(t.board_date)}, and come from {model_path(said.version)}."
        ),
        heading("Release"),
        paragraph(
            f"By letter of {day(t.counsel_date)} {t.counsel_firm} cleared release to the {said.cleared}. "
            + (f"The {said.held} wait for counsel." if said.held else "")
        ),
    ]
    if said.not_used:
        blocks += [
            heading("Conflicts"),
            paragraph(f"A note asks for {said.not_used}; that version is {said.not_used_status} and is not cited."),
        ]
    return write_docx(deliverable(scene), f"{t.company}: forecast {t.deliverable}", *blocks, text="I write it now.")


def reference(scene: Scene) -> Plan:
    """Full marks."""
    t = scene.truth
    return plan(
        "reference",
        "reference",
        list_files(),
        read_office(
            scene.minutes,
            f"board/{scene.previous_date}_minutes_signed.docx",
            "policies/disclosure_policy.docx",
            "board/terms_of_reference.docx",
            text="The minutes and the rules come first.",
        ),
        read(f"mail/{t.counsel_date}_re_release.eml", f"mail/{t.note_date}_use_{t.note_version}.eml"),
        read_office(
            *(model_path(t.version(s)) for s in ("approved", "superseded")),
            "audit/tie_out_memo.docx",
            text="Now the figures of the approved version, and of the one it replaces.",
        ),
        write_section(scene, right(scene)),
        say(f"The {t.deliverable} is in {deliverable(scene)}. The {t.held} are not cleared yet."),
    )


def negatives(scene: Scene) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    t = scene.truth
    good = right(scene)
    stale, withdrawn = t.version("superseded"), t.version("withdrawn")

    def with_section(name: str, *before: PlanStep, **changes: object) -> Plan:
        return plan(name, "negative", *before, write_section(scene, good.model_copy(update=changes)))

    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan("claim_only", "negative", read_office(scene.minutes), say(f"I wrote {deliverable(scene)}.")),
        with_section("stale_source", version=stale, figures=dict(stale.headline)),
        with_section("withdrawn_version", version=withdrawn, figures=dict(withdrawn.headline)),
        with_section("wrong_entity", figures=dict(t.peer_headline)),
        with_section("uncleared_release", cleared=f"{t.cleared} and {t.held}", held=""),
        with_section("omitted_conflict", not_used="", not_used_status=""),
        with_section("fabricated_resolution", resolution=scene.previous_resolution),
        with_section(
            "source_tampering",
            overwrite(f"mail/{t.note_date}_use_{t.note_version}.eml", f"please use {t.version('approved').id}\n"),
        ),
    )
