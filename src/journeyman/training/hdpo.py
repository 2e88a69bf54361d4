"""HDPO's credit: an accuracy channel and an efficiency channel; equal accuracy is what efficiency is compared within.

    Q_i   = {j valid : accuracy_j = accuracy_i}      S = interaction steps (model calls)
    eff_i = (mean_Q S - S_i) / mean_Q S              sums to 0 in each stratum; 0 in a stratum of one
    A_i   = accuracy_weight A_acc,i + efficiency_weight eff_i

Occamy's text gives the efficiency reward; the weights are those of Metis's code, the combination is ours. A short
wrong answer gains nothing over right ones: it is compared with answers as wrong only. Torch-free.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from journeyman.records.base import Record
from journeyman.training.advantages import centred, grpo

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
DIGITS = 6  # accuracies equal in so many decimals are one stratum


class HdpoConfig(Record):
    """How the channels are weighted and the strata drawn."""

    accuracy_weight: float = Field(1.0, ge=0)
    efficiency_weight: float = Field(0.15, ge=0)
    strata: Literal["all", "positive"] = "all"  # positive: no efficiency where accuracy <= 0
    accuracy_std: bool = False  # True: the accuracy channel is divided by the group's standard deviation
    accuracy_bin: float | None = Field(None, gt=0)  # width of a stratum; None: exactly equal accuracy


class Channels(NamedTuple):
    """[G] each; the advantage is `accuracy + efficiency`, weights applied. 0 for invalid members."""

    accuracy: FloatArray
    efficiency: FloatArray


def strata(accuracy: FloatArray, width: float | None) -> FloatArray:
    """[G] stratum keys: rounded accuracy, or the lower edge of its bin of `width`."""
    if width is None:
        return np.round(accuracy, DIGITS)
    return np.round(np.floor(accuracy / width + 1e-9) * width, DIGITS)


def channels(
    reward: FloatArray, accuracy: FloatArray, steps: FloatArray, valid: BoolArray, config: HdpoConfig
) -> Channels:
    """Both channels of a group [G]: `reward` feeds the accuracy channel, `accuracy` (unshaped) draws the strata."""
    base = grpo(reward, valid) if config.accuracy_std else centred(reward, valid)
    efficiency = np.zeros(len(reward))
    keys = strata(accuracy, config.accuracy_bin)
    for key in np.unique(keys[valid]):
        members = valid & (keys == key)
        mean = steps[members].mean()
        if members.sum() < 2 or mean <= 0 or (config.strata == "positive" and (accuracy[members] <= 0).any()):
            continue
        efficiency[members] = (mean - steps[members]) / mean
    return Channels(config.accuracy_weight * base, config.efficiency_weight * efficiency)
