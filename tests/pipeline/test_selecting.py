"""What a recipe and a command line say of demonstrations reaches the rows that are built of them."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from journeyman.datasets.think import empty_think_tokens
from journeyman.errors import UserError
from journeyman.pipeline.recipe import load_recipe
from journeyman.pipeline.selecting import decoder_of
from journeyman.pipeline.state import SHIPPED_POLICY
from journeyman.store.dataset import Dataset
from tests.pipeline.conftest import Made, typed

QUICKSTART = Path(__file__).parents[2] / "recipes" / "quickstart.toml"


def test_a_policys_own_tokenizer_reads_what_it_wrote(tmp_path: Path) -> None:
    decode = decoder_of(SHIPPED_POLICY)
    assert decode is not None
    tokenizer = Tokenizer.from_file(str(SHIPPED_POLICY / "tokenizer.json"))
    span = tokenizer.encode("<think>\n\n</think>\n\n", add_special_tokens=False).ids
    answer = tokenizer.encode("Hello", add_special_tokens=False).ids
    assert empty_think_tokens([*span, *answer], decode) == len(span)
    assert decoder_of(tmp_path) is None


def test_a_recipe_sanitises_and_keys_that_change_nothing_are_no_part_of_its_identity() -> None:
    plain = load_recipe(QUICKSTART)
    same = load_recipe(QUICKSTART, ("sft.ignore_empty_think=true", "sft.strict_whitespace=false"))
    assert plain.identity() == same.identity()
    others = ('sft.sanitise={how="truncate"}', "sft.ignore_empty_think=false", "sft.think_opened_by_prompt=true")
    made = [load_recipe(QUICKSTART, (other,)) for other in others]
    assert len({recipe.identity() for recipe in (plain, *made)}) == 4
    assert made[0].sft.sanitise is not None
    assert made[0].sft.sanitise.how == "truncate"
    with pytest.raises(UserError, match=r"sft\.sanitise\.how"):
        load_recipe(QUICKSTART, ('sft.sanitise={how="nope"}',))


@pytest.mark.slow
def test_the_command_line_sanitises_and_repairs(made: Made, tmp_path: Path) -> None:
    def rows(name: str, *options: str) -> tuple[int, dict[str, int]]:
        done = typed("data", "sft", made.directory, "--out", tmp_path / name, *options)
        assert done.returncode == 0, done.stderr
        manifest = Dataset.open(tmp_path / name).manifest
        return manifest.trained_tokens, manifest.excluded

    plain, _ = rows("plain")
    masked, excluded = rows("masked", "--sanitise")
    assert masked < plain
    assert {"sanitised: mask"} <= set(excluded)
    _, excluded = rows("discarded", "--sanitise", "discard", "--train-empty-think")
    assert set(excluded) == {"sanitised: discard"}
    _, excluded = rows("repaired", "--sanitise", "--repairs", "admission")
    assert "sanitised: repair" in excluded
    for options in (["--repairs", "admission"], ["--sanitise", "mask", "--repairs", "expert"]):
        done = typed("data", "sft", made.directory, "--out", tmp_path / "no", *options)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
