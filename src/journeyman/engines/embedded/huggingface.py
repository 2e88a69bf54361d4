"""Any Hugging Face causal LM over the sampler's rows: its attention is handed our buffers as a cache."""

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from journeyman.engines.embedded.cache import Piece, Rows, causal_mask


class _View(CacheLayerMixin):  # type: ignore[misc]
    """One layer of `rows` for the rows and positions of the current call."""

    def __init__(self, rows: Rows, depth: int) -> None:
        super().__init__()
        self.rows, self.depth = rows, depth
        self.first = self.last = self.longest = 0
        self.positions = torch.zeros(0, 0, dtype=torch.long)
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """The buffers exist already."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write keys and values [B, H, q, D] to their positions; return all up to `longest` [B, H, n, D]."""
        for n, row in enumerate(range(self.first, self.last)):
            self.rows.keys[self.depth, row].index_copy_(2, self.positions[n], key_states[n].transpose(1, 2))
            self.rows.values[self.depth, row].index_copy_(1, self.positions[n], value_states[n])
        keys = self.rows.keys[self.depth, self.first : self.last, :, :, : self.longest]
        return keys.transpose(-1, -2), self.rows.values[self.depth, self.first : self.last, :, : self.longest]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of what `update` returns."""
        return self.longest, 0

    def get_seq_length(self) -> int:
        """Positions before the new ones, for models that derive positions from it (we always give them)."""
        return self.longest - self.positions.shape[-1]

    def get_max_length(self) -> int:
        """Context of the buffers."""
        return self.rows.context


class HuggingFaceForward:
    """Runs the model's own forward pass."""

    def __init__(self, model: Any) -> None:
        self.model = model
        config = model.config.get_text_config()
        self.heads: int = config.num_key_value_heads
        self.head_size: int = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.depth: int = config.num_hidden_layers
        self._views: list[_View] = []
        self._cache_name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"

    def prefill(self, rows: Rows, pieces: Sequence[Piece]) -> Tensor:
        """Logits [P, V] of each piece's last token, one forward pass per piece."""
        device = rows.keys.device
        logits = []
        for piece in pieces:
            end = piece.start + len(piece.ids)
            ids = torch.from_numpy(piece.ids).long().to(device)[None]
            positions = torch.arange(piece.start, end, device=device)[None]
            mask = causal_mask(piece.start, len(piece.ids), device)
            logits.append(self._run(rows, piece.row, ids, positions, mask, end))
        return torch.cat(logits)

    def decode(self, rows: Rows, ids: Tensor, positions: Tensor, mask: Tensor, longest: int) -> Tensor:
        """Logits [B, V] after one token for each of rows 0..B: ids and positions [B]; mask [B, 1, longest] is added."""
        return self._run(rows, 0, ids[:, None], positions[:, None], mask[:, None], longest)

    def _run(self, rows: Rows, first: int, ids: Tensor, positions: Tensor, mask: Tensor, longest: int) -> Tensor:
        """Logits [B, V] of each row's last token: rows first..first+B, ids and positions [B, q], mask [B, 1, q, n]."""
        if not self._views or self._views[0].rows is not rows:
            self._views = [_View(rows, depth) for depth in range(self.depth)]
        for view in self._views:
            view.first, view.last, view.longest, view.positions = first, first + len(ids), longest, positions
        answer = self.model(
            input_ids=ids,
            attention_mask=mask.to(self.model.dtype),
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: Cache(layers=list(self._views))},
        )
        logits: Tensor = answer.logits[:, -1]
        return logits
