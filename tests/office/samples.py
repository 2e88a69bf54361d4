"""Real files made with the office libraries themselves, as a policy would make them."""

import datetime
import io
from typing import Any

import docx
import openpyxl
import pptx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from fpdf import FPDF
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches


def saved(document: Any) -> bytes:
    """The bytes a library's object saves."""
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def word_file() -> bytes:
    """Three runs, a merged table, a header, a list, a comment, an insertion, a deletion and a deleted row."""
    document = docx.Document()
    document.add_heading("Payment terms", 1)
    paragraph = document.add_paragraph("The term is ")
    paragraph.add_run("thirty").bold = True
    paragraph.add_run(" days.")
    document.add_comment(paragraph.runs, "Is that agreed?", author="Ada Barham")
    table = document.add_table(4, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Region"
    table.cell(0, 2).text = "Amount"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "North"
    table.cell(1, 1).text, table.cell(1, 2).text = "A", "1,200"
    table.cell(2, 1).text, table.cell(2, 2).text = "B", "300"
    table.cell(3, 0).text, table.cell(3, 2).text = "Gone", "99"
    deleted = parse_xml(f'<w:del {nsdecls("w")} w:id="7" w:author="Bo" w:date="2026-03-04T00:00:00Z"/>')
    table.rows[3]._tr.get_or_add_trPr().append(deleted)
    changed = document.add_paragraph("Interest is ")
    for tag, text in (("del", "window"), ("ins", "term")):
        inner = "delText" if tag == "del" else "t"
        changed._p.append(
            parse_xml(
                f'<w:{tag} {nsdecls("w")} w:id="{len(text)}" w:author="Bo" w:date="2026-03-04T00:00:00Z">'
                f"<w:r><w:{inner}>{text}</w:{inner}></w:r></w:{tag}>"
            )
        )
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    document.sections[0].header.paragraphs[0].text = "Strictly private"
    document.sections[0].footer.paragraphs[0].text = "Page one"
    return saved(document)


def workbook_file() -> bytes:
    """Formats, an uncalculated formula, a date, a comment, a hidden sheet, a defined name and a chart."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Summary"
    rows = (("Revenue", 1234.5), ("Margin", 0.1234), ("Loss", -40), ("Closed", datetime.date(2026, 3, 4)))
    for row in rows:
        sheet.append(row)
    sheet["A5"], sheet["B5"] = "Total", "=SUM(B1:B3)"
    sheet["B1"].number_format, sheet["B2"].number_format = '"EUR "#,##0.00', "0.0%"
    sheet["B3"].number_format = "#,##0;(#,##0)"
    sheet["A1"].comment = Comment("From the ledger", "Al")
    hidden = book.create_sheet("Scratch")
    hidden.sheet_state = "hidden"
    hidden["A1"] = "secret"
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3))
    sheet.add_chart(chart, "D2")
    return saved(book)


def deck_file() -> bytes:
    """A title, a table, a native chart, notes and a hidden slide."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Where we stand"
    data = CategoryChartData()
    data.categories = ["Q1", "Q2"]
    data.add_series("Volume", (1.5, 2.25))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(3), data)
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(3), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Line", "FY26"
    table.cell(1, 0).text, table.cell(1, 1).text = "Revenue", "512"
    slide.notes_slide.notes_text_frame.text = "Say it slowly"
    back_up = deck.slides.add_slide(deck.slide_layouts[5])
    back_up.shapes.title.text = "Back-up"
    back_up._element.set("show", "0")
    return saved(deck)


def print_file() -> bytes:
    """A page with a ruled table, and an empty page."""
    page = FPDF()
    page.add_page()
    page.set_font("helvetica", size=12)
    page.cell(text="Status: final", new_x="LMARGIN", new_y="NEXT")
    with page.table() as table:
        for cells in (("Line", "Amount"), ("Revenue", "512")):
            row = table.row()
            for cell in cells:
                row.cell(cell)
    page.add_page()
    return bytes(page.output())


def mail_file() -> bytes:
    """A mail with a text and an html part, and a csv attached."""
    from email.message import EmailMessage

    message = EmailMessage()
    message["From"], message["To"] = "Ada <ada@a.example>", "bo@b.example"
    message["Subject"], message["Date"] = "Forecast", "Wed, 04 Mar 2026 10:00:00 +0000"
    message.set_content("Use v5.\n\nDeadline: Friday\n")
    message.add_alternative("<p>Use <b>v5</b>.</p>", subtype="html")
    message.add_attachment(b"line,amount\nRevenue,512\n", maintype="text", subtype="csv", filename="figures.csv")
    return message.as_bytes()
