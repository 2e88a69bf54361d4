"""Experts pair up across layouts, are merged projection by projection, and abort where they do not correspond."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.config import MergeConfig
from journeyman.merging.experts import find_blocks
from journeyman.merging.layout import read_layout
from journeyman.merging.merge import merge

from .conftest import MakeCheckpoint

E, INNER, HIDDEN = 4, 6, 16
PREFIX = "model.layers.0.mlp"
Matrices = dict[str, Tensor]  # gate, up [E, I, H], down [E, H, I], router [E, H]
Store = Callable[[Matrices], dict[str, Tensor]]


def matrices(seed: int, noise: float = 0.1) -> Matrices:
    ancestor, g = torch.Generator().manual_seed(99), torch.Generator().manual_seed(seed)

    def near(*shape: int) -> Tensor:
        return torch.randn(shape, generator=ancestor) + noise * torch.randn(shape, generator=g)

    gate, up, down = near(E, INNER, HIDDEN), near(E, INNER, HIDDEN), near(E, HIDDEN, INNER)
    return {"gate": gate, "up": up, "down": down, "router": near(E, HIDDEN)}


def fused(m: Matrices) -> dict[str, Tensor]:
    return {
        f"{PREFIX}.gate.weight": m["router"],
        f"{PREFIX}.experts.gate_up_proj": torch.cat([m["gate"], m["up"]], dim=1),
        f"{PREFIX}.experts.down_proj": m["down"],
    }


def transposed(m: Matrices) -> dict[str, Tensor]:
    stored = fused(m)
    return {k: v.transpose(1, 2).contiguous() if ".experts." in k else v for k, v in stored.items()}


def interleaved(m: Matrices) -> dict[str, Tensor]:
    stored = transposed(m)
    both = torch.stack([m["gate"], m["up"]], dim=2).reshape(E, 2 * INNER, HIDDEN)
    return stored | {f"{PREFIX}.experts.gate_up_proj": both.transpose(1, 2).contiguous()}


def split(m: Matrices) -> dict[str, Tensor]:
    stored = {f"{PREFIX}.gate.weight": m["router"]}
    for e in range(E):
        stored |= {f"{PREFIX}.experts.{e}.{p}_proj.weight": m[p][e].clone() for p in ("gate", "up", "down")}
    return stored


def mixtral(m: Matrices) -> dict[str, Tensor]:
    names = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2", ".mlp.": ".block_sparse_moe."}
    stored = {}
    for key, value in split(m).items():
        for old, new in names.items():
            key = key.replace(old, new)
        stored[key] = value
    return stored


STORES: dict[str, Store] = {
    "fused": fused,
    "transposed": transposed,
    "interleaved": interleaved,
    "split": split,
    "mixtral": mixtral,
}


class Workshop:
    """Writes parents in any layout, merges them, and reads the result as canonical matrices."""

    def __init__(self, make: MakeCheckpoint, tmp_path: Path) -> None:
        self.make, self.tmp_path, self.number = make, tmp_path, 0

    def parent(self, m: Matrices, store: str) -> Path:
        self.number += 1
        directory = self.make(f"p{self.number}", {k: v.contiguous() for k, v in STORES[store](m).items()})
        if store == "interleaved":
            (directory / "config.json").write_text('{"model_type": "gpt_oss"}')
        return directory

    def merge(self, *parents: Path, **keys: Any) -> Path:
        self.number += 1
        out = self.tmp_path / f"out{self.number}"
        merge(MergeConfig(parents=parents, out=out, **keys), lambda _: None)
        return out

    def read(self, out: Path) -> Matrices:
        layout = read_layout(out)
        (block,) = find_blocks(layout).values()
        found: dict[str, list[Tensor]] = {"gate": [], "up": [], "down": []}
        for e in range(block.experts):
            for projection in ("gate", "up", "down"):
                found[projection] += block.read(layout.rows, e, (projection,))  # type: ignore[arg-type]
        return {k: torch.stack(v) for k, v in found.items()}


@pytest.fixture
def shop(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> Workshop:
    return Workshop(make_checkpoint, tmp_path)


def test_every_layout_is_read_as_the_same_matrices(shop: Workshop) -> None:
    m = matrices(1)
    for store in STORES:
        read = shop.read(shop.parent(m, store))
        assert all(torch.equal(read[p], m[p]) for p in read), store


@pytest.mark.parametrize("method", ["soup", {"name": "slerp", "t": 0.3}, "task_arithmetic", "ties"])
@pytest.mark.parametrize("other", ["transposed", "split", "mixtral"])
def test_parents_of_two_layouts_merge_to_what_parents_of_one_do(shop: Workshop, method: Any, other: str) -> None:
    a, b, c = matrices(1), matrices(2), matrices(3)
    based = method in ("task_arithmetic", "ties")

    def base(store: str) -> dict[str, Path]:
        return {"base": shop.parent(c, store)} if based else {}

    one = shop.read(shop.merge(shop.parent(a, "fused"), shop.parent(b, "fused"), method=method, **base("fused")))
    two = shop.merge(shop.parent(a, "fused"), shop.parent(b, other), method=method, **base(other))
    assert set(load_file(two / "model.safetensors")) == set(fused(a))
    mixed = shop.read(two)
    kept = shop.read(shop.merge(shop.parent(a, "fused"), shop.parent(b, other), keep=1, method=method, **base("fused")))
    for projection, expected in one.items():
        assert torch.equal(mixed[projection], expected)
        assert torch.equal(kept[projection], expected)


def test_interleaved_experts_are_merged_and_written_as_they_were(shop: Workshop) -> None:
    a, b = matrices(1), matrices(2)
    out = shop.merge(shop.parent(a, "interleaved"), shop.parent(b, "interleaved"), method="slerp")
    one = shop.read(shop.merge(shop.parent(a, "split"), shop.parent(b, "split"), method="slerp"))
    stored = load_file(out / "model.safetensors")[f"{PREFIX}.experts.gate_up_proj"]
    assert torch.equal(stored[:, :, 0::2], one["gate"].transpose(1, 2))
    assert torch.equal(stored[:, :, 1::2], one["up"].transpose(1, 2))


def test_slerp_is_taken_per_projection_of_an_expert_not_over_the_fused_tensor(shop: Workshop) -> None:
    """The angle of the gate is not that of the up half: each is interpolated along its own arc."""
    a = matrices(1)
    b = a | {"gate": a["gate"] + 0.4 * torch.randn(a["gate"].shape, generator=torch.Generator().manual_seed(7))}
    found = shop.read(shop.merge(shop.parent(a, "fused"), shop.parent(b, "fused"), method="slerp"))
    assert torch.equal(found["up"], a["up"])
    whole = shop.merge(shop.parent(a, "split"), shop.parent(b, "split"), method="slerp")
    assert torch.equal(found["gate"], shop.read(whole)["gate"])


@pytest.mark.parametrize("store", ["fused", "split"])
@pytest.mark.parametrize("method", ["soup", "slerp"])
def test_swapped_permuted_weak_or_identical_experts_abort(shop: Workshop, store: str, method: str) -> None:
    a, b = matrices(1), matrices(2)
    order = [0, 2, 1, 3]
    swapped = b | {"gate": b["up"], "up": b["gate"]}
    permuted = b | {p: b[p][order] for p in ("gate", "up", "down")}
    everything = {k: v[order] for k, v in b.items()}
    alike = {k: v[:1].expand(v.shape).clone() if k != "router" else v for k, v in a.items()}
    turned = b | {"router": b["router"][order]}
    for parents, word in (
        ((a, swapped), "weak correspondence: gate of expert 0"),
        ((a, permuted), "weak correspondence: gate of expert 1"),
        ((a, everything), "weak correspondence: gate of expert 1"),
        ((a, matrices(3, noise=2.0)), "weak correspondence"),
        ((alike, alike), "ambiguous correspondence: gate of expert 0"),
        ((a, turned), "router row of expert 1"),
    ):
        with pytest.raises(UserError, match=word):
            shop.merge(*(shop.parent(p, store) for p in parents), method=method)
        assert not (shop.tmp_path / f"out{shop.number}").exists()


@pytest.mark.parametrize(("inner", "hidden"), [(6, 12), (8, 8), (6, 6), (12, 6)])
def test_shapes_tell_fused_from_transposed_whatever_the_widths(
    make_checkpoint: MakeCheckpoint, inner: int, hidden: int
) -> None:
    for number, style in enumerate(("fused", "transposed")):
        gate_up, down = torch.randn(2, 2 * inner, hidden), torch.randn(2, hidden, inner)
        stored = {"a.experts.gate_up_proj": gate_up, "a.experts.down_proj": down}
        if number:
            stored = {k: v.transpose(1, 2).contiguous() for k, v in stored.items()}
        (block,) = find_blocks(read_layout(make_checkpoint(style, stored))).values()
        assert (block.style, block.inner, block.hidden) == (style, inner, hidden)


def test_incomplete_or_unknown_layouts_are_named(shop: Workshop, make_checkpoint: MakeCheckpoint) -> None:
    whole = split(matrices(1))
    cases = {
        "no up of expert 2": {k: v for k, v in whole.items() if "experts.2.up" not in k},
        "unlike the others": whole | {f"{PREFIX}.experts.1.up_proj.weight": torch.zeros(3, HIDDEN)},
        "both per expert and fused": whole | fused(matrices(1)),
        "layout is not known": fused(matrices(1)) | {f"{PREFIX}.experts.down_proj": torch.zeros(E, 5, 7)},
        "not both": {k: v for k, v in fused(matrices(1)).items() if "gate_up" not in k},
    }
    for number, (word, tensors) in enumerate(cases.items()):
        broken = make_checkpoint(f"broken{number}", tensors)
        with pytest.raises(UserError, match=word):
            shop.merge(broken, broken)


def test_a_block_of_one_parent_only_is_inherited_whole(shop: Workshop, make_checkpoint: MakeCheckpoint) -> None:
    a, b = matrices(1), matrices(2)
    draft = {k.replace("layers.0", "mtp.0"): v for k, v in split(matrices(5)).items()}
    second = make_checkpoint("with-draft", split(b) | draft)
    out = shop.merge(shop.parent(a, "fused"), second)
    stored = load_file(out / "model.safetensors")
    assert set(stored) == set(fused(a)) | set(draft)
    assert all(torch.equal(stored[k], v) for k, v in draft.items())
    found = json.loads((out / "MERGE.json").read_bytes())["accounts"]
    assert sorted(found["inherited"]) == sorted(draft)
    assert found["experts_compared"] == E
