"""Task packages from a folder of somebody's own documents, with the catalogue that says what was used and why not."""

from pathlib import Path
from typing import NamedTuple

from journeyman.store.atomic import write_atomic
from journeyman.synthesis.catalogue import Catalogue, catalogue
from journeyman.synthesis.environment_first.from_documents import Wish, drafts
from journeyman.tasks.package import write_package

CATALOGUE = "catalogue.json"


class Made(NamedTuple):
    """What came of a folder."""

    catalogue: Catalogue
    directories: tuple[Path, ...]


def make_from(folder: Path, out: Path, wish: Wish, licence: str = "") -> Made:
    """Catalogue `folder` and write `wish.tasks` packages to `out`. Raises UserError where it allows fewer."""
    found = catalogue(folder, licence)
    documents = {source.path: (folder / source.path).read_bytes() for source in found.sources}
    made = list(drafts(found, documents, wish))
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / CATALOGUE, found.canonical())
    return Made(found, tuple(write_package(draft, out) for draft in made))
