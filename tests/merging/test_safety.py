"""What a merge must refuse or account for: other lineages, adapters, stale files, NaN, other people's files."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.config import MergeConfig
from journeyman.merging.merge import merge
from journeyman.store.unfinished import UNFINISHED

from .conftest import MakeCheckpoint, random_tensors


def run(out: Path, *parents: Path, **keys: Any) -> dict[str, Tensor]:
    merge(MergeConfig(parents=parents, out=out, **keys), lambda _: None)
    return load_file(out / "model.safetensors")


def accounts(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "MERGE.json").read_bytes())["accounts"]
    return found


def test_a_directory_that_no_merge_of_ours_began_is_never_removed(
    make_checkpoint: MakeCheckpoint, tmp_path: Path
) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    for out in (mine, a):
        before = {p.name: p.read_bytes() for p in out.iterdir()}
        with pytest.raises(UserError, match="is no merge that was left unfinished here"):
            run(out, a, b)
        assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_an_unfinished_merge_is_made_again(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    out = tmp_path / "out"
    out.mkdir()
    (out / UNFINISHED).touch()
    (out / "model.safetensors").write_bytes(b"half")
    run(out, a, b)
    assert not (out / UNFINISHED).exists()


def test_a_checkpoint_of_training_is_never_taken_for_a_merge(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    run(tmp_path / "out", a, b)
    (tmp_path / "out" / "MERGE.json").unlink()
    with pytest.raises(UserError, match="another checkpoint"):
        run(tmp_path / "out", a, b)


def test_adapters_are_refused_not_averaged(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a = make_checkpoint("a", random_tensors(1))
    named = make_checkpoint("named", {"base_model.q_proj.lora_A.weight": torch.zeros(2, 2)})
    adapter = make_checkpoint("adapter", random_tensors(2))
    (adapter / "adapter_config.json").write_text("{}")
    beside = make_checkpoint("beside", random_tensors(2))
    save_file({"x": torch.zeros(1)}, beside / "adapter_model.safetensors")
    for parent in (named, adapter, beside):
        with pytest.raises(UserError, match="adapter"):
            run(tmp_path / "out", a, parent)


def test_configurations_that_compute_differently_are_refused(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    same = {"model_type": "llama", "rope_scaling": {"rope_theta": 1e4}, "dtype": "bfloat16", "eos": None}
    (a / "config.json").write_text(json.dumps(same))
    (b / "config.json").write_text(json.dumps(same | {"dtype": "float32", "transformers_version": "9", "eos": None}))
    run(tmp_path / "out", a, b)
    (b / "config.json").write_text(json.dumps(same | {"rope_scaling": {"rope_theta": 1e6}}))
    with pytest.raises(UserError, match=r"rope_scaling\.rope_theta is 10000.0 in .* and 1000000.0"):
        run(tmp_path / "other", a, b)


def test_tokenizers_are_compared_by_meaning(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    words = {"model": {"vocab": {"a": 0}}, "added_tokens": [], "truncation": None}
    a = make_checkpoint("a", random_tensors(1), tokenizer=json.dumps(words))
    b = make_checkpoint("b", random_tensors(2), tokenizer=json.dumps(words | {"truncation": {"x": 1}}, indent=2))
    run(tmp_path / "out", a, b)
    c = make_checkpoint("c", random_tensors(2), tokenizer=json.dumps(words | {"added_tokens": [{"id": 1}]}))
    with pytest.raises(UserError, match="different tokenizers"):
        run(tmp_path / "other", a, c)


def test_weights_of_another_format_are_not_carried_over(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    stale = ("optimizer.pt", "pytorch_model.bin", "model.gguf", "pytorch_model.bin.index.json", "LICENSE", "vocab.txt")
    for name in stale:
        (a / name).write_text("{}")
    run(tmp_path / "out", a, b)
    kept = {p.name for p in (tmp_path / "out").iterdir()}
    assert kept & set(stale) == {"LICENSE", "vocab.txt"}
    card = (tmp_path / "out" / "README.md").read_text()
    assert "`model.gguf`, `optimizer.pt`, `pytorch_model.bin`" in card


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_parent_that_is_not_finite_or_a_result_that_does_not_fit_aborts(
    make_checkpoint: MakeCheckpoint, tmp_path: Path, dtype: torch.dtype
) -> None:
    for number, value in enumerate((float("nan"), float("inf"), 60000.0)):
        if value == 60000.0 and dtype != torch.float16:
            continue
        a, b = random_tensors(1, dtype), random_tensors(2, dtype)
        base = make_checkpoint(f"base{number}", random_tensors(0, dtype))
        for tensors in (a, b):
            tensors["model.norm.weight"][3] = value
        parents = make_checkpoint(f"a{number}", a), make_checkpoint(f"b{number}", b)
        with pytest.raises(UserError, match=r"model\.norm\.weight: the task_arithmetic is not finite"):
            run(tmp_path / "out", *parents, method="task_arithmetic", base=base)
        assert not (tmp_path / "out" / "CHECKPOINT.json").exists()


def test_a_tied_output_head_that_one_side_stores_is_its_embedding_on_the_other(
    make_checkpoint: MakeCheckpoint, tmp_path: Path
) -> None:
    a, b = random_tensors(1), random_tensors(2)
    head = torch.randn(50, 8)
    tied, stored = make_checkpoint("tied", a), make_checkpoint("stored", b | {"lm_head.weight": head})
    (tied / "config.json").write_text('{"model_type": "llama", "tie_word_embeddings": true}')
    for number, (parents, keep) in enumerate((((tied, stored), 0), ((stored, tied), 0), ((tied, stored), 1))):
        found = run(tmp_path / f"out{number}", *parents, keep=keep)
        mean = ((a["model.embed_tokens.weight"].double() + head.double()) / 2).float()
        assert torch.equal(found["lm_head.weight"], mean)
        assert accounts(tmp_path / f"out{number}")["inherited"] == []


def test_every_byte_of_every_parent_is_accounted_for(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b, c = (random_tensors(n) for n in range(3))
    draft = torch.ones(4, 4)
    parents = (
        make_checkpoint("a", a | {"only": draft}),
        make_checkpoint("b", b | {"draft": draft * 2}),
        make_checkpoint("c", c | {"draft": draft * 3}),
    )
    found = run(tmp_path / "out", *parents, keep=2)
    assert torch.equal(found["draft"], draft * 3)
    told = accounts(tmp_path / "out")
    assert told["left_out"] == ["b: draft"]
    assert told["inherited"] == ["draft", "only"]
    for parent, stored in zip(told["parents"], (a, b, c), strict=True):
        assert parent["bytes"] == sum(t.nbytes for t in stored.values()) + draft.nbytes
        assert parent["bytes"] == parent["merged_or_equal"] + parent["inherited"] + parent["left_out"]
    assert [p["left_out"] for p in told["parents"]] == [0, draft.nbytes, 0]


def test_the_same_parent_twice_is_two_parents(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    record = merge(MergeConfig(parents=(a, a, b), out=tmp_path / "out"), lambda _: None)
    assert len(record.parents) == 3
    assert "A soup of 3 checkpoints" in (tmp_path / "out" / "README.md").read_text()


def test_a_soup_takes_no_base(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a = make_checkpoint("a", random_tensors(1))
    with pytest.raises(UserError, match="soup takes no base"):
        run(tmp_path / "out", a, a, base=a)


def test_a_header_that_lies_about_its_length_is_refused(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    data = (b / "model.safetensors").read_bytes()
    (b / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 40) + data[8:])
    with pytest.raises(UserError, match="not a safetensors file"):
        run(tmp_path / "out", a, b)


def test_progress_is_told_in_the_words_every_process_uses(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    big = {"w": torch.zeros(40 << 20, dtype=torch.bfloat16)}
    said: list[dict[str, Any]] = []
    parents = (make_checkpoint("a", big), make_checkpoint("b", big))
    merge(MergeConfig(parents=parents, out=tmp_path / "out"), said.append)
    progress = [line for line in said if line["event"] == "progress"]
    assert progress
    assert all(0 < line["step"] <= line["total"] for line in progress)


def test_settings_of_a_method_are_typed_on_the_command_line() -> None:
    from journeyman.cli.merge import method_config

    assert method_config("slerp", ("t=0.3",)) == {"name": "slerp", "t": 0.3}
    assert method_config("soup", ("weights=[3,1]",)) == {"name": "soup", "weights": [3, 1]}
    for wrong in ("t", "t=", "t=x"):
        with pytest.raises(UserError, match="KEY=VALUE"):
            method_config("slerp", (wrong,))


def test_a_parent_that_contradicts_its_marker_is_refused_and_nothing_is_left(
    make_checkpoint: MakeCheckpoint, tmp_path: Path
) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    run(tmp_path / "parent", a, b)
    weights = tmp_path / "parent" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-40] ^= 1
    weights.write_bytes(data)
    for parents, base in (((a, tmp_path / "parent"), None), ((a, b), tmp_path / "parent")):
        method = "soup" if base is None else "task_arithmetic"
        with pytest.raises(UserError, match=r"model\.safetensors is missing or changed after it was written"):
            run(tmp_path / "out", *parents, base=base, method=method)
        assert not (tmp_path / "out").exists()


def test_a_parent_of_another_tokenizer_or_of_none_is_refused(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    (b / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"\(tokenizer\.json\) and .*b \(none\) have different tokenizers"):
        run(tmp_path / "out", a, b)
    for directory, pieces in ((a, b"one"), (b, b"other")):
        (directory / "tokenizer.json").unlink(missing_ok=True)
        (directory / "tokenizer.model").write_bytes(pieces)
    with pytest.raises(UserError, match="different tokenizers"):
        run(tmp_path / "out", a, b)
    (b / "tokenizer.model").write_bytes(b"one")
    run(tmp_path / "out", a, b)


def _header(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("config.json", b"{"),
        ("config.json", b"[1]"),
        ("tokenizer.json", b"\xff\xfe"),
        ("tokenizer.json", b"[]"),
        ("model.safetensors.index.json", b"{"),
        ("model.safetensors.index.json", b"[]"),
        ("model.safetensors.index.json", b'{"weight_map": 3}'),
        ("CHECKPOINT.json", b"{"),
        ("CHECKPOINT.json", b"[]"),
        ("model.safetensors", _header(b"[]")),
        ("model.safetensors", _header(b'{"w": []}')),
        ("model.safetensors", _header(b'{"w": {"dtype": "F32", "shape": [1]}}')),
        ("model.safetensors", _header(b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}')),
        ("model.safetensors", _header(b'{"w": {"dtype": 4, "shape": "x", "data_offsets": [0, 4]}}')),
        ("model.safetensors", _header(b'{"w": {"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}}')),
        ("model.safetensors", b""),
    ],
)
def test_a_damaged_file_of_a_parent_is_one_line_that_names_it(
    make_checkpoint: MakeCheckpoint, tmp_path: Path, name: str, data: bytes
) -> None:
    a, b = make_checkpoint("a", random_tensors(1)), make_checkpoint("b", random_tensors(2))
    (b / name).write_bytes(data)
    with pytest.raises(UserError, match=name) as told:
        run(tmp_path / "out", a, b)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "out").exists()


def test_a_tensor_of_one_side_that_is_not_finite_aborts(make_checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    a = make_checkpoint("a", random_tensors(1))
    for number, value in enumerate((float("nan"), float("inf"), float("-inf"))):
        draft = torch.ones(4, 4, dtype=torch.bfloat16)
        draft[2, 1] = value
        b = make_checkpoint(f"b{number}", random_tensors(2) | {"draft": draft})
        with pytest.raises(UserError, match=r"draft of .*, which would be inherited, holds a NaN or an infinity"):
            run(tmp_path / "out", a, b)
        assert not (tmp_path / "out").exists()
