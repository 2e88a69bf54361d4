"""A page of tasks shows request, documents, rubric, reference, negatives and the scores that admission gave them."""

import re
from pathlib import Path

import pytest

from journeyman.admission.decide import admit_all
from journeyman.admission.release import create_release
from journeyman.errors import UserError
from journeyman.pipeline.gallery import gallery
from journeyman.pipeline.pictures import pictures, prints
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.worlds.registry import make_world
from tests.admission.executing import InProcess


async def test_a_page_shows_the_whole_task_and_the_scores_of_its_negatives(tmp_path: Path) -> None:
    made = [make_one(Wanted("operations.warehouse_exception", 1, "train", "compact"), tmp_path / "raw")]
    admissions = await admit_all(made, InProcess(tmp_path / "runs"))
    release = create_release(tmp_path / "r", admissions, made, {})
    page = gallery(release.task_dirs(), tmp_path / "deep" / "page.html").read_text()
    for said in (
        "blind_retry",
        "generated duplicate_write",
        "wms__reserve_dock",
        "orders (",
    ):
        assert said in page, said
    assert re.search(r"blind_retry <b class=\w+>[+-]0\.\d{3}</b>", page)
    assert "not scored" not in page
    assert not re.search(r"(src|href)=['\"]?https?:", page)
    outside = gallery(made, tmp_path / "outside.html").read_text()
    assert "not scored: admit it into a release first" in outside
    with pytest.raises(UserError, match="no task to show"):
        gallery([], tmp_path / "x.html")


def test_a_pdf_is_shown_as_a_picture_with_the_office_extra_alone() -> None:
    files = make_world("law.limitation_date", 1, "train", "standard").files
    name, data = next((path, f.data) for path, f in files.items() if path.endswith(".pdf"))
    made = pictures({"broken.pdf": b"%PDF-1.4 junk", "empty.pdf": b"", name: data})
    assert set(made) == {name}
    assert made[name].startswith("data:image/png;base64,iVBOR")


@pytest.mark.slow
def test_documents_are_shown_as_pictures_where_the_machine_can_print_them() -> None:
    if not prints():
        pytest.skip("LibreOffice is not installed")
    files = make_world("finance.board_forecast", 1, "train", "standard").files
    chosen = {path: file.data for path, file in sorted(files.items()) if path.endswith((".docx", ".xlsx", ".pdf"))}
    few = dict(list(chosen.items())[:3])
    made = pictures({**few, "broken.docx": b"not a document", "note.txt": b"text"})
    assert set(few) <= set(made)
    assert "note.txt" not in made
    assert all(uri.startswith("data:image/png;base64,iVBOR") for uri in made.values())
