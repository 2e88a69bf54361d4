"""Routed experts of one episode: rows [layers, top_k] by position, append-only, in a file named for their shape.

experts.LAYERSxTOPK.u8, or .u16 (little-endian) where a model has more than 256 experts. Turns say which rows are
theirs.
"""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

_NAME = re.compile(r"experts\.(\d+)x(\d+)\.u(8|16)")


def experts_name(layers: int, top_k: int, experts: int) -> str:
    """The file's name for a model's routers."""
    return f"experts.{layers}x{top_k}.u{8 if experts <= 256 else 16}"


def experts_file(directory: Path) -> Path | None:
    """The episode's file; None where it has none."""
    return next((p for p in sorted(directory.glob("experts.*")) if _NAME.fullmatch(p.name)), None)


def _shape(path: Path) -> tuple[int, int, int]:
    """(layers, top_k, bytes of one id). Raises ValueError for another file's name."""
    found = _NAME.fullmatch(path.name)
    if found is None:
        raise ValueError(f"{path} is not named for the shape of its rows")
    layers, top_k, bits = (int(n) for n in found.groups())
    return layers, top_k, bits // 8


def expert_row_bytes(path: Path) -> int:
    """Bytes of one row. Raises ValueError."""
    layers, top_k, width = _shape(path)
    return layers * top_k * width


def read_experts(path: Path) -> npt.NDArray[np.uint16]:
    """All rows [rows, layers, top_k]. Raises ValueError where the file holds no whole number of them."""
    layers, top_k, width = _shape(path)
    flat = np.fromfile(path, dtype=f"<u{width}")
    return flat.reshape(-1, layers, top_k).astype(np.uint16)
