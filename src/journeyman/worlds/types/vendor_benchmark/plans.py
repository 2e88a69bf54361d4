"""Plans for the compact vendor benchmark: the reference, realistic errors, and an imperfect expert."""

import random

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.scripts import embellish, lines, plan, read, say, write
from journeyman.worlds.types.vendor_benchmark.truth import VendorBenchmarkTruth

CONTRACT, SCOPE, OFFER = "contract.txt", "scope.txt", "offer.txt"
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


def rate_path(entity: str, period: str) -> str:
    """Path of a rate of one of the look-alikes: they share the name, so the legal form tells them apart."""
    return f"{entity.split()[-1]}-{period}.txt"


def peer_path(period: str) -> str:
    """Path of the peer's rate in a quarter."""
    return f"peer-{period}.txt"


def readings(entity: str, period: str) -> tuple[PlanStep, ...]:
    """The turns that read what a benchmark of this entity and quarter needs, one file each."""
    return tuple(read(path) for path in (CONTRACT, SCOPE, rate_path(entity, period), peer_path(period)))


def right(truth: VendorBenchmarkTruth) -> Decisions:
    """The benchmark as it should be."""
    return Decisions(
        vendor=truth.vendor,
        excluded=truth.lookalike,
        period=truth.cutoff,
        rate=truth.rate,
        peer=truth.peer_rate,
        lower="vendor" if truth.cheaper == truth.vendor else "peer",
    )


def benchmark(truth: VendorBenchmarkTruth, decided: Decisions) -> PlanStep:
    """The turn that writes the benchmark."""
    said = [(key, getattr(decided, key)) for key in KEYS]
    return write(deliverable(truth), lines((key, value) for key, value in said if value is not None))


def reference(truth: VendorBenchmarkTruth) -> Plan:
    """Full marks, no wasted word."""
    steps = readings(truth.vendor, truth.cutoff)
    return plan("reference", "reference", *steps, benchmark(truth, right(truth)), say("Done."))


def negatives(truth: VendorBenchmarkTruth) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    good = right(truth)

    def with_benchmark(name: str, **changes: object) -> Plan:
        decided = good.model_copy(update=changes)
        return plan(name, "negative", *readings(decided.vendor, decided.period), benchmark(truth, decided))

    swapped = {"vendor": truth.lookalike, "excluded": truth.vendor}
    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan(
            "claim_only",
            "negative",
            *readings(truth.vendor, truth.cutoff),
            say(f"The benchmark of {truth.vendor} is in {deliverable(truth)}."),
        ),
        with_benchmark("wrong_entity", **swapped, rate=truth.rate_of(truth.lookalike, truth.cutoff)),
        with_benchmark("after_cutoff", period=truth.after, rate=truth.rate_of(truth.vendor, truth.after)),
        with_benchmark("sales_offer", rate=truth.offer_rate),
        with_benchmark("omitted_exclusion", excluded=None),
        with_benchmark("fabricated_rate", rate=truth.rate + 5),
        with_benchmark("wrong_lower", lower="peer" if good.lower == "vendor" else "vendor"),
    )


def demonstrations(truth: VendorBenchmarkTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
    """Runs of the imperfect expert."""
    return tuple(_demonstrate(truth, rng, f"demo-{i}") for i in range(count))


def _demonstrate(truth: VendorBenchmarkTruth, rng: random.Random, name: str) -> Plan:
    knows = rng.random() < 0.97
    vendor, other = (truth.vendor, truth.lookalike) if knows else (truth.lookalike, truth.vendor)
    period = truth.cutoff if rng.random() < 0.5 else truth.after
    rate, peer = truth.rate_of(vendor, period), truth.rate_of(truth.peer, period)
    lower = "vendor" if rate < peer else "peer"
    if rng.random() < 0.2:
        lower = rng.choice(("vendor", "peer"))
    decided = Decisions(
        vendor=vendor,
        excluded=rng.choices((other, None, "none"), (0.42, 0.54, 0.04))[0],
        period=period,
        rate=rate if rng.random() > 0.06 else None,
        peer=peer if rng.random() < 0.45 else None,
        lower=lower if rng.random() < 0.42 else None,
    )
    steps = list(readings(vendor, period))
    if rng.random() < 0.3:
        steps.insert(rng.randrange(1, 5), read(OFFER))
    return embellish(rng, name, (*steps, benchmark(truth, decided)))
