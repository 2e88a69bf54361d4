"""The vendor benchmark as short text files: which entity and quarter count decides which file to read."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Requirement, Split
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, WorldDraft, text_file
from journeyman.worlds.criteria import any_of, criterion, field
from journeyman.worlds.types.vendor_benchmark import plans
from journeyman.worlds.types.vendor_benchmark.truth import VendorBenchmarkTruth

CONTRACT, SCOPE, OFFER = plans.CONTRACT, plans.SCOPE, plans.OFFER


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
    peer_rate: tuple[str, ...]
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
        party=("vendor {v}", "the vendor {v} signed", "signed by the vendor {v}"),
        outside=("excluded {v}", "excluded {v} for good", "excluded {v} since {why}"),
        peer=("compare {v}", "we compare {v}", "so compare {v}"),
        cutoff=("period {q}", "the period {q}", "last period {q}"),
        after=("not {q}", "and not {q}", "we do not use {q}"),
        rate=("rate {n}", "the rate {n}", "{service} rate {n}"),
        peer_rate=("peer {n}", "the peer {n}", "{service} peer {n}"),
        offer=("{who} of {e} offers {n}", "please use {n} for {e}", "{e} will take {n} from {q}"),
    ),
    "validation": Phrases(
        ask=("Prepare for {client} a {doc} on {service} by {stem}.", "A {service} {doc} on {stem} is due at {client}."),
        write=("Read {files} first. Then write {path} with a line for each of {keys}.",),
        party=("our vendor {v}",),
        outside=("we excluded {v}",),
        peer=("then compare {v}",),
        cutoff=("our period {q}",),
        after=("so not {q}",),
        rate=("our rate {n}",),
        peer_rate=("our peer {n}",),
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
        party=("for us vendor {v}", "by contract vendor {v}"),
        outside=("for us excluded {v}", "by contract excluded {v}"),
        peer=("for us compare {v}", "in all compare {v}"),
        cutoff=("for us period {q}", "use the period {q}"),
        after=("please not {q}", "for us not {q}"),
        rate=("for us rate {n}", "in all rate {n}"),
        peer_rate=("for us peer {n}", "in all peer {n}"),
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
        files=_names(truth),
        path=path,
        keys=f"{', '.join(plans.KEYS[:-1])} and {plans.KEYS[-1]}",
    )
    meaning = (
        "Vendor and excluded are as in the contract, period is as in the scope, "
        "rate and peer are what the two take in that period, lower is vendor or peer, whichever takes less."
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


def _names(truth: VendorBenchmarkTruth) -> str:
    """The sources, as the instruction lists them."""
    rates = sorted(plans.rate_path(e, q) for e in (truth.vendor, truth.lookalike) for q in _quarters(truth))
    *names, last = (CONTRACT, SCOPE, OFFER, *rates, *(plans.peer_path(q) for q in _quarters(truth)))
    return f"{', '.join(names)} and {last}"


def _quarters(truth: VendorBenchmarkTruth) -> tuple[str, str]:
    return truth.cutoff, truth.after


def _files(truth: VendorBenchmarkTruth, rng: random.Random, phrases: Phrases) -> dict[str, FileDraft]:
    rate, peer_rate, service = rng.choice(phrases.rate), rng.choice(phrases.peer_rate), truth.service
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
    files = {
        CONTRACT: text_file((f"{truth.client} {service} contract", *contract), truth.contract_date),
        SCOPE: text_file((f"{truth.client} scope", *scope), today),
        OFFER: text_file((f"mail to {truth.client}", offer), truth.mail_date),
    }
    for q in _quarters(truth):
        for e in (truth.vendor, truth.lookalike):
            row = rate.format(service=service, n=truth.rate_of(e, q))
            files[plans.rate_path(e, q)] = text_file((f"{e} {q}", row), today)
        row = peer_rate.format(service=service, n=truth.rate_of(truth.peer, q))
        files[plans.peer_path(q)] = text_file((f"{truth.peer} {q}", row), today)
    return files


def _requirements(truth: VendorBenchmarkTruth, path: str) -> tuple[Requirement, ...]:
    return (
        Requirement(id="entity", text=f"{path} names the {truth.stem} entity that is party to the contract"),
        Requirement(id="excluded", text=f"{path} names the {truth.stem} entity that is outside the contract"),
        Requirement(id="period", text=f"{path} names the cut-off quarter"),
        Requirement(id="rates", text=f"{path} gives the rates of the vendor and of the peer in that quarter"),
        Requirement(id="lower", text=f"{path} says which of the two, vendor or peer, takes less"),
    )


def _rubric(truth: VendorBenchmarkTruth, path: str) -> Rubric:
    return Rubric(criteria=(*_credits(truth, path), *_errors(truth, path)))


def _credits(truth: VendorBenchmarkTruth, path: str) -> Iterator[Criterion]:
    q, vendor, lookalike = truth.cutoff, truth.vendor, truth.lookalike
    own, peers = plans.rate_path(vendor, q), plans.peer_path(q)
    said = f"The vendor is {vendor}, the party to the contract"
    yield criterion("vendor", said, 2.0, field(path, "vendor", vendor), "entity", (CONTRACT,), "authority")
    said = f"The entity excluded is {lookalike}, which is outside the contract"
    yield criterion("excluded", said, 2.0, field(path, "excluded", lookalike), "excluded", (CONTRACT,), "authority")
    said = f"The period is {q}, the cut-off"
    yield criterion("period", said, 1.0, field(path, "period", q), "period", (SCOPE,))
    said = f"The rate is {truth.rate}, that of {vendor} in {q}"
    yield criterion("rate", said, 3.0, field(path, "rate", truth.rate), "rates", (CONTRACT, SCOPE, own))
    said = f"The peer rate is {truth.peer_rate}, that of {truth.peer} in {q}"
    yield criterion("peer", said, 1.0, field(path, "peer", truth.peer_rate), "rates", (SCOPE, peers))
    said = f"The lower rate is that of {truth.cheaper}"
    lower = ("vendor", vendor) if truth.cheaper == vendor else ("peer", truth.peer)
    yield criterion("lower", said, 1.0, field(path, "lower", *lower), "lower", (own, peers))


def _errors(truth: VendorBenchmarkTruth, path: str) -> Iterator[Criterion]:
    lookalike, late = truth.lookalike, truth.rate_of(truth.vendor, truth.after)
    rates = [truth.rate_of(lookalike, q) for q in _quarters(truth)]
    taken = any_of(field(path, "vendor", lookalike), field(path, "rate", *rates))
    said = f"{lookalike} or one of its rates ({rates[0]}, {rates[1]}) is given as the vendor's"
    evidence = (CONTRACT, *(plans.rate_path(lookalike, q) for q in _quarters(truth)))
    yield criterion("error_lookalike", said, -1.0, taken, "entity", evidence, "source")
    said = f"The rate given is {late}, of {truth.after}, which is after the cut-off"
    evidence = (SCOPE, plans.rate_path(truth.vendor, truth.after))
    yield criterion("error_after_cutoff", said, -1.0, field(path, "rate", late), "rates", evidence, "source")
