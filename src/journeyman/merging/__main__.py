"""`python -m journeyman.merging --config FILE`: one merge, JSON lines on stdout."""

import sys
from argparse import Namespace

import torch

from journeyman.merging.config import MergeConfig
from journeyman.merging.merge import merge
from journeyman.store.config_file import load_config
from journeyman.store.json_process import Emit, run


def main(arguments: Namespace, emit: Emit) -> None:
    """Merge once. One thread computes beside the one that writes or hashes: slices are too small to be shared."""
    torch.set_num_threads(1)
    merge(load_config(arguments.config, MergeConfig), emit)


if __name__ == "__main__":
    sys.exit(run("merge checkpoints", main))
