"""Tasks over given documents: catalogued or dropped with a reason, joined by several operations, then admitted."""

import io
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from docx import Document

from journeyman.admission.decide import admit_all
from journeyman.errors import UserError
from journeyman.grading.artifacts import FieldEquals
from journeyman.grading.text import as_number, value_matches
from journeyman.pipeline.from_documents import make_from
from journeyman.records.rubric import Check
from journeyman.synthesis.catalogue import MAX_BYTES, Catalogue, catalogue
from journeyman.synthesis.environment_first.from_documents import Wish, drafts
from journeyman.tasks.package import load_task, read_package
from tests.admission.executing import InProcess

SALES = "Region,Revenue,Staff\nNorth,1200.50,14\nSouth,980,11\nEast,1410,17\nWest,760.25,9\nIslands,88,2\n"
COSTS = "Region;Cost;Year\nSouth;700;2024\nNorth;1100;2025\nEast;905.5;2023\nWest;802;2022\nAbroad;410;2021\n"
STOCK = "Article,Pieces\nBolt,400\nNut,390\nScrew,1200\nWasher,77\nHinge,15\n"


def _docx() -> bytes:
    document = Document()
    document.add_paragraph("Budget by region for the coming year, as the board saw it in its March meeting.")
    table = document.add_table(rows=0, cols=2)
    for row in (("Region", "Budget"), ("North", "1,300"), ("South", "900"), ("East", "1,000"), ("West", "750")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    root.mkdir()
    texts = {"sales_2025-02-01.csv": SALES, "costs.csv": COSTS, "stock.csv": STOCK, "copy.csv": SALES.replace("N", "n")}
    for name, text in texts.items():
        (root / name).write_text(text)
    (root / "budget.docx").write_bytes(_docx())
    (root / "broken.xlsx").write_bytes(b"PK nothing")
    (root / "picture.png").write_bytes(b"\x89PNG")
    (root / "LICENSE").write_text("MIT License\n\nPermission is hereby granted.\n")
    return root


def test_every_file_is_a_source_or_dropped_with_a_reason(folder: Path) -> None:
    found = catalogue(folder)
    assert [s.path for s in found.sources] == ["budget.docx", "copy.csv", "costs.csv", "stock.csv"]
    dropped = {d.path: d.reason for d in found.dropped}
    assert dropped["sales_2025-02-01.csv"] == "says what copy.csv says"
    assert dropped["broken.xlsx"].startswith("unreadable as xlsx")
    assert dropped["picture.png"] == "cannot be read as png"
    assert {s.licence for s in found.sources} == {"MIT License"}
    (folder / "copy.csv").unlink()
    by_path = {s.path: s for s in catalogue(folder).sources}
    assert by_path["sales_2025-02-01.csv"].as_of == "2025-02-01"
    assert by_path["sales_2025-02-01.csv"].tables == 1


def test_what_is_hidden_leaves_the_folder_or_is_no_regular_file_is_left_out_with_the_reason(
    folder: Path, tmp_path: Path
) -> None:
    before = catalogue(folder).sources
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text(SALES.replace("North", "Secret"))
    (folder / "secret.csv").symlink_to(outside / "secret.csv")
    (folder / "all").symlink_to(outside)
    (folder / "again").symlink_to(folder)
    (folder / "gone.csv").symlink_to(outside / "gone.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / ".git").mkdir()
    (folder / ".git" / "kept.csv").write_text(STOCK)
    (folder / ".hidden.csv").write_text(STOCK.replace("Nut", "Nail"))
    (folder / "inner").mkdir()
    (folder / "inner" / "LICENSE").symlink_to(outside / "secret.csv")
    os.mkfifo(folder / "pipe.csv")
    (folder / "large.csv").write_text("x" * (MAX_BYTES + 1))
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.csv")).write_text(STOCK.replace("Nut", "Nail"))
    found = catalogue(folder)
    assert found.sources == before
    left_out = {d.path: d.reason for d in found.dropped if not d.sha256}
    assert left_out == {
        "secret.csv": "a link that leaves the folder",
        "all": "a link that leaves the folder",
        "again": "a link to a folder",
        "gone.csv": "a link to nothing",
        "loop.csv": "a link to nothing",
        ".git": "it is hidden",
        ".hidden.csv": "it is hidden",
        "inner/LICENSE": "a link that leaves the folder",
        "pipe.csv": "no regular file",
        "large.csv": "4,000,001 bytes, at most 4,000,000",
        "bad\\xff.csv": "its name is not text",
    }


def test_without_terms_nothing_is_used(folder: Path) -> None:
    (folder / "LICENSE").unlink()
    found = catalogue(folder)
    assert found.sources == ()
    assert any("no licence" in d.reason for d in found.dropped)
    assert {s.licence for s in catalogue(folder, "ours").sources} == {"ours"}


async def test_tasks_join_two_documents_and_are_admitted(folder: Path, tmp_path: Path) -> None:
    made = make_from(folder, tmp_path / "tasks", Wish(3, seed=3))
    for directory in made.directories:
        draft = read_package(directory)
        rests_on = {path for c in draft.rubric.criteria for path in c.evidence}
        assert len(rests_on) >= 2
        assert {f.provenance for f in draft.files.values()} == {"user"}
        assert len(draft.metadata.lineage["structure"]) == 64
    admissions = await admit_all(made.directories, InProcess(tmp_path / "runs"))
    assert all(a.admitted for a in admissions), [a.gates[-1].reason for a in admissions if not a.admitted]
    assert len({load_task(d).instruction for d in made.directories}) == 3
    assert {load_task(d).metadata.axes["join"] for d in made.directories} == {"names"}


async def test_documents_that_share_no_names_are_joined_by_extremes_and_totals(folder: Path, tmp_path: Path) -> None:
    for name in ("copy.csv", "costs.csv", "budget.docx"):
        (folder / name).unlink()
    made = make_from(folder, tmp_path / "tasks", Wish(1, seed=3))
    assert {load_task(d).metadata.axes["join"] for d in made.directories} == {"extremes"}
    admissions = await admit_all(made.directories, InProcess(tmp_path / "runs"))
    assert all(a.admitted for a in admissions), [a.gates[-1].reason for a in admissions if not a.admitted]


async def test_figures_of_any_length_are_added_and_compared_exactly(folder: Path, tmp_path: Path) -> None:
    long = {name: 10**n + n for n, name in enumerate(("North", "South", "East", "West"), start=40)}
    for name in ("copy.csv", "sales_2025-02-01.csv", "stock.csv", "budget.docx"):
        (folder / name).unlink()
    (folder / "long.csv").write_text("Region,Stock\n" + "".join(f"{n},{v}.5\n" for n, v in long.items()))
    (folder / "years.csv").write_text("Region,Code\n" + "".join(f"{n},{'1' * 5000}\n" for n in long))
    made = make_from(folder, tmp_path / "tasks", Wish(2, seed=1))
    admissions = await admit_all(made.directories, InProcess(tmp_path / "runs"))
    assert all(a.admitted for a in admissions), [a.gates[-1].reason for a in admissions if not a.admitted]
    told = [criterion.proposition for d in made.directories for criterion in load_task(d).rubric.criteria]
    assert any(f"{value}.5" in line for value in long.values() for line in told)


def _answers(folder: Path) -> Callable[[str], str]:
    found = catalogue(folder)
    documents = {s.path: (folder / s.path).read_bytes() for s in found.sources}
    draft = next(iter(drafts(found, documents, Wish(1, seed=1))))
    write = next(call for step in draft.reference.steps for call in step.calls if call.tool == "write")
    fields = dict(line.split(": ", 1) for line in str(write.arguments["content"]).splitlines())
    return lambda key: fields[key]


def test_the_answer_is_what_the_documents_say(tmp_path: Path) -> None:
    root = tmp_path / "two"
    root.mkdir()
    (root / "sales.csv").write_text("Region,Revenue\nNorth,1200.50\nSouth,980\nEast,1410\nWest,760.25\nIslands,88\n")
    (root / "costs.csv").write_text("Region,Cost\nSouth,700\nNorth,1100\nEast,905.5\nWest,802\nAbroad,4100\n")
    (root / "LICENSE").write_text("MIT")
    said = _answers(root)
    name, first, second = said("name"), float(said("first")), float(said("second"))
    assert (name, first, second) in {("East", 905.5, 1410), ("North", 1100, 1200.5), ("South", 700, 980)} | {
        ("East", 1410, 905.5), ("West", 760.25, 802), ("West", 802, 760.25),
    }  # fmt: skip
    assert float(said("difference")) == pytest.approx(first - second)


@pytest.mark.parametrize("scale", [-4, -1, 0, 4])
def test_an_answer_that_is_off_by_one_in_the_last_place_shown_is_wrong(tmp_path: Path, scale: int) -> None:
    def table(title: str, names: str, figures: tuple[int, ...]) -> str:
        shown = (format(Decimal(figure).scaleb(scale), "f") for figure in figures)
        return "\n".join([f"Region,{title}", *(f"{n},{f}" for n, f in zip(names.split(), shown, strict=True))])

    documents = {
        "sales.csv": table("Revenue", "North South East West Islands", (12, 9, 14, 20, 7)).encode(),
        "costs.csv": table("Cost", "South North East West Abroad", (17, 11, 10, 28, 41)).encode(),
    }
    for path, data in documents.items():
        (tmp_path / path).write_bytes(data)
    (tmp_path / "LICENSE").write_text("MIT")
    last = Decimal(1).scaleb(scale)
    for draft in drafts(catalogue(tmp_path), documents, Wish(2, seed=1)):
        write = next(call for step in draft.reference.steps for call in step.calls if call.tool == "write")
        told = dict(line.split(": ", 1) for line in str(write.arguments["content"]).splitlines())
        decided = {c.id: c.decide for c in draft.rubric.criteria}
        for key, value in told.items():
            check = decided[key]
            assert isinstance(check, Check)
            asked = FieldEquals.model_validate(check.args)
            assert value_matches(value, asked.value, asked.tolerance)
            if as_number(value) is not None:
                exact = Decimal(value)
                off = float(exact) * (1 + 1e-15) if scale < 0 else value
                assert value_matches(str(off), asked.value, asked.tolerance)
                for wrong in (exact + last, exact - last, -exact or last, Decimal(0) if exact else last):
                    assert not value_matches(format(wrong, "f"), asked.value, asked.tolerance), (value, wrong)


def test_the_same_folder_and_seed_give_the_same_drafts_anywhere(folder: Path, tmp_path: Path) -> None:
    first = make_from(folder, tmp_path / "a", Wish(3, seed=1))
    second = make_from(folder.rename(tmp_path / "moved"), tmp_path / "b", Wish(3, seed=1))
    digests = [[load_task(d).content_digest for d in made.directories] for made in (first, second)]
    assert digests[0] == digests[1]
    assert first.catalogue == second.catalogue


def test_documents_that_allow_too_little_are_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"4 usable documents allow \d+ comparisons of two tables, not 5000"):
        make_from(folder, tmp_path / "a", Wish(5000, seed=1))
    with pytest.raises(UserError, match="0 usable documents allow 0 comparisons"):
        list(drafts(Catalogue(sources=(), dropped=()), {}, Wish(1, 1)))
    with pytest.raises(UserError, match="no such folder"):
        catalogue(tmp_path / "nowhere")
    assert not (tmp_path / "a").exists()
