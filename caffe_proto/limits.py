"""Limits on the work that a file may ask for, so that a small file can't take all memory or run for hours.

Every interpreter of a file charges its work here before it does it. docs/limits.md lists the limits.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from enum import Enum
from functools import lru_cache

from caffe_proto.errors import LimitError, SettingError, name_advice

VARIABLE = "NETDSL_LIMITS"  # raises limits, as in layers=50000,archive-bytes=64G

_LARGEST_SHOWN = 10**15  # in a sentence; a card's aliases can multiply to thousands of digits
STORED_TIMES = 100  # the factor by which values may grow when they are unpacked; those of a trained net hardly do
_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def number_of(text: str) -> int | None:
    """Return the positive number in a text such as 5000, 500M or 2GiB, or `None` if it isn't one."""
    match = re.fullmatch(r"([0-9]{1,15})\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    return (int(match[1]) * _SUFFIXES[match[2].upper()] or None) if match else None


class Limit(Enum):
    """A limit, with its name, its default, its unit, the work that it limits, and advice about it."""

    ADDRESS_BYTES = (
        "address-bytes",
        64 << 30,
        "bytes",
        "The file or folder of an address such as s3://bucket/train, which is copied to this machine.",
        "Raise it for a larger data set.",
    )
    ARCHIVE_BYTES = (
        "archive-bytes",
        4 << 30,
        "bytes",
        "The files of an archive after they are unpacked.",
        "Raise it for a model of several gigabytes.",
    )
    ARCHIVE_GROWTH = (
        "archive-growth",
        256 << 20,
        "bytes",
        "The contents of an archive that has less than a hundredth of their bytes.",
        "Raise it for weights that consist mostly of zeros.",
    )
    ARCHIVE_HEADERS = (
        "archive-headers",
        8 << 20,
        "bytes",
        "The headers of a tar file, with long names and comments. In a tar file of data, those of one member.",
        "Unpack a model yourself, and pull its folder. Write data again with shorter names and without comments.",
    )
    ARCHIVE_MEMBERS = (
        "archive-members",
        10_000,
        "members",
        "The entries of an archive, with folders and headers.",
        "Unpack a larger archive yourself, and pull the folder of the model.",
    )
    BLOB_PIECES = (
        "blob-pieces",
        1000,
        "pieces",
        "The places of a binary file that contain the values of one blob.",
        "Programs write one or two, so a file with more is probably damaged.",
    )
    BOXES = (
        "boxes",
        10_000,
        "boxes",
        "The boxes or anchors of a layer at one position of a map.",
        "Published nets have fewer than 10, so use fewer sizes or ratios.",
    )
    CARD_CHARACTERS = (
        "card-characters",
        1 << 18,
        "characters",
        "The text of a card, with its aliases written out.",
        "Keep the card short, and move long texts to another file.",
    )
    FRAMES = (
        "frames",
        10_000,
        "frames",
        "The frames of one item of a video.",
        "Set num_segments or new_length to fewer frames.",
    )
    LAYERS = (
        "layers",
        5_000,
        "layers",
        "The layers of a net's phase.",
        "Published nets have fewer than 2,000.",
    )
    LINE_CHARACTERS = (
        "line-characters",
        1 << 22,
        "characters",
        "One line of a list, of a file of names, or of a CSV file.",
        "A file with a longer line is probably damaged, so download or write it again.",
    )
    LIST_BYTES = (
        "list-bytes",
        4 << 30,
        "bytes",
        "A list, a file of names, or a CSV file.",
        "Split a larger file, or store its items in a database or a table.",
    )
    LIST_FILES = (
        "list-files",
        10_000,
        "files",
        "The HDF5 files of a list, which are opened at the start.",
        "Store the rows in fewer files.",
    )
    LIST_LINES = (
        "list-lines",
        20_000_000,
        "lines",
        "The lines of a list, of a file of names, or of a CSV file.",
        "Split a longer file, or store its items in a database or a table.",
    )
    MEMORY = (
        "memory",
        256 << 20,
        "bytes",
        "The memory for the values of a file that stores them in less than a hundredth of the bytes, and for the zeros "
        "that an import adds to filters.",
        "Store values without compression, or raise the limit for weights that consist mostly of zeros.",
    )
    MESSAGE_PARTS = (
        "message-parts",
        100_000,
        "layers or blobs",
        "The layers or blobs of one binary message.",
        "Nets have fewer, so a file with more is probably damaged.",
    )
    NODES = (
        "nodes",
        5_000,
        "nodes",
        "The nodes of an ONNX graph, with its functions and branches written out.",
        "Simplify the graph with onnxsim, or raise the limit for a very deep net.",
    )
    OPERATIONS = (
        "operations",
        1 << 30,
        "operations",
        "The steps that compute the constants of an ONNX graph.",
        "Run onnxsim on the model first, which computes the constants.",
    )
    PASS_MEMORY = (
        "pass-memory",
        512 << 20,
        "bytes",
        "The inputs and outputs of one layer, in the pass that verifies an import, and that of `zoo check --run`. The "
        "first one also counts the outputs of the program with which the net is compared.",
        "Raise it for a net with large images.",
    )
    PASS_OPERATIONS = (
        "pass-operations",
        4 << 30,
        "operations",
        "The multiplications and additions of the pass that verifies an imported model.",
        "Raise it for a small net with large images.",
    )
    PROCESS_MEMORY = (
        "process-memory",
        8 << 30,
        "bytes",
        "The memory for opening one file in a separate process.",
        "Raise it for a net with larger weights or images.",
    )
    PROCESS_SECONDS = (
        "process-seconds",
        600,
        "seconds",
        "The time for opening one file in a separate process.",
        "Raise it on a slow machine. `zoo check` has the option `--seconds` instead.",
    )
    RUN_OPERATIONS = (
        "run-operations",
        40 << 30,
        "operations",
        "The multiplications and additions of the pass of `zoo check --run`, with the smallest images that fit.",
        "Raise it for a net with large images.",
    )
    SHARD_MEMBERS = (
        "shard-members",
        20_000_000,
        "members",
        "The entries of all tar files of one data set, with folders and long names.",
        "Train on a part of a larger data set in each run.",
    )
    SUMMARY_LINES = (
        "summary-lines",
        3_000,
        "lines",
        "The layers or blobs of one file in the table of `zoo show`.",
        "Published nets have fewer than 2,000 layers.",
    )
    TEXT_CHARACTERS = (
        "text-characters",
        1 << 26,
        "characters",
        "A text or a label map that is read as a whole.",
        "Split a longer text into several files.",
    )
    VALUES = (
        "values",
        1 << 27,
        "values",
        "The values of one blob of weights, of one constant, or of one value in an ONNX model.",
        "Raise it for a net with weights of more than 512 MB in one layer.",
    )

    def __init__(self, label: str, default: int, unit: str, work: str, advice: str) -> None:
        self.label, self.default, self.unit, self.work, self.advice = label, default, unit, work, advice

    @property
    def most(self) -> int:
        """The largest number that is allowed: the user's setting, or the default."""
        return _settings(os.environ.get(VARIABLE, "")).get(self, self.default)

    def check(self, needed: int, what: str, by_size: int = 0) -> None:
        """Raise a `LimitError` about `what` if it needs more than the limit, and more than its own size allows."""
        if needed > (allowed := max(self.most, by_size)):
            raise self.problem(needed, what, allowed)

    def problem(self, needed: int, what: str, allowed: int) -> LimitError:
        """Return the error about work that needs more than is allowed."""
        needed = min(needed, _LARGEST_SHOWN)
        return LimitError(
            f"{what} needs {needed:,} {self.unit} or more, but the limit '{self.label}' allows "
            f"{allowed:,}; if you trust the file, set {VARIABLE}={self.label}={self._enough(needed)}"
        )

    def _enough(self, needed: int) -> str:
        """Return a setting that allows more work than is known to be needed, since the rest isn't known yet."""
        amount, suffixes = max(needed, 2 * self.most), [*_SUFFIXES]
        while self.unit == "bytes" and amount >= 10 << 10:
            amount, suffixes = -(-amount >> 10), suffixes[1:]
        return f"{amount}{suffixes[0]}"


class Ledger:
    """The work that one file has asked for."""

    def __init__(self) -> None:
        self._charged = Counter[Limit]()

    def charge(self, limit: Limit, amount: int, what: str, by_size: int = 0) -> None:
        """Add work that is about to be done. Raises a `LimitError` about `what` if the sum exceeds the limit."""
        self._charged[limit] += amount
        limit.check(self._charged[limit], what, by_size)


def check_limits() -> None:
    """Raise a `SettingError` if the environment variable NETDSL_LIMITS can't be understood."""
    _settings(os.environ.get(VARIABLE, ""))


@lru_cache
def _settings(text: str) -> dict[Limit, int]:
    limits, settings = {limit.label: limit for limit in Limit}, dict[Limit, int]()
    for part in filter(None, (part.strip() for part in text.split(","))):
        label, _, value = (piece.strip() for piece in part.partition("="))
        number = number_of(value)
        if label not in limits:
            raise SettingError(f"{VARIABLE}: there is no limit '{label[:40]}'; {name_advice(label[:40], limits)}")
        if number is None:
            raise SettingError(f"{VARIABLE}: '{part[:80]}' isn't a limit; write a number, as in {label}=50000 or 64G")
        settings[limits[label]] = number
    return settings
