"""The vendor benchmark as four short text files. Invariant: every rate line names entity and quarter."""

import random
from typing import NamedTuple

from journeyman.records.rubric import Rubric
from journeyman.records.task import Requirement, Split
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, WorldDraft, text_file
from journeyman.worlds.criteria import any_of, criterion, field
from journeyman.worlds.types.vendor_benchmark import plans
from journeyman.worlds.types.vendor_benchmark.truth import VendorBenchmarkTruth

CONTRACT, SCOPE, RATES = plans.SOURCES
OFFER = plans.OFFER


class Phrases(NamedTuple):
    """Sentence templates of a split; one of each is drawn per world."""

    ask: tuple[str, ...]
    write: tuple[str, ...]
    party: tuple[str, ...]
    outside: tuple[str, ...]
    peer: tuple[str, ...]
    cutoff: tuple[str, ...]
    after: tuple[str, ...]
    rate: tuple[str, ...]
    offer: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        ask=(
            "Benchmark the {service} rate of {stem} for {client}.",
            "{client} needs a {doc} of what it pays {stem} for {service}.",
            "Please prepare the {service} {doc} on {stem} for {client}.",
            "We owe {client} a {doc} of the {service} rate of {stem}.",
        ),
        write=(
            "Read {files}. Write {path} with one line each for {keys}.",
            "The sources are {files}. Put one line each for {keys} in {path}.",
            "Use {files} and write {path} with these lines: {keys}.",
        ),
        party=("party {v}", "the party {v} signed", "signed by the party {v}"),
        outside=("outside {v}", "outside {v} for good", "outside {v} since {why}"),
        peer=("peer {v}", "take as peer {v}", "our peer {v}"),
        cutoff=("cutoff {q}", "the cutoff {q}", "rates up to cutoff {q}"),
        after=("not {q}", "and not {q}", "we do not use {q}"),
        rate=("{e} {q} {n}", "{e} {q} rate {n}", "rate of {e} {q} {n}"),
        offer=("{who} of {e} offers {n}", "please use {n} for {e}", "{e} will take {n} from {q}"),
    ),
    "validation": Phrases(
        ask=("Prepare for {client} a {doc} on {service} by {stem}.", "A {service} {doc} on {stem} is due at {client}."),
        write=("Read {files} first. Then write {path} with a line for each of {keys}.",),
        party=("for us the party {v}",),
        outside=("this is outside {v}",),
        peer=("for us the peer {v}",),
        cutoff=("for us the cutoff {q}",),
        after=("so not {q}",),
        rate=("the {e} {q} {n}",),
        offer=("{e} says {n} for {q}",),
    ),
    "heldout": Phrases(
        ask=(
            "{client} will read a {doc} on the {service} rate of {stem}.",
            "For {client}, prepare a {doc} of {service} by {stem}.",
            "What {client} pays {stem} for {service} needs a {doc}.",
        ),
        write=(
            "Use the sources {files}. Then write one line each for {keys} in {path}.",
            "Please read {files} and put these lines in {path}: {keys}.",
        ),
        party=("by this the party {v}", "in the contract party {v}"),
        outside=("by this outside {v}", "in the contract outside {v}"),
        peer=("use the peer {v}", "for the rate peer {v}"),
        cutoff=("use the cutoff {q}", "for the rate cutoff {q}"),
        after=("please not {q}", "for the rate not {q}"),
        rate=("for {e} {q} {n}", "all {e} {q} {n}"),
        offer=("from {q} please use {n} of {e}", "we take {n} says {e}"),
    ),
}


def realise(truth: VendorBenchmarkTruth) -> WorldDraft:
    """The compact world of a truth."""
    rng = random.Random(f"compact:{truth.seed}:{truth.split}:consulting.vendor_benchmark")
    phrases = PHRASES[truth.split]
    path = plans.deliverable(truth)
    ask = rng.choice(phrases.ask).format(
        service=truth.service, stem=truth.stem, client=truth.client, doc=truth.deliverable
    )
    how = rng.choice(phrases.write).format(
        files=f"{CONTRACT}, {SCOPE}, {RATES} and {OFFER}",
        path=path,
        keys=f"{', '.join(plans.KEYS[:-1])} and {plans.KEYS[-1]}",
    )
    meaning = (
        "Vendor is the party to the contract, excluded the one outside it, period the cutoff, "
        "rate and peer their rates in that period, lower the name of the one with the lower rate."
    )
    return WorldDraft(
        environment_type="consulting.vendor_benchmark",
        domain="consulting",
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


def _files(truth: VendorBenchmarkTruth, rng: random.Random, phrases: Phrases) -> dict[str, FileDraft]:
    rate = rng.choice(phrases.rate)
    keys = [(e, q) for e in (truth.vendor, truth.lookalike, truth.peer) for q in (truth.cutoff, truth.after)]
    rng.shuffle(keys)
    rows = [rate.format(e=e, q=q, n=truth.rate_of(e, q)) for e, q in keys]
    contract = [
        rng.choice(phrases.party).format(v=truth.vendor),
        rng.choice(phrases.outside).format(v=truth.lookalike, why=truth.contract_date),
    ]
    scope = [
        rng.choice(phrases.peer).format(v=truth.peer),
        rng.choice(phrases.cutoff).format(q=truth.cutoff),
        rng.choice(phrases.after).format(q=truth.after),
    ]
    rng.shuffle(contract)
    rng.shuffle(scope)
    offer = rng.choice(phrases.offer).format(
        who=truth.people["vendor_rep"], e=truth.offer_entity, n=truth.offer_rate, q=truth.after
    )
    today = truth.frozen_time[:10]
    return {
        CONTRACT: text_file((f"{truth.client} {truth.service} contract", *contract), truth.contract_date),
        SCOPE: text_file((f"{truth.client} scope", *scope), today),
        RATES: text_file((f"{truth.currency} for each {truth.unit}", *rows), today),
        OFFER: text_file((f"mail to {truth.client}", offer), truth.mail_date),
    }


def _requirements(truth: VendorBenchmarkTruth, path: str) -> tuple[Requirement, ...]:
    return (
        Requirement(id="entity", text=f"{path} names the {truth.stem} entity that is party to the contract"),
        Requirement(id="excluded", text=f"{path} names the {truth.stem} entity that is outside the contract"),
        Requirement(id="period", text=f"{path} names the cut-off quarter"),
        Requirement(id="rates", text=f"{path} gives the rates of the vendor and of the peer in that quarter"),
        Requirement(id="lower", text=f"{path} names the one of the two with the lower rate"),
    )


def _rubric(truth: VendorBenchmarkTruth, path: str) -> Rubric:
    q = truth.cutoff
    lookalike = [truth.rate_of(truth.lookalike, p) for p in (q, truth.after)]
    late = truth.rate_of(truth.vendor, truth.after)
    sources = (CONTRACT, SCOPE, RATES)
    return Rubric(
        criteria=(
            criterion(
                "vendor",
                f"The vendor is {truth.vendor}, the party to the contract",
                2.0,
                field(path, "vendor", truth.vendor),
                "entity",
                (CONTRACT,),
                "authority",
            ),
            criterion(
                "excluded",
                f"The entity excluded is {truth.lookalike}, which is outside the contract",
                2.0,
                field(path, "excluded", truth.lookalike),
                "excluded",
                (CONTRACT,),
                "authority",
            ),
            criterion("period", f"The period is {q}, the cut-off", 1.0, field(path, "period", q), "period", (SCOPE,)),
            criterion(
                "rate",
                f"The rate is {truth.rate}, that of {truth.vendor} in {q}",
                3.0,
                field(path, "rate", truth.rate),
                "rates",
                sources,
            ),
            criterion(
                "peer",
                f"The peer rate is {truth.peer_rate}, that of {truth.peer} in {q}",
                1.0,
                field(path, "peer", truth.peer_rate),
                "rates",
                (SCOPE, RATES),
            ),
            criterion(
                "lower",
                f"The lower rate is that of {truth.cheaper}",
                1.0,
                field(path, "lower", truth.cheaper),
                "lower",
                sources,
            ),
            criterion(
                "error_lookalike",
                f"{truth.lookalike} or one of its rates ({lookalike[0]}, {lookalike[1]}) is given as the vendor's",
                -2.0,
                any_of(field(path, "vendor", truth.lookalike), field(path, "rate", *lookalike)),
                "entity",
                (CONTRACT, RATES),
                "source",
            ),
            criterion(
                "error_after_cutoff",
                f"The rate given is {late}, of {truth.after}, which is after the cut-off",
                -2.0,
                field(path, "rate", late),
                "rates",
                (SCOPE, RATES),
                "source",
            ),
        )
    )
