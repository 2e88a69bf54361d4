"""An accepted proposal as a task package draft: what the models agreed on, over the catalogue's own documents.

Invariant: the reference is the blind solution that met the contract in full, the negatives are the adversary's errors.
"""

from collections.abc import Mapping

from journeyman.records.base import canonical_json, sha256_hex
from journeyman.records.task import Budget, Domain, Plan, Requirement, TaskMetadata
from journeyman.synthesis.capability_first.records import Proposal
from journeyman.synthesis.capability_first.screening import PATH, rubric_of
from journeyman.synthesis.catalogue import Source
from journeyman.synthesis.environment_first.from_documents import placed
from journeyman.tasks.draft import PackageDraft, PackageFile
from journeyman.worlds.scripts import call, lines, plan, say, write

_ASK = f"Write {PATH} with one line `label: value` for each of these labels."


def packaged(
    proposal: Proposal, sources: Mapping[str, Source], documents: Mapping[str, bytes], name: str, domain: Domain
) -> PackageDraft:
    """The draft, with evidence paths as they lie in the workspace."""
    request = proposal.request
    rubric = rubric_of(request, proposal.contract)
    moved = tuple(c.model_copy(update={"evidence": tuple(placed(e) for e in c.evidence)}) for c in rubric.criteria)
    origin = canonical_json(sorted(sources[path].sha256 for path in proposal.sources))
    office = any(path.rsplit(".", 1)[-1] in {"docx", "xlsx", "pptx", "pdf"} for path in proposal.sources)
    labels = "\n".join(f"- {label}: {what}" for label, what in request.labels.items())
    rules = "".join(f" {rule.rstrip('.')}." for rule in request.rules)
    told = f"You are {request.role}. {request.trigger} The result goes to {request.audience}, for {request.use}."
    errors = (_plan(f"adversary_{i}", fields) for i, fields in enumerate(proposal.attack.errors, start=1))
    return PackageDraft(
        metadata=TaskMetadata(
            name=f"journeyman/{name}",
            environment_type=f"{domain}.authored",
            domain=domain,
            size="standard",
            split="train",
            seed=0,
            frozen_time="2026-01-15T09:00:00+00:00",
            capabilities=("files", "office") if office else ("files",),
            deliverables=(PATH,),
            trainable=True,
            lineage={
                "generator": "journeyman.synthesis.capability_first",
                "ground_truth": proposal.digest(),
                "sources": sha256_hex(origin),
                "structure": proposal.structure.digest(),
                **{f"author_{role}": model for role, model in proposal.authors.items()},
            },
        ),
        instruction=f"{told}{rules}\n\n{_ASK}\n\n{labels}\n",
        requirements=tuple(Requirement(id=label, text=f"{label}: {what}") for label, what in request.labels.items()),
        files={placed(p): PackageFile(documents[p], "user", sources[p].as_of) for p in proposal.sources},
        rubric=rubric.model_copy(update={"criteria": moved}),
        reference=_plan("reference", proposal.solution.fields),
        negatives=(*errors, plan("claim_only", "negative", say(f"{PATH} is done.")), _half(proposal)),
        budget=Budget(max_turns=40),
    )


def _plan(name: str, fields: Mapping[str, str]) -> Plan:
    look = call(("glob", {"pattern": "documents/*"}))
    kind = "reference" if name == "reference" else "negative"
    return plan(
        name, "reference" if kind == "reference" else "negative", look, write(PATH, lines(fields.items())), say("Done.")
    )


def _half(proposal: Proposal) -> Plan:
    fields = list(proposal.solution.fields.items())
    return _plan("half", dict(fields[: max(1, len(fields) // 2)]))
