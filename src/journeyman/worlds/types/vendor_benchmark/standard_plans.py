"""Plans for the standard vendor benchmark: read, then write a workbook; each negative is one real error."""

from typing import Any

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.documents.scripts import list_files, overwrite, read_office, write_xlsx
from journeyman.worlds.scripts import plan, read, say
from journeyman.worlds.types.vendor_benchmark.standard_files import offer_mail
from journeyman.worlds.types.vendor_benchmark.standard_scene import Scene, percent, quarter


class Benchmark(Record):
    """What the workbook says. None: the row is left out."""

    vendor: str
    excluded: str | None
    period: str
    rate: int
    peer_rate: int
    lower: str
    median: float
    rank: int
    volume: int
    offer_rate: int | None
    panel: dict[str, int]  # entity -> rate, every entity of the rate table but the look-alike
    barred: str | None


def deliverable(scene: Scene) -> str:
    """Path of the file to write."""
    return f"benchmark/{scene.truth.deliverable}.xlsx"


def right(scene: Scene) -> Benchmark:
    """The benchmark as it should be."""
    t = scene.truth
    return Benchmark(
        vendor=t.vendor,
        excluded=t.lookalike,
        period=scene.quarter,
        rate=t.rate,
        peer_rate=t.peer_rate,
        lower=t.cheaper,
        median=scene.median,
        rank=scene.rank,
        volume=scene.volume,
        offer_rate=t.offer_rate,
        panel={**scene.panel_rates, scene.barred: t.rate_of(scene.barred, t.cutoff)},
        barred=scene.barred,
    )


def summary(scene: Scene, said: Benchmark) -> list[list[Any]]:
    """Rows of the sheet "Summary", in the words of the request."""
    cost = said.volume * said.rate
    rows: list[list[Any]] = [
        ["Item", "Value"],
        ["Vendor under contract", said.vendor],
        ["Excluded look-alike", said.excluded],
        ["Cut-off quarter", said.period],
        ["Vendor rate", said.rate],
        ["Peer", scene.truth.peer],
        ["Peer rate", said.peer_rate],
        ["Lower of the two", said.lower],
        ["Difference in per cent", float(percent(said.rate, said.peer_rate))],
        ["Panel median", said.median],
        ["Vendor rank in panel", said.rank],
        ["Annual volume", said.volume],
        ["Annual cost at vendor rate", ["=B12*B5", cost] if said.excluded is not None else cost],
        ["Offer not used", said.offer_rate],
    ]
    return [row for row in rows if row[1] is not None]


def write_benchmark(scene: Scene, said: Benchmark) -> PlanStep:
    """The turn that writes the workbook."""
    t = scene.truth
    panel: list[list[Any]] = [["Entity", f"Rate {said.period}", "In panel", "Ground"]]
    for entity, rate in sorted(said.panel.items(), key=lambda item: item[1]):
        out = entity == said.barred
        panel.append([entity, rate, "no" if out else "yes", scene.barred_reason if out else "eligible"])
    sources: list[list[Any]] = [
        ["Source", "Used for"],
        [scene.contract, "party to the contract"],
        [scene.amendment, "volume"],
        [scene.brief, "cut-off and peer"],
        [scene.rate_table, "rates"],
        [scene.eligibility, "panel"],
        [offer_mail(scene), f"offer of {t.offer_entity} for {quarter(t, t.after)}, after the cut-off, not used"],
    ]
    sheets = {"Summary": summary(scene, said), "Panel": panel, "Sources": sources}
    return write_xlsx(deliverable(scene), sheets, text="Everything is there, so I write the workbook.")


def reference(scene: Scene) -> Plan:
    """Full marks."""
    t = scene.truth
    return plan(
        "reference",
        "reference",
        list_files(),
        read_office(scene.brief, scene.contract, scene.amendment, text="The brief and the contract decide."),
        read("scope/benchmark_method.md", offer_mail(scene)),
        read_office(scene.rate_table, scene.eligibility, text="Now the rates and the panel."),
        write_benchmark(scene, right(scene)),
        say(f"The benchmark is in {deliverable(scene)}. {t.lookalike} and the later offer are left out."),
    )


def negatives(scene: Scene) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    t = scene.truth
    good = right(scene)
    other = t.peer if t.cheaper == t.vendor else t.vendor

    def with_changes(name: str, *before: PlanStep, **changes: object) -> Plan:
        return plan(name, "negative", *before, write_benchmark(scene, good.model_copy(update=changes)))

    late = {
        "rate": t.rate_of(t.vendor, t.after),
        "peer_rate": t.rate_of(t.peer, t.after),
        "period": quarter(t, t.after),
    }
    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan("claim_only", "negative", read_office(scene.brief), say(f"I wrote {deliverable(scene)}.")),
        with_changes("wrong_entity", vendor=t.lookalike, excluded=t.vendor, rate=t.rate_of(t.lookalike, t.cutoff)),
        with_changes("after_cutoff", **late),
        with_changes("sales_offer", rate=t.offer_rate, offer_rate=None),
        with_changes("stale_source", volume=scene.old_volume),
        with_changes("barred_in_panel", barred=None, median=float(sorted(good.panel.values())[2])),
        with_changes("fabricated_median", median=good.median + 9, rank=good.rank % 4 + 1),
        with_changes("omitted_exclusion", excluded=None, offer_rate=None),
        with_changes("wrong_conclusion", lower=other),
        with_changes("source_tampering", overwrite(offer_mail(scene), "withdrawn\n")),
    )
