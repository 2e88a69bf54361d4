"""Where tables of real documents have their names and figures, and what is left out because it is unclear."""

from decimal import Decimal

import pytest
from fpdf import FPDF

from journeyman.office.pdf_aligned import aligned_tables
from journeyman.office.rendered import Table
from journeyman.synthesis.environment_first.grids import Grid, grids, grids_of


def _of(text: str) -> list[Grid]:
    rows = tuple(tuple(cell.strip() for cell in line.split("|")) for line in text.strip("\n").splitlines())
    return list(grids("a.xlsx", Table("Sheet1", rows)))


def _only(text: str) -> Grid:
    (found,) = _of(text)
    return found


def test_titles_notes_and_totals_round_a_table_are_no_part_of_it() -> None:
    found = _only(
        "University of the North\nAs of 2006-09-11\n\n"
        "Region|Sales|Staff\nNorth|1,781|4\nOverseas\nWest|534|5\nSouth|612|9\nEast|88|2\nTotal|3,015|20\n\nNotes|1|2|3"
    )
    assert found.names == ("North", "West", "South", "East")
    assert found.without == ("Total",)
    assert [c.title for c in found.columns] == ["Sales", "Staff"]
    assert found.columns[0].figures == tuple(map(Decimal, (1781, 534, 612, 88)))


def test_a_table_may_begin_anywhere_with_an_empty_corner_and_years_for_titles() -> None:
    found = _only("\n||2010|2011\n|Chequing|$46,417.17|$36,553.39\n|Paypal|7|8\n|Cash|53|43\n|Gold|3|(1)")
    assert found.key == ""
    assert [c.title for c in found.columns] == ["2010", "2011"]
    assert found.columns[1].figures[-1] == -1


def test_titles_that_repeat_take_the_name_of_their_group() -> None:
    body = "\n".join(
        f"{name}|{i + 7}|{i * i}|{9 - 2 * i}|{i}{i}" for i, name in enumerate(("Ash", "Elm", "Oak", "Fir"))
    )
    found = _only(f"|Widgets||Whatnots|\nTree|Actual|Budget|Actual|Budget\n{body}")
    assert [c.title for c in found.columns] == [
        "Widgets Actual",
        "Widgets Budget",
        "Whatnots Actual",
        "Whatnots Budget",
    ]


def test_a_table_that_goes_on_beside_itself_is_one() -> None:
    found = _only("State|Rate|State|Rate\nAlabama|119|Montana|124\nAlaska|128|Nebraska|122")
    assert found.names == ("Alabama", "Alaska", "Montana", "Nebraska")
    assert not found.columns[0].adds


def test_names_that_repeat_make_sums() -> None:
    counties = ("Adams", "Brown", "Cedar", "Dixon")
    rows = "\n".join(f"{counties[i % 4]}|310{i % 4}|{i}.50|{10 * i}" for i in range(8))
    found = _only(f"county|fips code|unit price|cost\n{rows}")
    assert found.summed
    assert found.names == counties
    assert [(c.title, c.figures[0]) for c in found.columns] == [("cost", Decimal(40))]


def test_years_are_names_where_there_are_no_others_and_never_figures() -> None:
    rows = "\n".join(f"{1990 + i}|{i * i + 3}" for i in range(5))
    assert _only(f"Year|Cases\n{rows}").names[0] == "1990"
    assert _of("Site|Year\nAber|1990\nBala|1994\nCorris|1991\nDyfi|1999") == []


@pytest.mark.parametrize("doubtful", ["<5", "n/a", "", "12 of 30"])
def test_a_column_with_a_doubtful_cell_is_not_used(doubtful: str) -> None:
    assert _of(f"Site|Cases\nAber|19\nBala|{doubtful}\nCorris|17\nDyfi|12\nElan|8") == []


@pytest.mark.parametrize("doubtful", ["1e308", "<5", "n/a", "", "12 of 30"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_row_of_the_table_is_never_taken_for_its_titles(doubtful: str, rows: int) -> None:
    names = ["Aber", "Bala", "Corris", "Dyfi", "Elan", "Fan", "Gwaun"]
    body = "\n".join(f"{name}|{doubtful if i < rows else 19 - i * i}" for i, name in enumerate(names))
    assert _of(f"Site|Cases\n{body}") == []


def test_two_tables_of_a_sheet_are_told_apart_by_where_they_are() -> None:
    one = "Site|Cases\nAber|19\nBala|3\nCorris|17\nDyfi|12"
    assert [g.table for g in _of(f"{one}\n\n{one.replace('1', '2')}")] == [
        "Sheet1, header in row 1 from column A",
        "Sheet1, header in row 7 from column A",
    ]


def test_a_pdf_gives_the_tables_that_only_alignment_makes() -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=10)
    pdf.text(20, 18, "Sites of the northern district were visited in the second week of May and counted by hand.")
    rows = [("Site", "Arrests", "Fines paid"), ("Aber", "1,061.3", "12"), ("Bala Lake", "175.3", "8")]
    for i, row in enumerate([*rows, ("Corris", "88.0", "40"), ("Dyfi ....... ", "9.5", "31"), ("Elan", "70.1", "2")]):
        for cell, x in zip(row, (20, 80, 120), strict=True):
            pdf.text(x, 30 + 6 * i, cell)
    (found,) = grids_of("count.pdf", bytes(pdf.output()))
    assert found.names == ("Aber", "Bala Lake", "Corris", "Dyfi", "Elan")
    assert [c.title for c in found.columns] == ["Arrests", "Fines paid"]
    assert found.columns[0].figures[0] == Decimal("1061.3")
    assert aligned_tables(b"%PDF-1.4 no more") == ()
