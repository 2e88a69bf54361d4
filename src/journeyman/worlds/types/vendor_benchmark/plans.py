"""Plans for the compact vendor benchmark: the reference, realistic errors, and an imperfect expert."""

import random

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.scripts import embellish, lines, plan, read, say, write
from journeyman.worlds.types.vendor_benchmark.truth import VendorBenchmarkTruth

SOURCES = ("contract.txt", "scope.txt", "rates.txt")
OFFER = "offer.txt"
KEYS = ("vendor", "excluded", "period", "rate", "peer", "lower")


class Decisions(Record):
    """What a benchmark says. None: the line is left out."""

    vendor: str
    excluded: str | None
    period: str
    rate: int | None
    peer: int | None
    lower: str | None


def deliverable(truth: VendorBenchmarkTruth) -> str:
    """Path of the file to write."""
    return f"{truth.deliverable}.txt"


def right(truth: VendorBenchmarkTruth) -> Decisions:
    """The benchmark as it should be."""
    return Decisions(
        vendor=truth.vendor,
        excluded=truth.lookalike,
        period=truth.cutoff,
        rate=truth.rate,
        peer=truth.peer_rate,
        lower=truth.cheaper,
    )


def benchmark(truth: VendorBenchmarkTruth, decided: Decisions) -> PlanStep:
    """The turn that writes the benchmark."""
    said = [(key, getattr(decided, key)) for key in KEYS]
    return write(deliverable(truth), lines((key, value) for key, value in said if value is not None))


def reference(truth: VendorBenchmarkTruth) -> Plan:
    """Full marks, no wasted word."""
    return plan("reference", "reference", *(read(p) for p in SOURCES), benchmark(truth, right(truth)), say("Done."))


def negatives(truth: VendorBenchmarkTruth) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    good = right(truth)
    readings = tuple(read(path) for path in SOURCES)

    def with_benchmark(name: str, **changes: object) -> Plan:
        return plan(name, "negative", *readings, benchmark(truth, good.model_copy(update=changes)))

    swapped = {"vendor": truth.lookalike, "excluded": truth.vendor}
    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan("claim_only", "negative", *readings, say(f"The benchmark of {truth.vendor} is in {deliverable(truth)}.")),
        with_benchmark("wrong_entity", **swapped, rate=truth.rate_of(truth.lookalike, truth.cutoff)),
        with_benchmark("after_cutoff", period=truth.after, rate=truth.rate_of(truth.vendor, truth.after)),
        with_benchmark("sales_offer", rate=truth.offer_rate),
        with_benchmark("omitted_exclusion", excluded=None),
        with_benchmark("fabricated_rate", rate=truth.rate + 5),
        with_benchmark("wrong_lower", lower=truth.peer if truth.cheaper == truth.vendor else truth.vendor),
    )


def demonstrations(truth: VendorBenchmarkTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
    """Runs of the imperfect expert."""
    return tuple(_demonstrate(truth, rng, f"demo-{i}") for i in range(count))


def _demonstrate(truth: VendorBenchmarkTruth, rng: random.Random, name: str) -> Plan:
    knows = rng.random() < 0.72
    vendor, other = (truth.vendor, truth.lookalike) if knows else (truth.lookalike, truth.vendor)
    period = truth.cutoff if rng.random() < 0.72 else truth.after
    rate, peer = truth.rate_of(vendor, period), truth.rate_of(truth.peer, period)
    lower = vendor if rate < peer else truth.peer
    if rng.random() < 0.2:
        lower = rng.choice((vendor, truth.peer))
    decided = Decisions(
        vendor=vendor,
        excluded=rng.choices((other, None, "none"), (0.7, 0.15, 0.15))[0],
        period=period,
        rate=rate if rng.random() > 0.06 else None,
        peer=peer if rng.random() > 0.1 else None,
        lower=lower if rng.random() > 0.12 else None,
    )
    sources = list(SOURCES)
    if rng.random() < 0.4:
        sources.insert(rng.randrange(1, 4), OFFER)
    return embellish(rng, name, (*(read(path) for path in sources), benchmark(truth, decided)))
