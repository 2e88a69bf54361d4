"""An A4 page with an organisation's header and footer. Imports fpdf2: load it through `extra.office_module`."""

import datetime

from fpdf import FPDF

from journeyman.worlds.documents.model import Document
from journeyman.worlds.documents.printable import printable

LEFT, TEXT = 20.0, 170.0  # millimetres


class Page(FPDF):  # type: ignore[misc]
    """A4 with the organisation's header and footer."""

    def __init__(self, document: Document) -> None:
        super().__init__(format="A4")
        self.document = document
        self.family = "times" if document.house.serif else "helvetica"
        self.ink = tuple(int(document.house.colour[i : i + 2], 16) for i in (0, 2, 4))
        self.set_margins(LEFT, 30, LEFT)
        self.set_auto_page_break(True, 22)
        day = datetime.datetime.fromisoformat(document.date).replace(hour=8, tzinfo=datetime.UTC)
        self.set_creation_date(day)
        self.set_title(printable(document.title))
        self.set_author(printable(document.author))
        self.set_producer("Print service")

    def header(self) -> None:
        document = self.document
        self.set_y(12)
        self.set_font(self.family, "B", 11)
        self.set_text_color(*self.ink)
        self.cell(TEXT / 2, 5, printable(document.house.name))
        self.set_font(self.family, "B", 9)
        self.cell(TEXT / 2, 5, printable(document.status), align="R", new_x="LMARGIN", new_y="NEXT")
        self.set_font(self.family, "", 8)
        self.set_text_color(90, 90, 90)
        self.cell(TEXT / 2, 4, printable(document.house.line))
        self.cell(TEXT / 2, 4, printable(document.reference), align="R")
        self.set_draw_color(*self.ink)
        self.line(LEFT, 23, LEFT + TEXT, 23)
        self.set_y(30)

    def footer(self) -> None:
        self.set_y(-15)
        self.set_font(self.family, "", 8)
        self.set_text_color(90, 90, 90)
        self.cell(TEXT / 2, 5, printable(self.document.confidential))
        self.cell(TEXT / 2, 5, f"Page {self.page_no()}", align="R")
