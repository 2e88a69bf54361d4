"""The covenant certificate as short text files: which document, entity and quarter count decides which file to read."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Requirement, Split
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, WorldDraft, text_file
from journeyman.worlds.criteria import criterion, field
from journeyman.worlds.types.covenant_certificate import plans
from journeyman.worlds.types.covenant_certificate.truth import CovenantTruth, decimal

SCOPE = plans.SCOPE
DOCUMENTS = (plans.document_path("agreement"), plans.document_path("amendment"))


class Phrases(NamedTuple):
    """Sentence templates of a split; one of each is drawn per world."""

    ask: tuple[str, ...]
    write: tuple[str, ...]
    threshold: tuple[str, ...]
    tests: tuple[str, ...]
    governs: tuple[str, ...]
    idle: tuple[str, ...]
    untested: tuple[str, ...]
    ratio: tuple[str, ...]
    waiver: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        ask=(
            "Certify the {covenant} covenant of {company} for {q}.",
            "{company} needs a {covenant} {doc} for {q}.",
            "Please prepare the {doc} on the {covenant} covenant of {company} in {q}.",
            "We owe {lender} a {covenant} {doc} of {company} for {q}.",
            "Please certify for {lender} the {covenant} of {company} in {q}.",
            "The {doc} of {company} on {covenant} is due for {q}.",
        ),
        write=(
            "Read {files}. Write {path} with one line each for {keys}.",
            "The sources are {files}. Put one line each for {keys} in {path}.",
            "Use {files} and write {path} with these lines: {keys}.",
            "Read {files}. Then put these lines in {path}: {keys}.",
        ),
        threshold=(
            "{dir} threshold {n}",
            "the {dir} threshold {n}",
            "{c} {dir} threshold {n}",
            "its {dir} threshold {n}",
        ),
        tests=("tested entity {e}", "the tested entity {e}", "tested entity {e} for {q}"),
        governs=("governing document {d}", "the governing document {d}", "governing document {d} for {q}"),
        idle=("not the {d}", "{q} is not in the {d}", "{d} does not count"),
        untested=("not the {e}", "leave out the {e}", "{e} does not count"),
        ratio=("ratio {n}", "the ratio {n}", "{c} ratio {n}", "its ratio {n}"),
        waiver=("waiver {s}", "the waiver {s}", "waiver {s} by {lender}"),
    ),
    "validation": Phrases(
        ask=(
            "Prepare a {doc} for {q} on the {covenant} of {company}.",
            "A {covenant} {doc} is due at {company} for {q}.",
        ),
        write=("Read {files} first. Then write {path} with a line for each of {keys}.",),
        threshold=("our {dir} threshold {n}",),
        tests=("our tested entity {e}",),
        governs=("our governing document {d}",),
        idle=("now not the {d}",),
        untested=("now not the {e}",),
        ratio=("our ratio {n}",),
        waiver=("our waiver {s}",),
    ),
    "heldout": Phrases(
        ask=(
            "For {lender}, certify in {q} the {covenant} of {company}.",
            "{lender} will read a {doc} of {company} on {covenant} for {q}.",
            "The {covenant} of {company} needs a {doc} for {q}.",
        ),
        write=(
            "Use the sources {files}. Then write one line each for {keys} in {path}.",
            "Please read {files} and put these lines in {path}: {keys}.",
        ),
        threshold=("for us {dir} threshold {n}", "in all {dir} threshold {n}"),
        tests=("for us tested entity {e}", "in {q} tested entity {e}"),
        governs=("for us governing document {d}", "in {q} governing document {d}"),
        idle=("for us not the {d}", "in {q} not the {d}"),
        untested=("for us not the {e}", "in {q} not the {e}"),
        ratio=("for us ratio {n}", "in all ratio {n}"),
        waiver=("for us waiver {s}", "in {q} waiver {s}"),
    ),
}


def realise(truth: CovenantTruth) -> WorldDraft:
    """The compact world of a truth."""
    rng = random.Random(f"compact:{truth.seed}:{truth.split}:law.covenant_certificate")
    phrases = PHRASES[truth.split]
    path = plans.deliverable(truth)
    ask = rng.choice(phrases.ask).format(
        covenant=truth.covenant, company=truth.borrower, q=truth.period, doc=truth.deliverable, lender=truth.lender
    )
    how = rng.choice(phrases.write).format(
        files=_names(truth),
        path=path,
        keys=f"{', '.join(plans.KEYS[:-1])} and {plans.KEYS[-1]}",
    )
    meaning = (
        "Document is the governing one, entity is the tested one, result is met or breach, waiver is signed or draft."
    )
    return WorldDraft(
        environment_type="law.covenant_certificate",
        domain="law",
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


def _names(truth: CovenantTruth) -> str:
    """The sources, as the instruction lists them."""
    ratios = sorted(plans.ratio_path(e, q) for e, q in _cells(truth))
    waivers = sorted(plans.waiver_path(q) for q in truth.waivers)
    *names, last = (SCOPE, *DOCUMENTS, *ratios, *waivers)
    return f"{', '.join(names)} and {last}"


def _cells(truth: CovenantTruth) -> list[tuple[str, str]]:
    """(entity, quarter) of every ratio file: the tested one and three look-alikes."""
    return [(e, q) for e in (truth.entity, truth.decoy_entity) for q in (truth.period, truth.other_period)]


def _files(truth: CovenantTruth, rng: random.Random, phrases: Phrases) -> dict[str, FileDraft]:
    name, c, q, year_end = truth.borrower, truth.covenant, truth.period, truth.frozen_time[:10]
    threshold, ratio, waiver = (rng.choice(x) for x in (phrases.threshold, phrases.ratio, phrases.waiver))
    scope = [
        rng.choice(phrases.governs).format(q=q, d=truth.governing),
        rng.choice(phrases.idle).format(q=q, d=truth.other_document),
        rng.choice(phrases.tests).format(q=q, e=truth.entity),
        rng.choice(phrases.untested).format(q=q, e=truth.decoy_entity),
    ]
    rng.shuffle(scope)
    files = {SCOPE: text_file((f"{name} {c} scope for {q}", *scope), year_end)}
    dated = {"agreement": truth.agreement_date, "amendment": truth.amendment_date}
    for document, limit in truth.thresholds.items():
        row = threshold.format(c=c, dir=truth.direction, n=decimal(limit))
        files[plans.document_path(document)] = text_file((f"{name} credit {document}", row), dated[document])
    for e, p in _cells(truth):
        row = ratio.format(c=c, n=decimal(truth.line(e, p, c).ratio))
        files[plans.ratio_path(e, p)] = text_file((f"{name} {e} {p}", row), year_end)
    for p, state in truth.waivers.items():
        row = waiver.format(q=p, s=plans.WAIVERS[state], lender=truth.lender)
        files[plans.waiver_path(p)] = text_file((f"{name} {p}", row), year_end)
    return files


def _requirements(truth: CovenantTruth, path: str) -> tuple[Requirement, ...]:
    return (
        Requirement(id="document", text=f"{path} names the document that {truth.period} is governed by"),
        Requirement(id="threshold", text=f"{path} gives the {truth.covenant} threshold of that document"),
        Requirement(
            id="ratio", text=f"{path} gives the tested entity and its {truth.covenant} ratio in {truth.period}"
        ),
        Requirement(id="result", text=f"{path} says whether the covenant is met or in breach"),
        Requirement(id="waiver", text=f"{path} says whether the waiver for {truth.period} is signed"),
    )


def _rubric(truth: CovenantTruth, path: str) -> Rubric:
    return Rubric(criteria=(*_credits(truth, path), *_errors(truth, path)))


def _credits(truth: CovenantTruth, path: str) -> Iterator[Criterion]:
    q, c, governing, entity = truth.period, truth.covenant, truth.governing, truth.entity
    limit, ratio = decimal(truth.thresholds[governing]), decimal(truth.ratio)
    document, ledger = plans.document_path(governing), plans.ratio_path(entity, q)
    said = f"The governing document for {q} is the {governing}"
    yield criterion("document", said, 2.0, field(path, "document", governing), "document", (SCOPE,), "authority")
    said = f"The {c} threshold is {limit}, that of the {governing}"
    decide = field(path, "threshold", limit)
    yield criterion("threshold", said, 2.0, decide, "threshold", (SCOPE, document), "authority")
    said = f"The tested accounts are those of the {entity}"
    yield criterion("entity", said, 1.0, field(path, "entity", entity), "ratio", (SCOPE,))
    said = f"The tested ratio is {ratio}, that of the {entity} in {q}"
    yield criterion("ratio", said, 2.0, field(path, "ratio", ratio), "ratio", (SCOPE, ledger))
    said = f"The result is {truth.result}: {ratio} against a {truth.direction} of {limit}"
    yield criterion("result", said, 1.0, field(path, "result", truth.result), "result", (document, ledger))
    state = plans.WAIVERS[truth.waivers[q]]
    said = f"The waiver for {q} is {state}"
    evidence = (plans.waiver_path(q),)
    yield criterion(
        "waiver", said, 2.0, field(path, "waiver", *dict.fromkeys((state, truth.waivers[q]))), "waiver", evidence
    )


def _errors(truth: CovenantTruth, path: str) -> Iterator[Criterion]:
    q, c, other = truth.period, truth.covenant, truth.other_document
    limit = decimal(truth.thresholds[other])
    said = f"The threshold given is {limit}, that of the {other}, which does not govern {q}"
    decide = field(path, "threshold", limit)
    yield criterion("error_other_document", said, -1.0, decide, "threshold", (SCOPE, *DOCUMENTS), "authority")
    keys = [key for key in _cells(truth) if key != (truth.entity, q)]
    decoys = [decimal(truth.line(e, p, c).ratio) for e, p in keys]
    said = f"The ratio given is one of another entity or quarter ({', '.join(decoys)})"
    evidence = tuple(plans.ratio_path(e, p) for e, p in keys)
    yield criterion("error_lookalike_ratio", said, -1.0, field(path, "ratio", *decoys), "ratio", evidence, "source")
