"""The two halves that well-known data sets come in."""

from __future__ import annotations

from enum import Enum


class DataSplit(Enum):
    """What the items are for."""

    TRAIN = "train"
    TEST = "test"
