"""The vendor benchmark as four short text files. Invariant: every rate line names entity and quarter."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from journeyman.records.rubric import Criterion, Rubric
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
    return Rubric(criteria=(*_credits(truth, path), *_errors(truth, path)))


def _credits(truth: VendorBenchmarkTruth, path: str) -> Iterator[Criterion]:
    q, vendor, lookalike = truth.cutoff, truth.vendor, truth.lookalike
    sources = (CONTRACT, SCOPE, RATES)
    said = f"The vendor is {vendor}, the party to the contract"
    yield criterion("vendor", said, 2.0, field(path, "vendor", vendor), "entity", (CONTRACT,), "authority")
    said = f"The entity excluded is {lookalike}, which is outside the contract"
    yield criterion("excluded", said, 2.0, field(path, "excluded", lookalike), "excluded", (CONTRACT,), "authority")
    said = f"The period is {q}, the cut-off"
    yield criterion("period", said, 1.0, field(path, "period", q), "period", (SCOPE,))
    said = f"The rate is {truth.rate}, that of {vendor} in {q}"
    yield criterion("rate", said, 3.0, field(path, "rate", truth.rate), "rates", sources)
    said = f"The peer rate is {truth.peer_rate}, that of {truth.peer} in {q}"
    yield criterion("peer", said, 1.0, field(path, "peer", truth.peer_rate), "rates", (SCOPE, RATES))
    said = f"The lower rate is that of {truth.cheaper}"
    yield criterion("lower", said, 1.0, field(path, "lower", truth.cheaper), "lower", sources)


def _errors(truth: VendorBenchmarkTruth, path: str) -> Iterator[Criterion]:
    lookalike, late = truth.lookalike, truth.rate_of(truth.vendor, truth.after)
    rates = [truth.rate_of(lookalike, q) for q in (truth.cutoff, truth.after)]
    taken = any_of(field(path, "vendor", lookalike), field(path, "rate", *rates))
    said = f"{lookalike} or one of its rates ({rates[0]}, {rates[1]}) is given as the vendor's"
    yield criterion("error_lookalike", said, -2.0, taken, "entity", (CONTRACT, RATES), "source")
    said = f"The rate given is {late}, of {truth.after}, which is after the cut-off"
    yield criterion("error_after_cutoff", said, -2.0, field(path, "rate", late), "rates", (SCOPE, RATES), "source")
