"""The vendor benchmark in standard size: some thirty office files, one workbook as deliverable."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Budget, Requirement, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.criteria import all_of, any_of, check, criterion, field
from journeyman.worlds.types.vendor_benchmark import standard_plans as plans
from journeyman.worlds.types.vendor_benchmark.standard_files import build, offer_mail
from journeyman.worlds.types.vendor_benchmark.standard_scene import Scene, file_name, number, percent, quarter, scene
from journeyman.worlds.types.vendor_benchmark.truth import VendorBenchmarkTruth

STANDARD_BUDGET = Budget(max_turns=80, max_sampled_tokens=64_000, policy_seconds=1800.0, command_seconds=60.0)


class Phrases(NamedTuple):
    """How a request is worded in a split."""

    opening: tuple[str, ...]
    task: tuple[str, ...]
    closing: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        (
            "{firm} benchmarks the {service} rates of {client} ahead of a {stage}.",
            "{partner} of {firm} needs the {service} benchmark for {client} ({stage}).",
        ),
        (
            "Work from the project drive and save the {doc} as {path}.",
            "All material is on the drive. Please prepare the {doc} and save it to {path}.",
        ),
        ("Names are alike and dates matter: the signed brief says what counts.", "Follow the signed brief and method."),
    ),
    "validation": Phrases(
        ("{client} asked {firm} how its {service} rates compare ({stage}).",),
        ("Build the {doc} from these files; put it in {path}.",),
        ("Where files differ, the brief and the contract come first.",),
    ),
    "heldout": Phrases(
        (
            "A {stage} is coming up at {client}, and {firm} is to compare its {service} rates.",
            "How competitive are the {service} rates of {client}? {firm} has to answer before the {stage}.",
        ),
        (
            "Use this folder only. The {doc} is expected at {path}.",
            "The folder holds what you need; leave the {doc} at {path}.",
        ),
        ("Beware of companies with almost the same name and of rates outside the period.", "The brief sets the scope."),
    ),
}


def standard(truth: VendorBenchmarkTruth) -> WorldDraft:
    """The standard world of a truth."""
    setting = scene(truth)
    return WorldDraft(
        environment_type="consulting.vendor_benchmark",
        domain="consulting",
        size="standard",
        split=truth.split,
        seed=truth.seed,
        instruction=_instruction(setting),
        requirements=_requirements(setting),
        files=build(setting).files,
        rubric=Rubric(criteria=(*_credit(setting), *_panel(setting), *_errors(setting))),
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
    rng = random.Random(f"standard-words:consulting:{t.split}:{t.seed}")
    values = {
        "firm": setting.advisor.name,
        "partner": t.people["partner"],
        "client": setting.client.name,
        "service": t.service,
        "stage": t.axes["stage"],
        "doc": t.deliverable,
        "path": plans.deliverable(setting),
    }
    opening, task, closing = (rng.choice(part).format(**values) for part in PHRASES[t.split])
    listed = "\n".join(f"- {row[0]}" for row in plans.summary(setting, plans.right(setting))[1:])
    return (
        f"{opening} {task} {closing}\n\n"
        'The workbook has three sheets. "Summary" has two columns, label and value, with these labels word for word '
        f"(the client's tool reads them):\n{listed}\n\n"
        f"Entities are given with their legal form, rates in {t.currency} per {t.unit}, the quarter as in "
        f'"{quarter(t, "q4")}". For the offer not used give the rate that the vendor\'s sales mail quotes. '
        '"Panel" lists the cut-off rate of every vendor compared and whether it is in the panel, and why not; '
        '"Sources" names the files you rely on and those you set aside. Leave the source files as they are.'
    )


def _requirements(setting: Scene) -> tuple[Requirement, ...]:
    path = plans.deliverable(setting)
    return (
        Requirement(id="entity", text=f"{path} names the company under contract and the look-alike left out"),
        Requirement(id="period", text=f"{path} uses the cut-off quarter"),
        Requirement(id="rates", text=f"{path} compares vendor and peer: rates, difference, the lower one"),
        Requirement(id="panel", text=f"{path} gives median, rank and the members of the panel"),
        Requirement(id="volume", text=f"{path} gives the agreed volume and the annual cost"),
        Requirement(id="offer", text=f"{path} shows the offer that is not used"),
        Requirement(id="evidence", text=f"{path} names its sources, and they stay as they are"),
    )


def _credit(setting: Scene) -> Iterator[Criterion]:
    t, path, good = setting.truth, plans.deliverable(setting), plans.right(setting)
    rates = (setting.rate_table, setting.brief)
    yield criterion(
        "vendor", f"The vendor under contract is {t.vendor}", 3.0, field(path, "Vendor under contract", t.vendor),
        "entity", (setting.contract,), "authority",
    )  # fmt: skip
    yield criterion(
        "excluded", f"The look-alike left out is {t.lookalike}", 2.0, field(path, "Excluded look-alike", t.lookalike),
        "entity", (setting.contract, f"register/{file_name(t.lookalike)}.pdf"), "authority",
    )  # fmt: skip
    yield criterion(
        "period", f"The cut-off quarter is {setting.quarter}", 2.0,
        field(path, "Cut-off quarter", setting.quarter, f"{t.year} {t.cutoff}"), "period", (setting.brief,),
        "authority",
    )  # fmt: skip
    yield criterion("rate", f"The vendor rate is {t.rate}", 3.0, field(path, "Vendor rate", t.rate), "rates", rates)
    yield criterion(
        "peer_rate", f"The peer rate is {t.peer_rate}", 2.0, field(path, "Peer rate", t.peer_rate), "rates", rates
    )
    yield criterion(
        "lower", f"The lower of the two is {t.cheaper}", 2.0, field(path, "Lower of the two", t.cheaper), "rates", rates
    )
    difference = percent(t.rate, t.peer_rate)
    yield criterion(
        "difference", f"The vendor is {difference} per cent against the peer", 2.0,
        check("field_equals", path=path, key="Difference in per cent", value=difference, tolerance=0.051), "rates",
        (*rates, "scope/benchmark_method.md"),
    )  # fmt: skip
    yield criterion(
        "volume", f"The annual volume is {setting.volume}", 2.0, field(path, "Annual volume", setting.volume), "volume",
        (setting.amendment,), "authority",
    )  # fmt: skip
    cost = setting.volume * t.rate
    yield criterion(
        "cost", f"The annual cost is {cost}", 1.0, field(path, "Annual cost at vendor rate", cost), "volume",
        (setting.amendment, setting.rate_table),
    )  # fmt: skip
    yield criterion(
        "offer", f"The offer not used is {good.offer_rate}", 1.0, field(path, "Offer not used", t.offer_rate), "offer",
        (offer_mail(setting),), "source",
    )  # fmt: skip


def _panel(setting: Scene) -> Iterator[Criterion]:
    path = plans.deliverable(setting)
    papers = (setting.rate_table, setting.eligibility)
    median = setting.median
    yield criterion(
        "median",
        f"The panel median is {number(median)}",
        2.0,
        field(path, "Panel median", number(median)),
        "panel",
        papers,
    )
    yield criterion(
        "rank", f"The vendor ranks {setting.rank} in the panel", 1.0, field(path, "Vendor rank in panel", setting.rank),
        "panel", papers,
    )  # fmt: skip
    members = [
        check("number_near", path=path, label=entity, value=rate)
        for entity, rate in setting.panel_rates.items()
        if entity not in (setting.truth.vendor, setting.truth.peer)
    ]
    yield criterion(
        "members", f"The panel shows the other members' rates and names {setting.barred}", 1.0,
        all_of(*members, check("text_contains", path=path, all=[setting.barred])), "panel", papers,
    )  # fmt: skip
    named = [path_.rsplit("/", 1)[1] for path_ in (setting.contract, setting.rate_table, setting.brief)]
    yield criterion(
        "sources", "Contract, rate table and signed brief are named as sources", 1.0,
        all_of(*(check("text_contains", path=path, any=[name, name.rsplit(".", 1)[0]]) for name in named)), "evidence",
        (setting.contract, setting.rate_table, setting.brief), "evidence",
    )  # fmt: skip


def _errors(setting: Scene) -> Iterator[Criterion]:
    t, path = setting.truth, plans.deliverable(setting)
    theirs = [t.rate_of(t.lookalike, q) for q in (t.cutoff, t.after)]
    yield criterion(
        "error_lookalike", f"{t.lookalike} or one of its rates stands for the vendor", -4.0,
        any_of(field(path, "Vendor under contract", t.lookalike), field(path, "Vendor rate", *theirs)), "entity",
        (setting.contract, setting.rate_table), "source",
    )  # fmt: skip
    later = t.rate_of(t.vendor, t.after)
    yield criterion(
        "error_after_cutoff", f"A rate or the name of {quarter(t, t.after)}, after the cut-off, is used", -3.0,
        any_of(
            field(path, "Vendor rate", later),
            field(path, "Peer rate", t.rate_of(t.peer, t.after)),
            field(path, "Cut-off quarter", quarter(t, t.after)),
        ),
        "period", (setting.brief, "scope/kick_off.pptx"), "source",
    )  # fmt: skip
    yield criterion(
        "error_old_volume", f"The volume {setting.old_volume}, which was amended, is used", -2.0,
        field(path, "Annual volume", setting.old_volume), "volume", (setting.contract, setting.amendment), "source",
    )  # fmt: skip
    other = t.peer if t.cheaper == t.vendor else t.vendor
    yield criterion(
        "error_conclusion", f"{other} is called the lower of the two", -2.0, field(path, "Lower of the two", other),
        "rates", (setting.rate_table,),
    )  # fmt: skip
    sources = [setting.contract, setting.amendment, setting.brief, setting.rate_table, setting.eligibility]
    sources.append(offer_mail(setting))
    kept = all_of(*(check("source_unchanged", path=source) for source in sources))
    yield criterion(
        "error_tampering", "A source file was changed or deleted", -3.0,
        check("not_", check=kept.model_dump(mode="json")), "evidence", tuple(sources), "integrity",
    )  # fmt: skip
