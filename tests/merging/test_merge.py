"""Merging checkpoints on disk: every key and byte accounted for, exact, and verified by a second reading."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.base import make_method
from journeyman.merging.config import MergeConfig
from journeyman.merging.layout import read_layout
from journeyman.merging.merge import merge
from journeyman.merging.plan import make_plan
from journeyman.merging.verify import MergeBroken, verify
from journeyman.records.sample import Checkpoint

from .conftest import MakeCheckpoint, random_tensors


def run(out: Path, *parents: Path, **keys: Any) -> dict[str, Tensor]:
    merge(MergeConfig(parents=parents, out=out, **keys), lambda _: None)
    found: dict[str, Tensor] = {}
    for shard in out.glob("*.safetensors"):
        found |= load_file(shard)
    return found


def bits(tensors: dict[str, Tensor]) -> dict[str, bytes]:
    return {k: v.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() for k, v in tensors.items()}


METHODS: list[tuple[Any, int]] = [
    ("soup", 2),
    ("soup", 3),
    ({"name": "slerp", "t": 0.3}, 2),
    ("task_arithmetic", 1),
    ({"name": "ties", "density": 1.0}, 2),
]


@pytest.mark.parametrize(("method", "copies"), METHODS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_merging_a_checkpoint_with_itself_gives_it_back_bit_for_bit(
    make_checkpoint: MakeCheckpoint, tmp_path: Path, method: Any, copies: int, dtype: torch.dtype
) -> None:
    tensors = random_tensors(0, dtype)
    a = make_checkpoint("a", tensors)
    keys: dict[str, Any] = {"method": method}
    parents = [a] * max(copies, 2)
    if make_method(method).needs_base:
        keys["base"] = a
    assert bits(run(tmp_path / "out", *parents, **keys)) == bits(tensors)


@pytest.mark.parametrize("slice_bytes", [1, 100, 1 << 20])
def test_a_soup_is_the_mean_whatever_the_slice(
    make_checkpoint: MakeCheckpoint, tmp_path: Path, slice_bytes: int
) -> None:
    a, b = random_tensors(1, torch.bfloat16), random_tensors(2, torch.bfloat16)
    found = run(tmp_path / "out", make_checkpoint("a", a), make_checkpoint("b", b), slice_bytes=slice_bytes)
    for key, value in a.items():
        if value.is_floating_point():
            mean = ((value.double() + b[key].double()) / 2).to(torch.bfloat16)
            assert torch.equal(found[key], mean), key


def test_shards_index_and_config_are_those_of_the_kept_parent(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2), shards=3)
    run(tmp_path / "out", a, b, keep=1)
    assert {p.name for p in (tmp_path / "out").glob("*.safetensors")} == {p.name for p in b.glob("*.safetensors")}
    layout = read_layout(tmp_path / "out")
    assert {k: t.shard for k, t in layout.tensors.items()} == {k: t.shard for k, t in read_layout(b).tensors.items()}
    assert layout.total_bytes == read_layout(b).total_bytes


def test_a_one_sided_tensor_is_inherited_and_listed(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    extra = torch.randn(3, 3)
    a, b = random_tensors(1), {**random_tensors(2), "mtp.head": extra}
    for name, (first, second) in {"x": (a, b), "y": (b, a)}.items():
        out = tmp_path / f"out-{name}"
        found = run(out, make_checkpoint(f"a{name}", first), make_checkpoint(f"b{name}", second))
        assert set(found) == set(b)
        assert torch.equal(found["mtp.head"], extra)
        assert json.loads((out / "MERGE.json").read_bytes())["accounts"]["inherited"] == ["mtp.head"]
        assert "`mtp.head`" in (out / "README.md").read_text()


def test_parents_of_another_lineage_are_refused_by_name(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a = random_tensors(1)
    base = make_checkpoint("a", a)
    wider = make_checkpoint("wider", {**a, "model.norm.weight": torch.zeros(9)})
    counted = make_checkpoint("counted", {**a, "counts": torch.arange(5) + 1})
    foreign = make_checkpoint("foreign", a, tokenizer='{"other": 1}')
    for other, word in ((wider, "model.norm.weight"), (counted, "counts"), (foreign, "tokenizers")):
        with pytest.raises(UserError, match=word):
            run(tmp_path / "out", base, other)
    with pytest.raises(UserError, match="exactly 2"):
        run(tmp_path / "out", base, base, base, method="slerp")
    with pytest.raises(UserError, match="at least two"):
        run(tmp_path / "out", base)
    with pytest.raises(UserError, match="common ancestor"):
        run(tmp_path / "out", base, base, method="ties")
    assert not (tmp_path / "out").exists()


def test_a_torn_or_incomplete_parent_is_refused(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    good = make_checkpoint("good", random_tensors(1), shards=2)
    torn = make_checkpoint("torn", random_tensors(2))
    data = (torn / "model.safetensors").read_bytes()
    (torn / "model.safetensors").write_bytes(data[:-8])
    with pytest.raises(UserError, match="torn"):
        run(tmp_path / "out", good, torn)
    next(iter(sorted(good.glob("*.safetensors")))).unlink()
    with pytest.raises(UserError, match="incomplete"):
        run(tmp_path / "out", good, good)


@pytest.mark.parametrize("method", ["soup", {"name": "slerp", "t": 0.4}])
def test_one_flipped_byte_anywhere_fails_verification(
    make_checkpoint: MakeCheckpoint, tmp_path: Path, method: Any
) -> None:
    parents = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    out = tmp_path / "out"
    record = merge(MergeConfig(parents=parents, out=out, method=method), lambda _: None)
    layouts = [read_layout(p) for p in parents]
    made = make_method(method)
    plan = make_plan(layouts, None, made, 0)
    assert verify(out, record.files, plan, layouts, None, made).tensors == len(plan.steps)
    path = out / "model.safetensors"
    clean = path.read_bytes()
    for info in read_layout(out).tensors.values():
        for at in (info.start, info.end - 1):
            dirty = bytearray(clean)
            dirty[at] ^= 0x10
            path.write_bytes(dirty)
            with pytest.raises(MergeBroken, match=r"model\.safetensors"):
                verify(out, record.files, plan, layouts, None, made, expected=record.files)
            with pytest.raises(MergeBroken, match=info.key):  # also where the digest was forged along with it
                verify(out, (), plan, layouts, None, made)


def test_a_lost_tensor_is_noticed_even_where_the_file_is_consistent(
    make_checkpoint: MakeCheckpoint, tmp_path: Path
) -> None:
    a = random_tensors(1)
    parents = make_checkpoint("a", a), make_checkpoint("b", random_tensors(2))
    layouts = [read_layout(p) for p in parents]
    method = make_method("soup")
    less = make_checkpoint("less", {k: v for k, v in a.items() if k != "model.norm.weight"})
    with pytest.raises(MergeBroken, match=r"model\.norm\.weight"):
        verify(less, (), make_plan(layouts, None, method, 0), layouts, None, method)


def test_the_marker_names_every_file_and_the_card_gives_the_recipe(
    make_checkpoint: MakeCheckpoint, tmp_path: Path
) -> None:
    parents = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    out = tmp_path / "out"
    record = merge(MergeConfig(parents=parents, out=out), lambda _: None)
    assert Checkpoint.parse((out / "CHECKPOINT.json").read_bytes()) == record
    assert set(record.files) == {p.name for p in out.iterdir()} - {"CHECKPOINT.json"}
    assert record.objective == "merge:soup"
    card = (out / "README.md").read_text()
    assert all(digest in card for digest in record.parents)
    again = merge(MergeConfig(parents=parents, out=out), lambda _: None)
    assert again == record
    with pytest.raises(UserError, match="create-only"):
        merge(MergeConfig(parents=parents, out=out, method="slerp"), lambda _: None)


def test_the_process_prints_json_lines(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    parents = [str(make_checkpoint(n, random_tensors(i))) for i, n in enumerate("ab")]
    path = tmp_path / "merge.json"
    path.write_text(json.dumps({"method": "soup", "parents": parents, "out": str(tmp_path / "out")}))
    command = [sys.executable, "-m", "journeyman.merging", "--config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1])["event"] == "done"
    path.write_text(json.dumps({"method": "soup", "parents": [parents[0]], "out": str(tmp_path / "other")}))
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "at least two" in failed.stderr
