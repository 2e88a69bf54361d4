"""What the PDF core fonts can print: Latin-1, with typographic marks made plain."""

_PLAIN = str.maketrans(
    {"–": "-", "—": "-", "’": "'", "‘": "'", "“": '"', "”": '"', "…": "...", "€": "EUR ", "•": "-", "\t": "   "}
)


def printable(text: str) -> str:
    """`text` in the characters of the core fonts; anything else becomes "?"."""
    return text.translate(_PLAIN).encode("latin-1", "replace").decode("latin-1")
