"""Making tasks: worlds of every asked type, split and seed as packages. The same recipe gives the same bytes."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from journeyman.pipeline.recipe import TasksRecipe
from journeyman.records.task import Size, Split, TaskMetadata
from journeyman.tasks.draft import PackageDraft, PackageFile
from journeyman.tasks.package import stands, write_package
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.curriculum import live_type
from journeyman.worlds.registry import DEFAULT_TYPES, environment_type, make_world

GENERATOR = "journeyman.worlds"


class Wanted(NamedTuple):
    """One task to make."""

    type: str
    seed: int
    split: Split
    size: Size

    @property
    def slug(self) -> str:
        """Unique in a release, safe as a path segment."""
        return f"{self.type.replace('.', '-').replace('_', '-')}-{self.size}-{self.split}-{self.seed}"


def wanted(recipe: TasksRecipe) -> Iterator[Wanted]:
    """Tasks of a recipe: each split's count shared evenly over the types, types in turn."""
    types = recipe.types or DEFAULT_TYPES
    for name in types:
        live_type(name)
    plan: tuple[tuple[Split, int, int], ...] = (
        ("train", recipe.train, recipe.seed),
        ("validation", recipe.validation, recipe.seed),
        ("heldout", recipe.heldout, recipe.heldout_seed),
    )
    for split, count, first in plan:
        for index in range(count):
            yield Wanted(types[index % len(types)], first + index // len(types), split, recipe.size)


def package_draft(draft: WorldDraft, slug: str) -> PackageDraft:
    """A world draft as the package writer takes it."""
    kind = environment_type(draft.environment_type)
    capabilities = ("files", *(("services",) if draft.services else ()), *_office(draft))
    return PackageDraft(
        metadata=TaskMetadata(
            name=f"journeyman/{slug}",
            environment_type=draft.environment_type,
            domain=draft.domain,
            size=draft.size,
            split=draft.split,
            seed=draft.seed,
            frozen_time=draft.frozen_time,
            capabilities=capabilities,
            axes=dict(draft.axes),
            deliverables=draft.deliverables,
            trainable=draft.split != "heldout",
            lineage={"generator": GENERATOR, "ground_truth": draft.truth_digest, "practice_area": kind.practice_area},
        ),
        instruction=draft.instruction,
        requirements=draft.requirements,
        files={path: PackageFile(f.data, f.provenance, f.as_of) for path, f in draft.files.items()},
        rubric=draft.rubric,
        reference=draft.reference,
        negatives=draft.negatives,
        services=draft.services,
        state=draft.state,
        budget=draft.budget,
    )


def _office(draft: WorldDraft) -> tuple[str, ...]:
    office = any(path.rsplit(".", 1)[-1] in {"docx", "xlsx", "pptx", "pdf"} for path in draft.files)
    return ("office",) if office else ()


def make_one(want: Wanted, root: Path) -> Path:
    """Write one task package below `root`; a whole one of that name is kept. Raises UserError where it was changed."""
    directory = root / want.slug
    if stands(directory):
        return directory
    if directory.exists():  # a killed process left half a package: task.toml is written last
        shutil.rmtree(directory)
    return write_package(package_draft(make_world(want.type, want.seed, want.split, want.size), want.slug), root)
