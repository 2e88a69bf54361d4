"""Rendering real files: nothing a reader could see is lost, nothing is invented, damaged bytes never raise."""

import io
import subprocess
import sys
import time
import zipfile

import pytest
from fpdf import FPDF
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.office.render import render
from journeyman.office.rendered import Field
from journeyman.office.xlsx_format import show
from journeyman.worlds.documents.archive import zip_parts
from tests.office import samples


def test_a_word_file_shows_header_table_comment_list_and_footer() -> None:
    read = render("terms.docx", samples.word_file())
    for part in ("[header] Strictly private", "# Payment terms", "Region |  | Amount", "North | A | 1,200"):
        assert part in read.text
    assert "North | B | 300" in read.text  # the merged cell speaks for both rows
    assert "[comment 0, Ada Barham" in read.text
    assert 'on "The term is thirty days."] Is that agreed?' in read.text
    assert "1. first\n2. second" in read.text
    assert "[footer] Page one" in read.text


def test_tracked_changes_have_three_views_and_are_never_glued() -> None:
    read = render("terms.docx", samples.word_file())
    assert "Interest is term" in read.plain
    assert "window" not in read.plain
    assert "Interest is window" in read.original
    assert "[-window-][+term+]" in read.text
    assert '[Bo 2026-03-04] deleted "window"' in read.text
    assert "windowterm" not in read.plain + read.original + read.text
    assert "Gone" not in read.plain
    assert "Gone" in read.original
    assert "tracked changes are pending" in read.warnings


def test_comments_are_not_what_the_document_says() -> None:
    assert "agreed" not in render("terms.docx", samples.word_file()).plain


def test_a_formula_nobody_calculated_is_shown_as_such_and_never_as_nan() -> None:
    read = render("book.xlsx", samples.workbook_file())
    assert "Total | =SUM(B1:B3) -> [not calculated]" in read.plain
    assert read.cells["Summary"]["B5"].value is None
    assert read.cells["Summary"]["B5"].formula == "=SUM(B1:B3)"
    assert "nan" not in read.text.lower()
    assert "1 formulas are not calculated" in read.warnings


def test_a_stored_nan_reads_as_not_calculated() -> None:
    data = _with_cell('<c r="A1"><f>1/0</f><v>NaN</v></c>')
    assert render("b.xlsx", data).plain.splitlines()[1] == "=1/0 -> [not calculated]"


def test_sheet_values_are_shown_under_their_formats_and_kept_exactly() -> None:
    read = render("book.xlsx", samples.workbook_file())
    assert [line for line in read.lines if "|" in line][:4] == [
        "Revenue | EUR 1,234.50",
        "Margin | 12.3%",
        "Loss | (40)",
        "Closed | 2026-03-04",
    ]
    assert Field("Margin", "12.3%", 0.1234) in read.fields
    assert read.cells["Summary"]["B3"].value == -40


def test_a_number_too_long_for_its_format_is_shown_plainly() -> None:
    assert show(1.5e300, "#,##0.00") == "1.5e+300"
    assert show(1.5e20, "#,##0.00") == "150,000,000,000,000,000,000.00"


def test_hidden_sheets_are_marked_and_kept_out_of_what_a_reader_sees() -> None:
    read = render("book.xlsx", samples.workbook_file())
    assert "## Sheet: Scratch (hidden)" in read.text
    assert "secret" in read.text
    assert "secret" not in read.plain
    assert "sheet Scratch is hidden" in read.warnings
    assert "[comment A1, Al] From the ledger" in read.text


def test_shared_formulas_are_moved_to_their_cells() -> None:
    cells = '<c r="B1"><f t="shared" ref="B1:B2" si="0">A1*$C$1+LOG10(A1)</f><v>1</v></c>'
    data = _with_cell(cells, '<c r="B2"><f t="shared" si="0"/><v>2</v></c>')
    assert render("b.xlsx", data).cells["S"]["B2"].formula == "=A2*$C$1+LOG10(A2)"


def test_a_deck_shows_table_chart_data_notes_and_hidden_slides() -> None:
    read = render("deck.pptx", samples.deck_file())
    for part in ("# Where we stand", "[chart data] | Volume", "Q2 | 2.25", "Revenue | 512", "[notes] Say it slowly"):
        assert part in read.text
    assert "## Slide 2 (hidden)" in read.text
    assert "Back-up" not in read.plain
    assert Field("Revenue", "512", None) in read.fields


def test_a_pdf_gives_text_tables_and_names_pages_without_text() -> None:
    read = render("print.pdf", samples.print_file())
    assert Field("Status", "final", None) in read.fields
    assert read.tables[0].rows == (("Line", "Amount"), ("Revenue", "512"))
    assert "page 2 has no text" in read.warnings


def test_a_mail_shows_headers_its_readable_part_and_attachments_in_turn() -> None:
    read = render("note.eml", samples.mail_file())
    assert read.text.startswith("From: Ada <ada@a.example>")
    assert Field("Deadline", "Friday", None) in read.fields
    assert "## Attachment: figures.csv (24 bytes)\nline | amount\nRevenue | 512" in read.text
    assert "<b>" not in read.text
    assert "Revenue" not in read.plain


def test_markdown_gives_lines_fields_and_table_rows() -> None:
    source = b"# Memo\n\n- **Version**: v5\n\n| Line | FY26 |\n|---|---:|\n| Revenue | **512** |\n"
    read = render("memo.md", source)
    assert read.fields == (Field("Version", "v5", None), Field("Line", "FY26", None), Field("Revenue", "512", None))
    assert "Revenue | 512" in read.lines
    assert read.text == source.decode()


@pytest.mark.parametrize(
    ("data", "rows"), [(b"a;b\n1;2,5\n", ("1", "2,5")), (b'\xef\xbb\xbfa,b\n"x, y",2\n', ("x, y", "2"))]
)
def test_csv_is_split_by_the_delimiter_its_lines_agree_on(data: bytes, rows: tuple[str, ...]) -> None:
    assert render("x.csv", data).tables[0].rows[1] == rows


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a.pdf"])
@pytest.mark.parametrize("data", [b"", b"junk", b"PK\x03\x04junk", samples.mail_file()])
def test_a_damaged_file_is_empty_text_and_one_warning(name: str, data: bytes) -> None:
    read = render(name, data)
    assert read.plain == ""
    assert read.warnings[0].startswith("unreadable as")


def _protected_pdf() -> bytes:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_encryption(owner_password="a", user_password="b")
    return bytes(pdf.output())


def _with_encrypted_parts(data: bytes) -> bytes:
    """The flag of encryption set in every entry of the zip's directory."""
    return data.replace(b"PK\x01\x02\x14\x00\x14\x00\x00", b"PK\x01\x02\x14\x00\x14\x00\x01")


COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
CLOSED = {
    "protected.docx": (COMPOUND + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
    "old.xlsx": (COMPOUND, "of before 2007"),
    "protected.pdf": (_protected_pdf(), "protected by a password"),
    "zip.docx": (_with_encrypted_parts(zip_parts({"a.xml": b"<a/>"})), "protected by a password"),
    **{f"empty.{kind}": (b"", "the file is empty") for kind in ("docx", "xlsx", "pptx", "pdf")},
}


@pytest.mark.parametrize("name", CLOSED)
def test_an_empty_or_protected_file_is_said_to_be_so(name: str) -> None:
    data, said = CLOSED[name]
    (warning,) = render(name, data).warnings
    assert warning.startswith(f"unreadable as {name.rpartition('.')[2]}: the file is ")
    assert said in warning


def test_a_file_of_another_kind_is_unreadable_under_its_name() -> None:
    assert "unreadable" in render("a.xlsx", samples.word_file()).text
    assert "unreadable" in render("a.docx", samples.deck_file()).text


def test_entities_and_bombs_are_refused_not_expanded() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet/>'
    assert "DTD" in render("b.xlsx", _with_part("xl/worksheets/sheet1.xml", bomb)).text
    big = io.BytesIO()
    with zipfile.ZipFile(big, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * (70 << 20))
        archive.writestr("_rels/.rels", b"<Relationships/>")
    assert render("bomb.docx", big.getvalue()).plain == ""


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_change_of_bytes_makes_reading_raise(data: st.DataObject) -> None:
    name, whole = data.draw(st.sampled_from(_FILES))
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.integers(0, 40))
    render(name, whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + cut :])


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read_as_it_is(text: str) -> None:
    read = render("a.txt", text.encode())
    assert read.kind == "txt"
    assert not read.warnings or "binary" in read.warnings[0]


def test_an_ordinary_file_is_read_within_thirty_milliseconds() -> None:
    for name, data in _FILES:
        render(name, data)
        costs = []
        for _ in range(5):
            began = time.process_time()
            render(name, data)
            costs.append(time.process_time() - began)
        assert min(costs) <= 0.030, name


def test_rendering_imports_no_heavy_library() -> None:
    program = (
        "import sys\nfrom journeyman.office.render import render\nrender('a.md', b'x')\n"
        "bad = {'torch', 'docx', 'openpyxl', 'pptx', 'pdfplumber', 'lxml'} & set(sys.modules)\nassert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def _with_cell(*rows: str) -> bytes:
    body = "".join(f'<row r="{i}">{cells}</row>' for i, cells in enumerate(rows, start=1))
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return _with_part(
        "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'.encode()
    )


def _with_part(name: str, content: bytes) -> bytes:
    """A one-sheet workbook whose part `name` is replaced."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "S"
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(samples.saved(book))) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, content if entry == name else old.read(entry))
    return buffer.getvalue()


_FILES = [
    ("terms.docx", samples.word_file()),
    ("book.xlsx", samples.workbook_file()),
    ("deck.pptx", samples.deck_file()),
    ("print.pdf", samples.print_file()),
    ("note.eml", samples.mail_file()),
    ("memo.md", b"# T\n\n| a | b |\n|---|---|\n| c | d |\n"),
]
