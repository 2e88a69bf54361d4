"""First pages of PDFs as PNGs beside them: python -m journeyman.office.pdf_picture WIDTH PDF...

Invariant: a PDF that cannot be drawn gets no picture, and the next is drawn. It is run as a process of its own, because
a C library reads what anybody may have made. Needs the `office` extra.
"""

import sys
from pathlib import Path

TALLEST = 4  # of a picture, in widths


def draw(pdf: Path, width: int) -> None:
    """Write the first page as PDF.png, `width` pixels wide, or less where it is very tall."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(pdf) as document:
            page = document[0]
            scale = min(width / page.get_width(), TALLEST * width / page.get_height())
            page.render(scale=scale).to_pil().save(pdf.with_suffix(".png"))
    except (pypdfium2.PdfiumError, OSError, ValueError, IndexError, ZeroDivisionError):
        return


if __name__ == "__main__":
    for name in sys.argv[2:]:
        draw(Path(name), int(sys.argv[1]))
