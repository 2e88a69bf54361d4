"""Built files: the same bytes at any time, readable by the office libraries, formulas that say what they hold."""

import ast
import io
import operator
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from statistics import fmean

import docx
import openpyxl
import pdfplumber
import pptx
import pytest

from journeyman.office.render import render
from journeyman.office.rendered import Cell, Rendered, column_letters, column_number
from journeyman.worlds.documents.docx import docx_bytes
from journeyman.worlds.documents.mail import Message, address, eml_bytes
from journeyman.worlds.documents.model import (
    Bullets,
    Commented,
    Deleted,
    Document,
    Facts,
    Footnote,
    Grid,
    Heading,
    House,
    Inserted,
    Para,
    Signatures,
    text,
)
from journeyman.worlds.documents.pdf import pdf_bytes
from journeyman.worlds.documents.pptx import Deck, Slide, pptx_bytes
from journeyman.worlds.documents.text import md_bytes
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type, make_world

TYPES = sorted(ENVIRONMENT_TYPES)


def letter() -> Document:
    return Document(
        "Clearance & release",
        (
            Facts((("To", "Ada Barham"), ("Date", "4 March 2026"))),
            Heading("1. Figures"),
            text(
                "Revenue is **EUR 512m**",
                Footnote("As approved."),
                ", not ",
                Deleted("480", "Bo Kerr", "2026-03-05"),
                Inserted("500", "Bo Kerr", "2026-03-05"),
                " as ",
                Commented("first said", "Bo Kerr", "2026-03-05", "By whom?"),
                ".",
            ),
            Bullets(("one", "two"), numbered=True),
            Bullets(("uno", "due"), numbered=True),
            Grid(
                ("Area", "Line", "FY26"),
                (("North", "A", "1,200"), ("North", "B", "(40)"), ("Sum",), ("Total", "", "1,160")),
                total=True,
                merge_first=True,
            ),
            Para(("9.1\tNothing else is said.",), "Clause"),
            Signatures((("Ada Barham", "CFO", "2026-03-04"), ("Leo Kerr", "Secretary", ""))),
        ),
        House("Norvane plc", "12 Quay Street"),
        "Ada Barham",
        "2026-03-04",
        reference="LT/1",
        status="DRAFT",
    )


def test_a_written_letter_is_read_back_whole() -> None:
    read = render("letter.docx", docx_bytes(letter()))
    for part in (
        "[header] Norvane plc\tDRAFT",
        "# Clearance & release",
        "To | Ada Barham",
        "Revenue is EUR 512m[fn1], not [-480-][+500+] as first said[comment 0].",
        "[fn1] As approved.",
        "1. one\n2. two\n1. uno\n2. due",
        "North | B | (40)",
        "Signed: Ada Barham, 2026-03-04",
        '[comment 0, Bo Kerr 2026-03-05 on "first said"] By whom?',
    ):
        assert part in read.text, part
    assert "not 500 as first said" in read.plain
    assert "not 480 as first said" in read.original


def test_a_written_letter_opens_in_the_word_library_with_its_properties() -> None:
    opened = docx.Document(io.BytesIO(docx_bytes(letter())))
    assert opened.paragraphs[0].style.name == "Title"
    assert opened.core_properties.author == "Ada Barham"
    assert opened.core_properties.created.isoformat()[:10] == "2026-03-04"
    assert opened.sections[0].header.paragraphs[0].text.startswith("Norvane plc")
    assert [c.text for c in opened.tables[1].rows[0].cells] == ["Area", "Line", "FY26"]


def test_the_same_letter_as_pdf_and_markdown_says_the_same() -> None:
    for name, data in (("letter.pdf", pdf_bytes(letter())), ("letter.md", md_bytes(letter()))):
        said = " ".join(render(name, data).plain.split())
        for part in ("Clearance & release", "Ada Barham", "EUR 512m", "500", "first said", "As approved", "1,200"):
            assert part in said, (name, part)
        assert "480" not in said


def overlaps(data: bytes) -> list[str]:
    """Pairs of characters of a pdf that are printed over each other by more than a third of the smaller one."""
    found = []
    with pdfplumber.open(io.BytesIO(data)) as opened:
        for page in opened.pages:
            boxes = sorted((c for c in page.chars if c["text"].strip()), key=lambda c: c["x0"])
            for i, a in enumerate(boxes):
                for b in boxes[i + 1 :]:
                    across = min(a["x1"], b["x1"]) - b["x0"]
                    if across <= 0:
                        break
                    down = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
                    if 3 * across > min(a["width"], b["width"]) and 3 * down > min(a["height"], b["height"]):
                        found.append(f"page {page.page_number}: {a['text']!r} and {b['text']!r} at {a['x0']:.0f}")
    return found


def test_nothing_is_printed_over_anything_else_however_long_it_is() -> None:
    long = "as long as a label may come to be, with words and words and words "
    facts = tuple((long[:n], value) for n in range(8, 66, 3) for value in ("29 April", long * 3))
    grid = Grid(("Area " * 9, "b"), ((long, "1,000"), ("w" * 80, long), (long * 2,)), caption=long * 3, total=True)
    blocks = (Facts(facts), Heading(long * 2), grid, Bullets((long * 3,)), Signatures(((long, long, ""),)))
    paper = House("Norvane " * 12, "12 Quay Street, Bristol " * 5)
    lengthy = Document(long * 3, blocks, paper, "Ada", "2026-03-04", long, "SUPERSEDED " * 4, "Confidential " * 9)
    for document in (lengthy, lengthy._replace(house=paper._replace(serif=True)), letter()):
        assert not overlaps(pdf_bytes(document))


@pytest.mark.parametrize("name", TYPES)
def test_no_pdf_of_a_world_prints_over_itself(name: str) -> None:
    files = make_world(name, 1, "train", "standard").files
    assert not [(path, met) for path, f in files.items() if path.endswith(".pdf") and (met := overlaps(f.data))]


def test_a_deck_says_of_itself_what_other_documents_say() -> None:
    data = pptx_bytes(Deck("Status", "Round two", House("Norvane plc"), "Ada Barham", "2026-03-04", (Slide("One"),)))
    told = pptx.Presentation(io.BytesIO(data)).core_properties
    assert (told.title, told.author, told.last_modified_by) == ("Status", "Ada Barham", "Ada Barham")
    assert (told.comments, told.revision, told.created.isoformat()[:10]) == ("", 2, "2026-03-04")
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        assert not [name for name in parts.namelist() if "thumbnail" in name]
        assert not [name for name in parts.namelist() if b"python" in parts.read(name).lower()]


@pytest.mark.parametrize("name", ["law.limitation_date", "finance.bank_reconciliation"])
def test_who_writes_on_anothers_paper_is_none_of_ours(name: str) -> None:
    world = make_world(name, 1, "train", "standard")
    ours = set(environment_type(name).truth(1, "train").people.values())
    written = {path: f.data for path, f in world.files.items() if path.endswith(".pdf")}
    theirs = {"law.limitation_date": "letter_breaking_off", "finance.bank_reconciliation": "bank/statement"}[name]
    found = [path for path in written if theirs in path]
    assert found
    for path in found:
        with pdfplumber.open(io.BytesIO(written[path])) as opened:
            assert opened.metadata["Author"] not in ours


def test_a_thread_quotes_what_came_before_and_links_to_it() -> None:
    ada, bo = address("Ada Barham", "Norvane plc"), address("Bo Kerr", "Calmere Legal")
    first = Message(ada, (bo,), "2026-03-04T09:00", "Release", "May we?\n\nAda")
    data = eml_bytes(first, Message(bo, (ada,), "2026-03-04T10:00", "Re: Release", "Not yet.\n\nBo"))
    read = render("re.eml", data)
    assert "From: Bo Kerr <bo.kerr@calmere.example>" in read.text
    assert "> May we?" in read.text
    assert "In-Reply-To" in read.text


@pytest.mark.parametrize("name", TYPES)
def test_a_world_has_the_same_bytes_in_another_process_time_zone_and_year(name: str) -> None:
    program = (
        "import time\nreal = time.time\ntime.time = lambda: real() + 4e7\n"
        "from journeyman.worlds.registry import make_world\n"
        f"print(make_world({name!r}, 5, 'heldout', 'standard').digest())"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"TZ": "Pacific/Auckland", "PYTHONHASHSEED": "3", "PATH": "", "HOME": "/tmp"},
    )
    assert elsewhere.stdout.strip() == make_world(name, 5, "heldout", "standard").digest()


@pytest.mark.parametrize("name", TYPES)
def test_every_office_file_opens_in_its_library_and_reads_without_warning(name: str) -> None:
    for path, file in make_world(name, 1, "train", "standard").files.items():
        kind = path.rsplit(".", 1)[1]
        if kind == "docx":
            docx.Document(io.BytesIO(file.data))
        elif kind == "xlsx":
            openpyxl.load_workbook(io.BytesIO(file.data))
        elif kind == "pptx":
            pptx.Presentation(io.BytesIO(file.data))
        elif kind == "pdf":
            with pdfplumber.open(io.BytesIO(file.data)) as opened:
                assert opened.pages
        read = render(path, file.data)
        unusual = [w for w in read.warnings if "hidden" not in w and "tracked" not in w]
        assert not unusual, (path, unusual)
        assert read.plain.strip(), path


@pytest.mark.parametrize("name", TYPES)
def test_every_formula_holds_the_value_it_has(name: str) -> None:
    formulas = 0
    for path, file in make_world(name, 1, "train", "standard").files.items():
        if path.endswith(".xlsx"):
            book = render(path, file.data)
            for sheet, address_, cell in _formulas(book):
                formulas += 1
                assert cell.value == pytest.approx(_evaluate(book, sheet, str(cell.formula))), (
                    path,
                    sheet,
                    address_,
                )
    assert formulas >= 4


def _formulas(book: Rendered) -> Iterator[tuple[str, str, Cell]]:
    for sheet, cells in book.cells.items():
        for address_, cell in cells.items():
            if cell.formula:
                yield sheet, address_, cell


_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "SUM": sum,
    "AVERAGE": fmean,
    "COUNTA": lambda values: float(len(values)),
}


def _evaluate(book: Rendered, sheet: str, formula: str) -> float:
    """The value of sums, means, counts and arithmetic over cells, computed here and not by who wrote the file."""
    whole = re.fullmatch(r"=(SUM|AVERAGE|COUNTA)\((?:(\w+)!)?([A-Z]+)(\d+):([A-Z]+)(\d+)\)", formula)
    if whole:
        cells = book.cells[whole[2] or sheet]
        block = [
            cells.get(f"{column_letters(c)}{r}")
            for c in range(column_number(whole[3]), column_number(whole[5]) + 1)
            for r in range(int(whole[4]), int(whole[6]) + 1)
        ]
        found = [c.value for c in block if c is not None]
        return _FUNCTIONS[whole[1]]([v if isinstance(v, int | float) else 1.0 for v in found if v is not None])

    def look_up(match: re.Match[str]) -> str:
        value = book.cells[(match[1] or sheet).strip("'")][match[2]].value
        assert isinstance(value, int | float), formula
        return repr(value)

    return _arithmetic(ast.parse(re.sub(r"(?:('[^']+'|\w+)!)?([A-Z]+\d+)", look_up, formula[1:]), mode="eval").body)


def _arithmetic(node: ast.expr) -> float:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_arithmetic(node.left), _arithmetic(node.right))
    if isinstance(node, ast.UnaryOp):
        return -_arithmetic(node.operand)
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int | float)
    return node.value


@pytest.mark.parametrize("seed", range(6))
def test_a_bank_statement_is_a_month_of_entries_that_lead_from_balance_to_balance(seed: int) -> None:
    draft = make_world("finance.bank_reconciliation", seed, "train", "standard")
    (path,) = (p for p in draft.files if p.startswith("bank/statement_"))
    with pdfplumber.open(io.BytesIO(draft.files[path].data)) as pages:
        rows = [row for page in pages.pages for table in page.extract_tables() for row in table]
    figures = [[int((cell or "0").replace(",", "") or 0) for cell in row[2:]] for row in rows if "Out" not in row[2]]
    (_, opening), *entries, (_, closing) = figures
    assert len(entries) >= 20
    assert opening + sum(into - out for out, into in entries) == closing


def test_logs_and_registers_hold_more_than_the_matter() -> None:
    for name, path, least in (
        ("law.breach_notice", "incident/log_utc.csv", 20),
        ("law.contract_renewal", "post/post_book.csv", 15),
        ("law.contract_renewal", "contracts/register.csv", 14),
        ("law.sanctions_screening", "compliance/lists.csv", 25),
        ("finance.limit_breach", "risk/alerts.csv", 15),
    ):
        draft = make_world(name, 3, "train", "standard")
        assert len(draft.files[path].data.decode().splitlines()) > least, path
