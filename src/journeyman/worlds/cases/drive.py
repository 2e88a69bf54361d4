"""The shared drive of a standard case: documents are put on it by source id, so that criteria can cite them.

Invariant: paper, hands and dates come from the truth; the same truth fills the same drive with the same bytes.
"""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from journeyman.worlds.documents.folder import Folder, at, house
from journeyman.worlds.documents.mail import Message, Person, address
from journeyman.worlds.documents.model import Block, Bullets, Document, Facts, Grid, Heading, House, Signatures, text
from journeyman.worlds.documents.pptx import Deck, Plot, Slide
from journeyman.worlds.documents.xlsx import Book, Cell, Chart, Formula, Note, Sheet, Value
from journeyman.worlds.lexicon import people, working_day

Row = tuple[str | int | float, ...]


class Tab(NamedTuple):
    """One sheet: a header, rows of a label and figures, and which columns are added up below them."""

    name: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    total: tuple[int, ...] = ()  # columns, counted from 0
    look: str = "money"  # of figures
    title: str = ""
    note: str = ""  # a comment on the first cell
    chart: bool = False  # columns of figures over the labels


class Drive:
    """Files of one standard world."""

    def __init__(self, truth: Any, rng: random.Random) -> None:
        self.truth = truth
        self.rng = rng
        self.folder = Folder()
        self.paths: dict[str, str] = {}  # source id -> path
        self.signers: set[str] = set()  # names below papers
        self.today: str = truth.frozen_time[:10]
        self.house = house(rng, truth.legal_name)
        self.other = house(rng, truth.other_party, serif=True)
        known = set(truth.people.values())
        self.counterpart = rng.choice([n for n in people(truth.split) if n not in known])  # signs for the other party

    def name(self, role: str) -> str:
        """Who has this role; a name stays as it is."""
        return str(self.truth.people.get(role, role))

    def person(self, role: str, organisation: str = "") -> Person:
        """A correspondent: of the company, or of the organisation given."""
        return address(self.name(role), organisation or self.truth.legal_name)

    def _keep(self, source: str, path: str) -> None:
        if source:
            if source in self.paths:
                raise ValueError(f"source {source} is put on the drive twice")
            self.paths[source] = path

    def paper(
        self,
        source: str,
        path: str,
        title: str,
        *,
        dated: str,
        by: str | None = None,
        facts: Sequence[tuple[str, str]] = (),
        body: Sequence[str | Block] = (),
        grid: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]] | None = None,
        rules: Sequence[str] = (),
        signed: Sequence[tuple[str, str, str]] = (),
        status: str = "",
        reference: str = "",
        paper: House | None = None,
    ) -> str:
        """A docx, pdf or md (by the ending): labelled facts, paragraphs ("# ..." is a heading), a table, rules, hands.

        `by` is a role; None: of the house whose paper it is. `signed` are (name, capacity, ISO date or "").
        """
        self._keep(source, path)
        blocks: list[Block] = [Facts(tuple(facts))] if facts else []
        for part in body:
            if isinstance(part, str):
                blocks.append(Heading(part[2:]) if part.startswith("# ") else text(part))
            else:
                blocks.append(part)
        if grid is not None:
            blocks.append(Grid(grid[0], grid[1]))
        if rules:
            blocks.append(Bullets(tuple(rules), numbered=True))
        if signed:
            blocks.append(Signatures(tuple(signed)))
            self.signers.update(name for name, *_ in signed)
        sheet = paper or self.house
        author = self.name(by) if by is not None else self.counterpart if sheet is self.other else sheet.name
        made = Document(title, tuple(blocks), sheet, author, dated, reference=reference, status=status)
        return self.folder.document(path, made)

    def book(self, source: str, path: str, title: str, *tabs: Tab, by: str, dated: str) -> str:
        """A workbook with live totals."""
        self._keep(source, path)
        sheets = tuple(_sheet(tab, self.name(by)) for tab in tabs)
        return self.folder.book(path, Book(sheets, self.name(by), title, dated, colour=self.house.colour))

    def export(self, source: str, path: str, header: tuple[str, ...], rows: Sequence[Row], dated: str) -> str:
        """A csv export of a system."""
        self._keep(source, path)
        return self.folder.table(path, header, tuple(rows), dated)

    def program(self, path: str, text: str, dated: str) -> str:
        """A program; its path is its source id."""
        self._keep(path, path)
        return self.folder.add(path, text.encode(), dated)

    def mail(
        self,
        source: str,
        path: str,
        *,
        sender: str,
        to: str,
        dated: str,
        subject: str,
        body: str,
        answer: str = "",
        organisation: str = "",
    ) -> str:
        """A mail from one role to another; with `answer`, the reply that quotes it. `organisation` is the sender's."""
        self._keep(source, path)
        first, second = self.person(sender, organisation), self.person(to)
        thread = [Message(first, (second,), at(dated, 9, 40), subject, f"{body}\n\n{first.name}")]
        if answer:
            reply = Message(second, (first,), at(dated, 14, 5), f"Re: {subject}", f"{answer}\n\n{second.name}")
            thread.append(reply)
        return self.folder.mail(path, *thread)

    def message(self, source: str, path: str, sender: str, to: str, dated: str, subject: str, body: str) -> str:
        """A mail within the company from one person to another, by name."""
        self._keep(source, path)
        first, second = (address(name, self.truth.legal_name) for name in (sender, to))
        return self.folder.mail(path, Message(first, (second,), at(dated, 9, 40), subject, f"{body}\n\n{sender}"))

    def deck(self, source: str, path: str, title: str, subtitle: str, *slides: Slide, by: str, dated: str) -> str:
        """A presentation."""
        self._keep(source, path)
        return self.folder.deck(path, Deck(title, subtitle, self.house, self.name(by), dated, slides))

    def ago(self, days: int) -> str:
        """The working day on or before the day so many days ago."""
        return working_day(self.today, -days)


def plot(kind: str, categories: Sequence[str], **series: Sequence[float]) -> Plot:
    """A native chart for a slide."""
    return Plot(kind, tuple(categories), tuple((n.replace("_", " "), tuple(v)) for n, v in series.items()))


def money(amount: int) -> str:
    """1234567 -> "1,234,567"."""
    return f"{amount:,}"


def _sheet(tab: Tab, author: str) -> Sheet:
    words = [c == 0 or any(isinstance(row[c], str) for row in tab.rows) for c in range(len(tab.header))]
    titles = tuple(Cell(t, "head" if word else "head_right") for t, word in zip(tab.header, words, strict=True))
    rows: list[tuple[Cell | Value, ...]] = [(Cell(tab.title or tab.name, "title"),), titles]
    for row in tab.rows:
        rows.append(
            (Cell(row[0], "label"), *(Cell(v, tab.look if isinstance(v, int | float) else "text") for v in row[1:]))
        )
    last = len(rows)
    if tab.total:
        cells: list[Cell | Value] = [Cell("Total", "total_label")]
        for column in range(1, len(tab.header)):
            letter = chr(ord("A") + column)
            if column not in tab.total:
                cells.append(Cell(None, "total"))
                continue
            added = sum(v for r in tab.rows if not isinstance(v := r[column], str))
            cells.append(Cell(Formula(f"SUM({letter}3:{letter}{last})", added), "total"))
        rows.append(tuple(cells))
    charts: tuple[Chart, ...] = ()
    if tab.chart:
        figures = [c for c in range(1, len(tab.header)) if tab.rows and not isinstance(tab.rows[0][c], str)]
        series = tuple(
            (tab.header[c], f"{tab.name}!${chr(ord('A') + c)}$3:${chr(ord('A') + c)}${last}") for c in figures[:4]
        )
        charts = (Chart("column", tab.title or tab.name, f"{tab.name}!$A$3:$A${last}", series, f"A{last + 3}"),)
    notes = (Note("A1", author, tab.note),) if tab.note else ()
    columns = [[tab.header[c], *(str(r[c]) for r in tab.rows)] for c in range(len(tab.header))]
    widths = tuple(min(48.0, max(13.0, 1.15 * max(map(len, cells)) + 2)) for cells in columns)
    return Sheet(tab.name, tuple(rows), widths, (2, 1), notes=notes, charts=charts)
