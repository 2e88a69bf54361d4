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
        self.set_text_color(*self.ink)
        self._line(5, "B", (document.house.name, 11), (document.status, 9))
        self.set_text_color(90, 90, 90)
        self._line(4, "", (document.house.line, 8), (document.reference, 8))
        self.set_draw_color(*self.ink)
        self.line(LEFT, 23, LEFT + TEXT, 23)
        self.set_y(30)

    def footer(self) -> None:
        self.set_y(-15)
        self.set_text_color(90, 90, 90)
        self._line(5, "", (self.document.confidential, 8), (f"Page {self.page_no()}", 8))

    def _line(self, height: float, style: str, left: tuple[str, float], right: tuple[str, float]) -> None:
        """Two texts and their sizes at the ends of one line; smaller where they would meet."""
        sides = [(printable(text), size) for text, size in (left, right)]
        widths = []
        for text, size in sides:
            self.set_font(self.family, style, size)
            widths.append(self.get_string_width(text))
        scale = min(1.0, (TEXT - 4 * self.c_margin - 3) / max(sum(widths), 1.0))
        top, margins = self.get_y(), 2 * self.c_margin
        for (text, size), wide, align in zip(sides, widths, "LR", strict=True):
            wide = scale * wide + margins
            self.set_font(self.family, style, scale * size)
            self.set_xy(LEFT if align == "L" else LEFT + TEXT - wide, top)
            self.cell(wide, height, text, align=align)
        self.set_xy(LEFT, top + height)
