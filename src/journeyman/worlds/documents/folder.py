"""A shared drive being filled: paths, bytes, provenance and as-of dates, plus how dates and firms are written on it.

Invariant: no path is written twice, and every file says where it comes from and for which day it speaks (X-05).
"""

import datetime
import random

from journeyman.worlds.base import FileDraft, Provenance
from journeyman.worlds.documents.docx import docx_bytes
from journeyman.worlds.documents.mail import Message, eml_bytes
from journeyman.worlds.documents.model import Document, House
from journeyman.worlds.documents.pdf import pdf_bytes
from journeyman.worlds.documents.pptx import Deck, pptx_bytes
from journeyman.worlds.documents.text import csv_bytes, md_bytes
from journeyman.worlds.documents.xlsx import Book, xlsx_bytes

_COLOURS = ("1F3864", "7B2D26", "1D4E4A", "3B3B58", "6B4E16", "264653", "4A2545", "2F4F2F")
_STREETS = ("Quay Street", "Mill Lane", "Station Road", "Harbour Row", "Park Terrace", "Foundry Way", "Castle Gate")
_TOWNS = ("Bristol", "Leeds", "Rotterdam", "Lyon", "Porto", "Aarhus", "Ghent", "Graz")


class Folder:
    """The files of one world, in the order they were put there."""

    def __init__(self) -> None:
        self._files: dict[str, FileDraft] = {}

    @property
    def files(self) -> dict[str, FileDraft]:
        """Path -> file."""
        return dict(self._files)

    def add(self, path: str, data: bytes, as_of: str, provenance: Provenance = "synthetic") -> str:
        """Keep `data` under `path`. Raises ValueError when the path is taken."""
        if path in self._files:
            raise ValueError(f"{path} is written twice")
        self._files[path] = FileDraft(data=data, provenance=provenance, as_of=as_of[:10])
        return path

    def document(self, path: str, document: Document) -> str:
        """A document as docx, pdf or md, by the ending of `path`."""
        write = {"docx": docx_bytes, "pdf": pdf_bytes, "md": md_bytes}[path.rsplit(".", 1)[1]]
        return self.add(path, write(document), document.date)

    def book(self, path: str, book: Book) -> str:
        """A workbook."""
        return self.add(path, xlsx_bytes(book), book.date)

    def deck(self, path: str, deck: Deck) -> str:
        """A presentation."""
        return self.add(path, pptx_bytes(deck), deck.date)

    def mail(self, path: str, *thread: Message) -> str:
        """The last message of a thread."""
        return self.add(path, eml_bytes(*thread), thread[-1].sent)

    def table(
        self, path: str, header: tuple[str, ...], rows: tuple[tuple[str | int | float, ...], ...], as_of: str
    ) -> str:
        """A csv export."""
        return self.add(path, csv_bytes(header, rows), as_of)


def house(rng: random.Random, name: str, *, serif: bool = False) -> House:
    """Paper of the organisation `name`: an address and a colour of its own."""
    line = f"{rng.randint(2, 98)} {rng.choice(_STREETS)}, {rng.choice(_TOWNS)}"
    return House(name, line, rng.choice(_COLOURS), serif)


def day(iso: str) -> str:
    """2026-03-04 -> 4 March 2026."""
    date = datetime.date.fromisoformat(iso[:10])
    return f"{date.day} {date.strftime('%B %Y')}"


def date(iso: str) -> datetime.date:
    """The date of ISO text."""
    return datetime.date.fromisoformat(iso[:10])


def at(iso: str, hour: int, minute: int = 0) -> str:
    """A moment of a day, for mail."""
    return f"{iso[:10]}T{hour:02d}:{minute:02d}"


def slug(text: str) -> str:
    """Lower-case words joined by "_", for file names."""
    return "_".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
