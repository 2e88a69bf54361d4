"""Merge methods against the vectors V9 of the design."""

import math

import pytest
import torch

from journeyman.errors import UserError
from journeyman.merging.base import make_method
from journeyman.merging.layout import TensorInfo, row_chunks
from journeyman.merging.methods.slerp import Slerp
from journeyman.merging.methods.soup import Soup
from journeyman.merging.methods.task_arithmetic import TaskArithmetic
from journeyman.merging.methods.ties import Ties


def t(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_soup_and_slerp_of_unit_vectors() -> None:
    a, b = t(1, 0), t(0, 1)
    assert Soup().combine([a, b], None).tolist() == [0.5, 0.5]
    assert Slerp().combine([a, b], None).tolist() == pytest.approx([0.707107, 0.707107], abs=1e-6)
    assert Slerp(t=0.25).combine([t(2, 0), b], None).tolist() == pytest.approx([1.847759, 0.382683], abs=1e-6)


def test_slerp_falls_back_to_a_line_for_parallel_and_tiny_vectors() -> None:
    a = t(1, 2, 3)
    assert torch.equal(Slerp(t=0.3).combine([a, a], None), a)
    assert Slerp().combine([t(0, 0), t(2, 4)], None).tolist() == [1, 2]
    assert Slerp().combine([t(1, 0), t(-1, 0)], None).tolist() == [0, 0]


def test_ties_trims_elects_and_averages_what_agrees() -> None:
    base, first, second = torch.zeros(4, dtype=torch.float64), t(1, -2, 0.5, 0), t(0.8, 1, -0.6, 0.3)
    method = Ties(density=0.5)
    assert method.trim(first).tolist() == [1, -2, 0, 0]
    assert method.trim(second).tolist() == [0.8, 1, 0, 0]
    assert method.combine([first, second], base).tolist() == pytest.approx([0.9, -2, 0, 0])


def test_task_arithmetic_adds_scaled_task_vectors_to_the_base() -> None:
    base = torch.ones(4, dtype=torch.float64)
    parents = [base + t(1, -2, 0.5, 0), base + t(0.8, 1, -0.6, 0.3)]
    assert TaskArithmetic(scale=0.5).combine(parents, base).tolist() == pytest.approx([1.9, 0.5, 0.95, 1.15])


def test_weights_are_normalised_and_counted() -> None:
    assert Soup(weights=(3, 1)).combine([t(1), t(5)], None).tolist() == [2]
    with pytest.raises(UserError, match="1 weights for 2"):
        Soup(weights=(1,)).combine([t(1), t(5)], None)


def test_sixteen_bit_parents_are_accumulated_wide_and_rounded_once() -> None:
    one = [torch.tensor([1.0], dtype=torch.bfloat16), torch.tensor([1.0078125], dtype=torch.bfloat16)]
    assert Soup().combine([x.float() for x in one], None).to(torch.bfloat16).item() == 1.0
    four = [torch.tensor([x], dtype=torch.bfloat16) for x in (256.0, 1.0, 1.0, 1.0)]
    narrow = four[0] + four[1] + four[2] + four[3]
    assert (narrow / 4).item() == 64.0
    assert Soup().combine([x.float() for x in four], None).to(torch.bfloat16).item() == 65.0


def test_row_chunks_of_a_tensor_are_the_tensor_in_order() -> None:
    x = torch.arange(5 * 6 * 4).reshape(5, 6, 4)
    info = TensorInfo("plain", "I64", (5, 6, 4), "m", 0, x.nbytes)
    for size in (1, 2 * 6 * 4 * 8, 1 << 20):
        assert torch.equal(torch.cat([x[a:b] for a, b in row_chunks(info, size)]), x)
    assert list(row_chunks(TensorInfo("scalar", "F32", (), "m", 0, 4), 1)) == [(0, 1)]


def test_unknown_methods_and_settings_are_named() -> None:
    with pytest.raises(UserError, match="'slurp' is unknown"):
        make_method("slurp")
    with pytest.raises(UserError, match="tt"):
        make_method({"name": "slerp", "tt": 1})
    for wrong in ({"name": "slerp", "t": 1.5}, {"name": "ties", "density": 0}):
        with pytest.raises(UserError, match=str(wrong["name"])):
            make_method(wrong)
    assert math.isclose(make_method({"name": "slerp", "t": 0.3}).t, 0.3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["json:dumps", "pathlib:Path", "builtins:dict", "nope", "nope:", "no.such:Thing"])
def test_what_is_no_method_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(UserError, match=f"merge method '{name}'") as told:
        make_method(name)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["soup", "slerp", "ties", "task_arithmetic"])
@pytest.mark.parametrize("flag", [{"needs_base": False}, {"parents": 3}, {"elementwise": True}, {"combine": 1}])
def test_what_a_method_is_cannot_be_set(name: str, flag: dict[str, object]) -> None:
    with pytest.raises(UserError, match="is what the method is, no setting"):
        make_method({"name": name, **flag})
    made = make_method(name)
    assert made.name == name
    assert not {"name", *flag} & type(made).model_fields.keys()  # type: ignore[attr-defined]
