"""Plans for the compact covenant certificate: the reference, realistic errors, and an imperfect expert."""

import random

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.scripts import embellish, lines, plan, read, say, write
from journeyman.worlds.types.covenant_certificate.truth import CovenantTruth, Document, decimal

SCOPE = "scope.txt"
WAIVERS = {"signed": "signed", "unsigned": "draft"}  # as the short files call them
KEYS = ("document", "threshold", "entity", "ratio", "result", "waiver")


class Decisions(Record):
    """What a certificate says. None: the line is left out. Numbers in hundredths."""

    document: Document
    threshold: int | None
    entity: str
    ratio: int | None
    result: str | None
    waiver: str | None


def deliverable(truth: CovenantTruth) -> str:
    """Path of the file to write."""
    return f"{truth.deliverable}.txt"


def document_path(document: str) -> str:
    """Path of the agreement or the amendment."""
    return f"{document}.txt"


def ratio_path(entity: str, period: str) -> str:
    """Path of an entity's ratio in a quarter."""
    return f"{entity}-{period}.txt"


def waiver_path(period: str) -> str:
    """Path of a quarter's waiver."""
    return f"waiver-{period}.txt"


def readings(document: str, entity: str, period: str, waiver: str | None) -> tuple[PlanStep, ...]:
    """The turns that read what a certificate needs, one file each; `waiver` None: no waiver is read."""
    paths = [SCOPE, document_path(document), ratio_path(entity, period)]
    paths += [waiver_path(waiver)] if waiver else []
    return tuple(read(path) for path in paths)


def right(truth: CovenantTruth) -> Decisions:
    """The certificate as it should be."""
    return Decisions(
        document=truth.governing,
        threshold=truth.thresholds[truth.governing],
        entity=truth.entity,
        ratio=truth.ratio,
        result=truth.result,
        waiver=WAIVERS[truth.waivers[truth.period]],
    )


def certificate(truth: CovenantTruth, decided: Decisions) -> PlanStep:
    """The turn that writes the certificate."""
    said: list[tuple[str, str | None]] = [
        ("document", decided.document),
        ("threshold", None if decided.threshold is None else decimal(decided.threshold)),
        ("entity", decided.entity),
        ("ratio", None if decided.ratio is None else decimal(decided.ratio)),
        ("result", decided.result),
        ("waiver", decided.waiver),
    ]
    return write(deliverable(truth), lines((key, value) for key, value in said if value is not None))


def complies(truth: CovenantTruth, threshold: int, ratio: int) -> str:
    """The result these two numbers give."""
    return "met" if (ratio <= threshold if truth.direction == "maximum" else ratio >= threshold) else "breach"


def reference(truth: CovenantTruth) -> Plan:
    """Full marks, no wasted word."""
    steps = readings(truth.governing, truth.entity, truth.period, truth.period)
    return plan("reference", "reference", *steps, certificate(truth, right(truth)), say("Done."))


def negatives(truth: CovenantTruth) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    good = right(truth)
    other, q, c = truth.other_document, truth.period, truth.covenant

    def with_certificate(name: str, period: str = q, **changes: object) -> Plan:
        decided = good.model_copy(update=changes)
        steps = readings(decided.document, decided.entity, period, q)
        return plan(name, "negative", *steps, certificate(truth, decided))

    read_all = readings(truth.governing, truth.entity, q, q)
    decoy = truth.line(truth.decoy_entity, q, c).ratio
    stale = truth.line(truth.entity, truth.other_period, c).ratio
    flipped = {"signed": "draft", "draft": "signed"}[WAIVERS[truth.waivers[q]]]
    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan("claim_only", "negative", *read_all, say(f"I have certified the {c} covenant in {deliverable(truth)}.")),
        with_certificate("other_document", document=other, threshold=truth.thresholds[other]),
        with_certificate("wrong_entity", entity=truth.decoy_entity, ratio=decoy),
        with_certificate("wrong_period", truth.other_period, ratio=stale),
        with_certificate("wrong_waiver", waiver=flipped),
        with_certificate("omitted_result", result=None, waiver=None),
        with_certificate("fabricated_ratio", ratio=truth.ratio + 11),
    )


def demonstrations(truth: CovenantTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
    """Runs of the imperfect expert."""
    return tuple(_demonstrate(truth, rng, f"demo-{i}") for i in range(count))


def _demonstrate(truth: CovenantTruth, rng: random.Random, name: str) -> Plan:
    document = truth.governing if rng.random() < 0.85 else truth.other_document
    entity = truth.entity if rng.random() < 0.95 else truth.decoy_entity
    period = truth.period if rng.random() < 0.97 else truth.other_period
    threshold, ratio = truth.thresholds[document], truth.line(entity, period, truth.covenant).ratio
    waiver_of = rng.choices((truth.period, truth.other_period, None), (0.34, 0.08, 0.58))[0]
    result = complies(truth, threshold, ratio) if rng.random() < 0.75 else rng.choice(("met", "breach"))
    decided = Decisions(
        document=document,
        threshold=threshold if rng.random() > 0.05 else None,
        entity=entity,
        ratio=ratio if rng.random() < 0.75 else None,
        result=result if rng.random() < 0.4 else None,  # mostly leaves it out
        waiver=WAIVERS[truth.waivers[waiver_of]] if waiver_of else rng.choice((None, None, None, *WAIVERS.values())),
    )
    return embellish(rng, name, (*readings(document, entity, period, waiver_of), certificate(truth, decided)))
