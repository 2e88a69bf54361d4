"""The covenant certificate as four short text files. Invariant: every line names the keys it is looked up by."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Requirement, Split
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, WorldDraft, text_file
from journeyman.worlds.criteria import criterion, field
from journeyman.worlds.types.covenant_certificate import plans
from journeyman.worlds.types.covenant_certificate.truth import PERIODS, CovenantTruth, decimal

AGREEMENT, AMENDMENT, LEDGER, WAIVER = plans.SOURCES


class Phrases(NamedTuple):
    """Sentence templates of a split; one of each is drawn per world."""

    ask: tuple[str, ...]
    write: tuple[str, ...]
    threshold: tuple[str, ...]
    tests: tuple[str, ...]
    governs: tuple[str, ...]
    ratio: tuple[str, ...]
    waiver: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        ask=(
            "Certify the {covenant} covenant of {company} for {q}.",
            "{company} needs a {covenant} {doc} for {q}.",
            "Please prepare the {doc} on the {covenant} covenant of {company} in {q}.",
            "We owe {lender} a {covenant} {doc} of {company} for {q}.",
        ),
        write=(
            "Read {files}. Write {path} with one line each for {keys}.",
            "The sources are {files}. Put one line each for {keys} in {path}.",
            "Use {files} and write {path} with these lines: {keys}.",
        ),
        threshold=("the {d} {c} {dir} {n}", "by the {d} {c} {dir} {n}", "under the {d} {c} {dir} {n}"),
        tests=("tests use {e} accounts", "the tests use {e}", "all tests use {e} figures"),
        governs=("for {q} under {d}", "so {q} under {d}", "then {q} falls under {d}"),
        ratio=("ratio {e} {q} {n}", "ratio of {e} {q} {n}", "the {e} {q} ratio {n}"),
        waiver=("the {q} waiver {s}", "for {q} waiver {s}", "for {q} waiver {s} by {lender}"),
    ),
    "validation": Phrases(
        ask=(
            "Prepare a {doc} for {q} on the {covenant} of {company}.",
            "A {covenant} {doc} is due at {company} for {q}.",
        ),
        write=("Read {files} first. Then write {path} with a line for each of {keys}.",),
        threshold=("our {d} {c} {dir} {n}",),
        tests=("our tests use {e}",),
        governs=("the {q} under {d}",),
        ratio=("we have {e} {q} {n}",),
        waiver=("on {q} waiver {s}",),
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
        threshold=("see the {d} {c} {dir} {n}", "of the {d} {c} {dir} {n}"),
        tests=("these tests use {e} accounts", "please note tests use {e}"),
        governs=("all of {q} under {d}", "in {q} under {d}"),
        ratio=("for {e} {q} {n}", "all {e} {q} {n}"),
        waiver=("now {q} waiver {s}", "in {q} waiver {s}"),
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
        files=f"{AGREEMENT}, {AMENDMENT}, {LEDGER} and {WAIVER}",
        path=path,
        keys=f"{', '.join(plans.KEYS[:-1])} and {plans.KEYS[-1]}",
    )
    meaning = (
        f"Document is the one that {truth.period} falls under, entity is the one that tests use, "
        "result is met or breach, waiver is signed or unsigned."
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


def _files(truth: CovenantTruth, rng: random.Random, phrases: Phrases) -> dict[str, FileDraft]:
    threshold, governs = rng.choice(phrases.threshold), rng.choice(phrases.governs)
    ratio, waiver = rng.choice(phrases.ratio), rng.choice(phrases.waiver)

    def limit(document: str) -> str:
        value = truth.thresholds["agreement" if document == "agreement" else "amendment"]
        return threshold.format(d=document, c=truth.covenant, dir=truth.direction, n=decimal(value))

    periods = [governs.format(q=q, d="amendment" if q in truth.amendment_periods else "agreement") for q in PERIODS]
    keys = [(e, q) for e in (truth.entity, truth.decoy_entity) for q in (truth.period, truth.other_period)]
    rng.shuffle(keys)
    rows = [ratio.format(e=e, q=q, n=decimal(truth.line(e, q, truth.covenant).ratio)) for e, q in keys]
    waivers = [waiver.format(q=q, s=s, lender=truth.lender) for q, s in truth.waivers.items()]
    rng.shuffle(waivers)
    year_end = truth.frozen_time[:10]
    return {
        AGREEMENT: text_file(
            (
                f"{truth.borrower} credit agreement",
                limit("agreement"),
                rng.choice(phrases.tests).format(e=truth.entity),
            ),
            truth.agreement_date,
        ),
        AMENDMENT: text_file((f"{truth.borrower} amendment", limit("amendment"), *periods), truth.amendment_date),
        LEDGER: text_file((f"{truth.borrower} {truth.covenant} ratios", *rows), year_end),
        WAIVER: text_file((f"{truth.borrower} waivers", *waivers), year_end),
    }


def _requirements(truth: CovenantTruth, path: str) -> tuple[Requirement, ...]:
    return (
        Requirement(id="document", text=f"{path} names the document that {truth.period} falls under"),
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
    limit, ratio, documents = decimal(truth.thresholds[governing]), decimal(truth.ratio), (AGREEMENT, AMENDMENT)
    said = f"The governing document for {q} is the {governing}"
    yield criterion("document", said, 2.0, field(path, "document", governing), "document", (AMENDMENT,), "authority")
    said = f"The {c} threshold is {limit}, that of the {governing}"
    yield criterion("threshold", said, 2.0, field(path, "threshold", limit), "threshold", documents, "authority")
    said = f"The tested accounts are those of the {entity}"
    yield criterion("entity", said, 1.0, field(path, "entity", entity), "ratio", (AGREEMENT,))
    said = f"The tested ratio is {ratio}, that of the {entity} in {q}"
    yield criterion("ratio", said, 2.0, field(path, "ratio", ratio), "ratio", (AGREEMENT, LEDGER))
    said = f"The result is {truth.result}: {ratio} against a {truth.direction} of {limit}"
    yield criterion("result", said, 1.0, field(path, "result", truth.result), "result", (*documents, LEDGER))
    said = f"The waiver for {q} is {truth.waivers[q]}"
    yield criterion("waiver", said, 2.0, field(path, "waiver", truth.waivers[q]), "waiver", (WAIVER,))


def _errors(truth: CovenantTruth, path: str) -> Iterator[Criterion]:
    q, c, other = truth.period, truth.covenant, truth.other_document
    limit = decimal(truth.thresholds[other])
    documents = (AGREEMENT, AMENDMENT)
    said = f"The threshold given is {limit}, that of the {other}, which does not govern {q}"
    yield criterion(
        "error_other_document", said, -2.0, field(path, "threshold", limit), "threshold", documents, "authority"
    )
    keys = ((truth.decoy_entity, q), (truth.decoy_entity, truth.other_period), (truth.entity, truth.other_period))
    decoys = [decimal(truth.line(e, p, c).ratio) for e, p in keys]
    said = f"The ratio given is one of another entity or quarter ({', '.join(decoys)})"
    yield criterion("error_lookalike_ratio", said, -2.0, field(path, "ratio", *decoys), "ratio", (LEDGER,), "source")
