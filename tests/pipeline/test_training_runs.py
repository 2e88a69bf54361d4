"""Training outside a recipe: a step that was taken is taken for the batch it was taken on, and for no other."""

from pathlib import Path

import numpy as np
import pytest

from journeyman.errors import UserError
from journeyman.pipeline.training_runs import check_done
from journeyman.records.sample import MemberUpdate, Update
from journeyman.store.atomic import append_line
from journeyman.store.dataset import Dataset
from tests.training.conftest import random_row, write_rl


def test_a_step_that_was_taken_is_of_the_batch_in_its_place(tmp_path: Path) -> None:
    rows = [random_row(np.random.default_rng(n), [1, 2, 3]) for n in range(2)]
    members = [(float(n), [row]) for n, row in enumerate(rows)]
    one, other = (write_rl(tmp_path / name, {name: members}) for name in ("one", "other"))
    (group,) = Dataset.open(one).groups
    trained = {"raw": 1.0, "shaping": {}, "shaped": 1.0, "advantage": 0.5, "samples": (), "versions": (0, 0)}
    member = MemberUpdate(episode=group.members[0].episode, **trained)
    rest = {"version_before": 0, "version_after": 1, "dropped": {}, "tokens": 1, "metrics": {}}
    update = Update(step=0, objective="cispo", reward_name="signed.v1", groups={"one": (member,)}, **rest)
    ledger = tmp_path / "updates.jsonl"
    append_line(ledger, update.canonical())
    check_done(ledger, [one])
    check_done(ledger, [one, other])
    with pytest.raises(UserError, match=r"took step 0 on another batch than .*other"):
        check_done(ledger, [other, one])
