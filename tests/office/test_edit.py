"""Edits of real files lose nothing: runs keep their look, charts and comments keep their parts, doubt is a refusal."""

import io
import zipfile

import docx
import openpyxl
import pytest

from journeyman.office.edit import EditRefused, lost_parts, replace_text, set_cells
from journeyman.office.render import render
from tests.office import samples


def part(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def names(data: bytes) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return set(archive.namelist())


def test_a_paragraph_of_three_runs_keeps_its_runs_and_their_look() -> None:
    edited = replace_text(samples.word_file(), "thirty", "sixty")
    paragraph = docx.Document(io.BytesIO(edited)).paragraphs[1]
    assert [(run.text, bool(run.bold)) for run in paragraph.runs if run.text] == [
        ("The term is ", False),
        ("sixty", True),
        (" days.", False),
    ]


def test_a_replacement_across_runs_leaves_the_rest_of_them_alone() -> None:
    edited = replace_text(samples.word_file(), "is thirty days", "is sixty days")
    assert "The term is sixty days." in render("a.docx", edited).plain
    texts = [run.text for run in docx.Document(io.BytesIO(edited)).paragraphs[1].runs if run.text]
    assert texts[0].startswith("The term ")
    assert texts[-1].endswith(".")


def test_a_tracked_replacement_can_be_rejected() -> None:
    read = render("a.docx", replace_text(samples.word_file(), "thirty", "sixty", author="Ada"))
    assert "The term is sixty days." in read.plain
    assert "The term is thirty days." in read.original
    assert "[Ada " in read.text


def test_comments_header_and_list_survive_an_edit() -> None:
    before = samples.word_file()
    after = replace_text(before, "thirty", "sixty")
    assert not lost_parts(before, after)
    for name in ("word/comments.xml", "word/numbering.xml"):
        assert part(before, name) == part(after, name)


@pytest.mark.parametrize(("old", "why"), [("ninety", "TargetNotFound"), ("r", "Ambiguous")])
def test_no_target_and_two_targets_are_refused(old: str, why: str) -> None:
    with pytest.raises(EditRefused, match=why):
        replace_text(samples.word_file(), old, "x")


def test_a_cell_is_set_and_every_other_part_keeps_its_bytes() -> None:
    before = samples.workbook_file()
    after = set_cells(before, "Summary", {"B1": 2000, "B6": "=SUM(B1:B3)"})
    assert names(before) <= names(after)
    assert any(name.startswith("xl/charts/") for name in names(after))
    for name in names(before) - {"xl/worksheets/sheet1.xml", "[Content_Types].xml", "xl/workbook.xml"}:
        assert part(before, name) == part(after, name), name
    read = render("b.xlsx", after)
    assert read.cells["Summary"]["B1"].text == "EUR 2,000.00"
    assert read.cells["Summary"]["B6"].text == "=SUM(B1:B3) -> [not calculated]"


def test_values_that_may_be_stale_after_an_edit_are_not_shown_as_calculated() -> None:
    from journeyman.worlds.documents.xlsx import Book, Formula, Sheet, xlsx_bytes

    rows = (("Revenue", 100), ("Twice", Formula("B1*2", 200)))
    before = xlsx_bytes(Book((Sheet("S", rows),), "Ada", "T", "2026-03-04"))
    assert render("b.xlsx", before).cells["S"]["B2"].value == 200
    assert render("b.xlsx", set_cells(before, "S", {"B1": 150})).cells["S"]["B2"].value != 200


def test_an_unknown_sheet_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(EditRefused, match="there are Summary, Scratch"):
        set_cells(samples.workbook_file(), "Sums", {"A1": 1})


def test_a_lost_part_is_noticed() -> None:
    before = samples.workbook_file()
    buffer = io.BytesIO()
    openpyxl.load_workbook(io.BytesIO(before), preserve=False).save(buffer)
    kept = {name for name in names(before) if "comment" not in name}
    thinner = io.BytesIO()
    with zipfile.ZipFile(thinner, "w") as archive:
        for name in kept:
            archive.writestr(name, part(before, name))
    assert lost_parts(before, thinner.getvalue()) == tuple(sorted(names(before) - kept))
