"""Plans for the standard covenant certificate: read, then certify in Word; each negative is one real error."""

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.scripts import heading, list_files, overwrite, paragraph, read_office, rows, write_docx
from journeyman.worlds.scripts import plan, read, say
from journeyman.worlds.types.covenant_certificate.standard_files import misleading_note
from journeyman.worlds.types.covenant_certificate.standard_scene import ENTITY_NAMES, Scene, signed_decimal
from journeyman.worlds.types.covenant_certificate.truth import COVENANTS, decimal


class Certificate(Record):
    """What the certificate says; ratios in hundredths. "" : left out."""

    governing: str
    threshold: int
    entity: str
    numerator: int
    denominator: int
    ratio: int
    headroom: int | None
    result: str
    waiver: str
    statement: str


def deliverable(scene: Scene) -> str:
    """Path of the file to write."""
    t = scene.truth
    return f"certificate/{t.deliverable}_{t.period}_{t.year}.docx"


def figure_labels(scene: Scene) -> tuple[str, str]:
    """Labels of the two figures the ratio is made of."""
    _, numerator, denominator = COVENANTS[scene.truth.covenant]
    return numerator.capitalize(), denominator.capitalize()


def statement(result: str, waiver: str) -> str:
    """What must be said about a default."""
    if result == "met":
        return "We confirm that no default is continuing."
    if waiver == "signed":
        return "The default of the quarter was waived by the signed waiver of the Agent."
    return "A default is continuing; the letter on file is unsigned and waives nothing."


def right(scene: Scene) -> Certificate:
    """The certificate as it should be."""
    t = scene.truth
    line = t.line(t.entity, t.period, t.covenant)
    waiver = t.waivers[t.period]
    return Certificate(
        governing=scene.governing,
        threshold=t.thresholds[t.governing],
        entity=scene.entity,
        numerator=line.numerator,
        denominator=line.denominator,
        ratio=t.ratio,
        headroom=scene.headroom,
        result=t.result,
        waiver=waiver,
        statement=statement(t.result, waiver),
    )


def facts(scene: Scene, said: Certificate) -> tuple[tuple[str, str], ...]:
    """Rows of the certificate's table, in the words of the request."""
    upper, lower = figure_labels(scene)
    pairs = (
        ("Quarter", scene.quarter),
        ("Covenant", scene.covenant),
        ("Governing document", said.governing),
        ("Threshold", decimal(said.threshold)),
        ("Tested entity", said.entity),
        (upper, str(said.numerator)),
        (lower, str(said.denominator)),
        ("Ratio", decimal(said.ratio)),
        ("Headroom", "" if said.headroom is None else signed_decimal(said.headroom)),
        ("Result", said.result),
        ("Waiver for the quarter", said.waiver),
    )
    return tuple((key, value) for key, value in pairs if value)


def certify(scene: Scene, said: Certificate) -> PlanStep:
    """The turn that writes the certificate."""
    t = scene.truth
    dated = t.amendment_date if said.governing.startswith("Amendment") else t.agreement_date
    blocks = (
        paragraph(f"To: {t.agent_bank} as Agent. From: {t.legal_name}."),
        rows(*facts(scene, said)),
        heading("Basis"),
        paragraph(
            f"Clause {t.agreement_clause} is tested under the {said.governing} of {day(dated)} on the closed ledger "
            f"({scene.ledger}). The {scene.document_name(t.other_document)} does not govern this quarter."
        ),
        heading("Statement"),
        paragraph(said.statement),
        paragraph(f"Signed for {t.legal_name}: {t.people['officer']}"),
    )
    title = f"Compliance {t.deliverable}: {scene.quarter}"
    return write_docx(deliverable(scene), title, *blocks, text="The figures are clear, so I write it.")


def reference(scene: Scene) -> Plan:
    """Full marks."""
    return plan(
        "reference",
        "reference",
        list_files(),
        read_office(
            scene.agreement, scene.amendment, "policies/treasury_policy.docx", text="First what governs which quarter."
        ),
        read_office(scene.ledger, scene.waiver, text="Now the closed ledger and the waiver letter."),
        read(misleading_note(scene)),
        certify(scene, right(scene)),
        say(f"The certificate is in {deliverable(scene)}; result: {scene.truth.result}."),
    )


def negatives(scene: Scene) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    t = scene.truth
    good = right(scene)
    decoy = t.line(t.decoy_entity, t.period, t.covenant)
    stale = t.line(t.entity, t.other_period, t.covenant)
    opposite = "breach" if t.result == "met" else "met"
    sign = "unsigned" if good.waiver == "signed" else "signed"
    other = t.thresholds[t.other_document]

    def with_changes(name: str, *before: PlanStep, **changes: object) -> Plan:
        return plan(name, "negative", *before, certify(scene, good.model_copy(update=changes)))

    def figures(line: object) -> dict[str, object]:
        return {key: getattr(line, key) for key in ("numerator", "denominator", "ratio")}

    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan("claim_only", "negative", read_office(scene.agreement), say(f"I wrote {deliverable(scene)}.")),
        with_changes("other_document", governing=scene.document_name(t.other_document), threshold=other),
        with_changes("wrong_entity", entity=ENTITY_NAMES[t.decoy_entity], **figures(decoy)),
        with_changes("stale_source", **figures(stale)),
        with_changes("flash_figures", numerator=scene.flash_ratio * good.denominator // 100, ratio=scene.flash_ratio),
        with_changes("draft_amendment", threshold=scene.draft_threshold),
        with_changes("wrong_result", result=opposite, statement=statement(opposite, good.waiver)),
        with_changes("fabricated_waiver", waiver=sign, statement=statement(t.result, sign)),
        with_changes("omitted_headroom", headroom=None),
        with_changes("source_tampering", overwrite(misleading_note(scene), "Never mind.\n")),
    )
