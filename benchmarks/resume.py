"""Killing a run at random moments and going on: what was sealed and trained on, beside a run that was left alone.

The whole process group (driver, sampler, learner, service host, boxes' spawner) gets SIGKILL; the same command with
--resume goes on. Default: the miniature recipe of the tests, whose policy is random and made on the spot.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.pipeline.killing import compare, finish, progress, run_killed
from tests.pipeline.miniature import write_policy, write_recipe


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, help="Recipe to run. Default: the miniature one.")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--steps", type=int, default=8, help="RL steps of the miniature recipe.")
    parser.add_argument("--seed", type=int, default=0, help="Of the moments.")
    parser.add_argument("--out", type=Path, help="Keep both runs here. Default: a temporary directory.")
    return parser.parse_args()


def measure(asked: argparse.Namespace, root: Path) -> int:
    """Run twice, print both tables; 0 only if everything holds."""
    recipe = asked.recipe
    if recipe is None:
        recipe = write_recipe(root / "miniature.toml", write_policy(root / "policy"), steps=asked.steps)
    whole, killed = root / "whole" / "run", root / "killed" / "run"
    for path in (whole, killed):
        path.parent.mkdir(parents=True)
    alone = finish(recipe, whole, root / "whole.log")
    total = progress(whole)
    print(f"{recipe.stem}: left alone it took {alone:.0f} s and came to {total} marks (episodes, steps, stages)\n")
    kills = run_killed(recipe, killed, total, asked.kills, random.Random(asked.seed), root / "killed.log")
    print(f"{'kill':<6}{'after s':>9}{'marks':>8}  {'during':<16}{'left running':>14}")
    for kill in kills:
        print(f"{kill.number:<6}{kill.seconds:>9.1f}{kill.mark:>8}  {kill.stage:<16}{kill.survivors:>14}")
    print(f"\n{'what must be the same':<48}{'alone':>14}{'killed':>12}  holds")
    held = list(compare(recipe, whole, killed))
    for one in held:
        print(f"{one.what:<48}{one.whole:>14}{one.killed:>12}  {'yes' if one.holds else 'NO'}")
    good = all(one.holds for one in held) and len(kills) == asked.kills and not any(k.survivors for k in kills)
    print(f"\n{len(kills)} of {asked.kills} kills landed; {'everything' if good else 'NOT everything'} holds")
    return 0 if good else 1


def main() -> int:
    """Measure in a temporary directory, or where asked."""
    asked = arguments()
    if asked.out is not None:
        asked.out.mkdir(parents=True)
        return measure(asked, asked.out.resolve())
    with tempfile.TemporaryDirectory(prefix="jm-resume-") as root:
        return measure(asked, Path(root))


if __name__ == "__main__":
    sys.exit(main())
