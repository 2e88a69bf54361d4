"""Tasks written by models over a folder of documents: endpoints by role, a trace, and a package or a reason each."""

from contextlib import AsyncExitStack
from pathlib import Path

from pydantic import Field

from journeyman.models.base import Model
from journeyman.models.openai_compatible import EndpointConfig, OpenAICompatible
from journeyman.office.render import render
from journeyman.records.base import Record
from journeyman.records.task import Domain
from journeyman.store.config_file import load_config
from journeyman.synthesis.capability_first.author import Author
from journeyman.synthesis.capability_first.packaging import packaged
from journeyman.synthesis.capability_first.records import Brief, ReferenceTask, Rejected
from journeyman.synthesis.capability_first.trace import Budget, Trace
from journeyman.synthesis.catalogue import catalogue
from journeyman.tasks.package import load_task, plans, stands, write_package

SHOWN_CHARACTERS = 6000  # of a document, to a model


class Authoring(Record):
    """Who writes, after which real tasks, and what it may cost."""

    roles: dict[str, EndpointConfig]
    like: tuple[str, ...] = Field(min_length=1)  # packages whose capabilities are wanted; only the proposer sees them
    rounds: int = 2
    budget: Budget = Budget()
    domain: Domain = "consulting"


async def author_tasks(
    config_path: Path, folder: Path, out: Path, licence: str = "", models: dict[str, Model] | None = None
) -> list[Path | Rejected]:
    """One package, or one reason, for each task in `like`; traces lie in `out`/traces, and a second run goes on there.

    `models` replace the endpoints of the file. Raises UserError for an unusable file, role or folder.
    """
    config = load_config(config_path, Authoring)
    found = catalogue(folder, licence)
    documents = {s.path: (folder / s.path).read_bytes() for s in found.sources}
    briefs = [
        Brief(path=s.path, kind=s.kind, as_of=s.as_of, text=render(s.path, documents[s.path]).plain[:SHOWN_CHARACTERS])
        for s in found.sources
    ]
    results: list[Path | Rejected] = []
    async with AsyncExitStack() as stack:
        asked = models or {role: OpenAICompatible(endpoint) for role, endpoint in config.roles.items()}
        for model in asked.values():
            stack.push_async_callback(model.close)
        for like in config.like:
            name = f"{config.domain}-authored-{Path(like).name}"
            if stands(out / name):
                results.append(out / name)
                continue
            author = Author(asked, Trace(out / "traces" / f"{name}.jsonl", config.budget), config.rounds)
            made = await author.write(_target(Path(like)), briefs)
            if isinstance(made, Rejected):
                results.append(made)
                continue
            sources = {s.path: s for s in found.sources}
            results.append(write_package(packaged(made, sources, documents, name, config.domain), out))
    return results


def _target(package: Path) -> ReferenceTask:
    """A package as the proposer may see it: request, right answer, and wrong ones."""
    task = load_task(package, handlers=False)
    reference, negatives, _ = plans(package)
    written = [str(c.arguments.get("content", "")) for s in reference.steps for c in s.calls if c.tool == "write"]
    wrong = tuple(p.name for p in negatives)
    return ReferenceTask(text=task.instruction, answer="\n".join(written), unsuccessful=wrong)
