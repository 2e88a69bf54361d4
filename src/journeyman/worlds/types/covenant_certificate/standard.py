"""The covenant certificate in standard size: some thirty files, one Word deliverable, a rubric in public words."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Budget, Requirement, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.criteria import all_of, any_of, check, criterion, field
from journeyman.worlds.documents.folder import day
from journeyman.worlds.types.covenant_certificate import standard_plans as plans
from journeyman.worlds.types.covenant_certificate.standard_files import build, misleading_note
from journeyman.worlds.types.covenant_certificate.standard_scene import ENTITY_NAMES, Scene, scene, signed_decimal
from journeyman.worlds.types.covenant_certificate.truth import CovenantTruth, Document, decimal

STANDARD_BUDGET = Budget(max_turns=80, max_sampled_tokens=64_000, policy_seconds=1800.0, command_seconds=60.0)


class Phrases(NamedTuple):
    """How a request is worded in a split."""

    opening: tuple[str, ...]
    task: tuple[str, ...]
    closing: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        (
            "You assist {officer}, who signs compliance certificates for {legal}.",
            "{legal} owes {agent} a compliance {doc} under its {facility} facility.",
        ),
        (
            "Prepare the {doc} for {quarter} on the {covenant} from the documents here and save it as {path}.",
            "Please draw up the {doc} on the {covenant} for {quarter}. Everything is on this drive; save to {path}.",
        ),
        (
            "Not every document on the drive is in force.",
            "Take care: drafts, flash figures and mails lie about as well.",
        ),
    ),
    "validation": Phrases(
        ("{agent} is waiting for a {doc} from {legal}.",),
        ("Write it for {quarter}, covering the {covenant}, and put it in {path}.",),
        ("Decide by what is executed and closed.",),
    ),
    "heldout": Phrases(
        (
            "A {doc} to {agent} is due from {legal}, borrower of a {facility} facility.",
            "For {officer} of {legal}: the {facility} facility asks for a {doc}.",
        ),
        (
            "It concerns the {covenant} in {quarter}. Work from this folder and leave the result in {path}.",
            "Test the {covenant} for {quarter} with the papers in this folder; the result goes to {path}.",
        ),
        ("Some papers never took effect, others do not cover the quarter.", "Only what is in force may be relied on."),
    ),
}


def standard(truth: CovenantTruth) -> WorldDraft:
    """The standard world of a truth."""
    setting = scene(truth)
    return WorldDraft(
        environment_type="law.covenant_certificate",
        domain="law",
        size="standard",
        split=truth.split,
        seed=truth.seed,
        instruction=_instruction(setting),
        requirements=_requirements(setting),
        files=build(setting).files,
        rubric=Rubric(criteria=(*_credit(setting), *_statements(setting), *_errors(setting))),
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
    rng = random.Random(f"standard-words:law:{t.split}:{t.seed}")
    values = {
        "officer": t.people["officer"],
        "legal": t.legal_name,
        "agent": t.agent_bank,
        "facility": t.facility,
        "doc": t.deliverable,
        "quarter": setting.quarter,
        "covenant": setting.covenant.lower(),
        "path": plans.deliverable(setting),
    }
    opening, task, closing = (rng.choice(part).format(**values) for part in PHRASES[t.split])
    listed = "\n".join(f"- {label}" for label, _ in plans.facts(setting, plans.right(setting)))
    return (
        f"{opening} {task} {closing}\n\n"
        f"Open with a two-column table; the agent's system reads its first column, so use these labels word for word:\n"
        f"{listed}\n\n"
        'Governing document is "Agreement" or "Amendment No." with its number; result is "met" or "breach"; the '
        'waiver is "signed" or "unsigned". Ratios, threshold and headroom have two decimals, headroom is negative in '
        f"a breach. Amounts are in {t.currency} million.\n\n"
        "Below the table give the basis (clause, governing document with its date, the ledger file, and which document "
        "does not govern), then a statement whether a default is continuing, was waived, or that there is no default. "
        f"Address it to the agent and name the signing officer. Leave the source files as they are."
    )


def _requirements(setting: Scene) -> tuple[Requirement, ...]:
    path = plans.deliverable(setting)
    return (
        Requirement(
            id="governing", text=f"{path} names the governing document, its date, the clause and the threshold"
        ),
        Requirement(id="figures", text=f"{path} gives the tested entity, both figures, the ratio and the headroom"),
        Requirement(id="result", text=f"{path} says whether the covenant is met"),
        Requirement(id="waiver", text=f"{path} says whether the waiver is signed"),
        Requirement(id="statement", text=f"{path} says what holds about a default, to the agent, by the officer"),
        Requirement(id="sources", text="The source files stay as they are"),
    )


def _names(setting: Scene, document: Document) -> tuple[str, ...]:
    if document == "agreement":
        return ("Agreement", "Facility agreement", f"{setting.truth.facility} facility agreement", "The agreement")
    number = setting.truth.amendment_number
    return (f"Amendment No. {number}", f"Amendment No {number}", f"Amendment {number}")


def _credit(setting: Scene) -> Iterator[Criterion]:
    t, path, good = setting.truth, plans.deliverable(setting), plans.right(setting)
    papers = (setting.agreement, setting.amendment)
    upper, lower = plans.figure_labels(setting)
    yield criterion(
        "governing", f"{setting.quarter} falls under {good.governing}", 3.0,
        field(path, "Governing document", *_names(setting, t.governing)), "governing", papers, "authority",
    )  # fmt: skip
    yield criterion(
        "threshold", f"The threshold is {decimal(good.threshold)}", 2.0,
        field(path, "Threshold", decimal(good.threshold), f"{decimal(good.threshold)} : 1"), "governing", papers,
    )  # fmt: skip
    yield criterion(
        "entity", f"The tested entity is the {good.entity}", 1.0,
        field(path, "Tested entity", good.entity, f"the {good.entity}"), "figures", (setting.agreement,),
    )  # fmt: skip
    for name, label, value in (("numerator", upper, good.numerator), ("denominator", lower, good.denominator)):
        yield criterion(
            name, f"{label} of the {good.entity} in {setting.quarter} is {value}", 1.0, field(path, label, value),
            "figures", (setting.ledger,),
        )  # fmt: skip
    yield criterion(
        "ratio", f"The ratio is {decimal(good.ratio)}", 3.0,
        field(path, "Ratio", decimal(good.ratio), f"{decimal(good.ratio)} : 1"), "figures", (setting.ledger,),
    )  # fmt: skip
    headroom = signed_decimal(setting.headroom)
    yield criterion(
        "headroom", f"The headroom is {headroom}", 2.0, field(path, "Headroom", headroom), "figures",
        (*papers, setting.ledger),
    )  # fmt: skip
    yield criterion(
        "result", f"The result is {t.result}", 3.0,
        field(path, "Result", *(("breach", "breached", "not met") if t.result == "breach" else ("met", "complied"))),
        "result", (*papers, setting.ledger),
    )  # fmt: skip
    waiver = t.waivers[t.period]
    yield criterion(
        "waiver", f"The waiver letter for {setting.quarter} is {waiver}", 2.0,
        field(path, "Waiver for the quarter", *((waiver, "not signed") if waiver == "unsigned" else (waiver,))),
        "waiver", (setting.waiver,), "authority",
    )  # fmt: skip


def _statements(setting: Scene) -> Iterator[Criterion]:
    t, path = setting.truth, plans.deliverable(setting)
    dated = t.amendment_date if t.governing == "amendment" else t.agreement_date
    papers = (setting.agreement, setting.amendment)
    yield criterion(
        "clause", f"Clause {t.agreement_clause} and the document of {dated} are cited", 1.0,
        all_of(
            check("text_contains", path=path, all=[t.agreement_clause]),
            check("text_contains", path=path, any=[day(dated), dated]),
        ),
        "governing", papers, "evidence",
    )  # fmt: skip
    yield criterion(
        "ledger", "The ledger file is named as the source", 1.0,
        check("text_contains", path=path, any=[setting.ledger, setting.ledger.rsplit("/", 1)[1]]), "figures",
        (setting.ledger,), "evidence",
    )  # fmt: skip
    yield criterion(
        "parties", f"It is addressed to {t.agent_bank} and names {t.people['officer']}", 1.0,
        check("text_contains", path=path, all=[t.agent_bank, t.people["officer"]]), "statement",
        ("policies/treasury_policy.docx",), "form",
    )  # fmt: skip
    holds, none = ["continuing", "continues", "in default", "has occurred"], ["no default", "no event of default"]
    if t.result == "met":
        said = "It says that there is no default"
    elif t.waivers[t.period] == "signed":
        said, holds = "It says that the default was waived", ["waived", "waives", "signed waiver"]
    else:
        said = "It says that a default is continuing"
    about = [["default", "breach", "waiver"]]
    yield criterion(
        "statement", said, 2.0,
        check("states", path=path, about=about, holds=holds, fails=none, true=t.result != "met"),
        "statement", (setting.agreement, setting.waiver, setting.ledger),
    )  # fmt: skip


def _errors(setting: Scene) -> Iterator[Criterion]:
    t, path, good = setting.truth, plans.deliverable(setting), plans.right(setting)
    other = decimal(t.thresholds[t.other_document])
    papers = (setting.agreement, setting.amendment)
    yield criterion(
        "error_other_document", f"The {setting.document_name(t.other_document)} or its limit {other} is applied", -3.0,
        any_of(
            field(path, "Governing document", *_names(setting, t.other_document)),
            field(path, "Threshold", other, f"{other} : 1"),
        ),
        "governing", papers, "authority",
    )  # fmt: skip
    draft = decimal(setting.draft_threshold)
    yield criterion(
        "error_draft", f"The limit {draft} of a draft nobody signed is applied", -3.0,
        field(path, "Threshold", draft, f"{draft} : 1"), "governing",
        (f"facility/amendment_no_{t.amendment_number + 1}.docx",), "authority",
    )  # fmt: skip
    decoys = [x.ratio for x in t.ledger if x.covenant == t.covenant and x.ratio != t.ratio]
    yield criterion(
        "error_ratio", "The ratio is that of another entity or quarter, or of the flash report", -3.0,
        field(path, "Ratio", *(decimal(r) for r in (*decoys, setting.flash_ratio))), "figures",
        (setting.ledger, f"ledger/flash_{t.period}_{t.year}.xlsx"), "source",
    )  # fmt: skip
    yield criterion(
        "error_entity", f"The accounts of the {ENTITY_NAMES[t.decoy_entity]} are tested", -1.0,
        field(path, "Tested entity", ENTITY_NAMES[t.decoy_entity]), "figures", (setting.agreement,), "source",
    )  # fmt: skip
    opposite = "met" if t.result == "breach" else "breach"
    yield criterion(
        "error_result", f"The result is given as {opposite}", -4.0, field(path, "Result", opposite), "result",
        (*papers, setting.ledger),
    )  # fmt: skip
    sign = "signed" if good.waiver == "unsigned" else "unsigned"
    yield criterion(
        "error_waiver", f"The waiver is called {sign}", -2.0, field(path, "Waiver for the quarter", sign), "waiver",
        (setting.waiver,), "authority",
    )  # fmt: skip
    sources = [*papers, setting.ledger, setting.waiver, misleading_note(setting)]
    kept = all_of(*(check("source_unchanged", path=source) for source in sources))
    yield criterion(
        "error_tampering", "A source file was changed or deleted", -3.0,
        check("not_", check=kept.model_dump(mode="json")), "sources", tuple(sources), "integrity",
    )  # fmt: skip
