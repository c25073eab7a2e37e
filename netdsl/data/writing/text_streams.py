"""Texts as streams in HDF5, as recurrent nets of Caffe read them: side by side, a step of all streams in each row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np

from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.sources.class_names import LABELS, read_class_names, write_class_names
from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.data.writing.hdf5 import Hdf5Rows
from netdsl.data.writing.new_path import new_path
from netdsl.errors import DataError

PREFIX = "text:"
_FORM = f"{PREFIX}FILE?streams=N&classes=LABELS"
_FILE, _LIST = "text.h5", "list.txt"
_LONGEST = 1 << 26  # characters; in HDF5 each takes twelve bytes


@dataclass(frozen=True)
class TextSpec:
    """A file of text, how many streams it becomes, and a file that numbers its characters, if there is one."""

    path: Path
    streams: int = 1
    classes: Path | None = None

    @classmethod
    def of(cls, name: str) -> TextSpec:
        """What a name such as `text:FILE?streams=8` says."""
        path, _, query = name.removeprefix(PREFIX).partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        streams, classes = options.pop("streams", "1"), options.pop("classes", None)
        if options:
            raise DataError(f"{name}: has no option '{next(iter(options))}'; the form is {_FORM}")
        if not (streams.isdecimal() and 0 < int(streams) <= _LONGEST):
            raise DataError(f"{name}: streams is '{streams}'; it must be a number from 1 on")
        return cls(Path(path), int(streams), None if classes is None else Path(classes))


@dataclass(frozen=True)
class TextReport:
    """What was written: steps of every stream, the size of the alphabet, and how many characters at the end weren't."""

    steps: int
    streams: int
    characters: int
    left_out: int


def write_text_streams(spec: TextSpec, target: Path) -> TextReport:
    """Write a text into a new folder, with a list for HDF5Data and the names of its characters.

    Each stream is a part of the text. A row of `data` has a character of every stream, the same row of `target` those
    that follow, and `cont` is 0 in the first row. So a layer's batch is as many steps as its batch_size says, and the
    next one goes on from there.
    """
    text = _read(spec.path)
    alphabet = Alphabet.of(text) if spec.classes is None else Alphabet(read_class_names(spec.classes))
    numbers = np.array(alphabet.numbers(text, str(spec.path)), np.float32)
    steps = (len(numbers) - 1) // spec.streams
    if steps < 1:
        raise DataError(f"{spec.path}: has {len(numbers)} characters; {spec.streams} streams need more of them")
    ends = steps * spec.streams
    data, following = (part.reshape(spec.streams, steps).T for part in (numbers[:ends], numbers[1 : ends + 1]))
    cont = np.ones((steps, spec.streams), np.float32)
    cont[0] = 0
    with new_path(target) as folder:
        folder.mkdir()
        Hdf5Rows(folder / _FILE).add({"data": data, "cont": cont, "target": following})
        (folder / _LIST).write_text(f"{target / _FILE}\n", encoding="utf-8")
        write_class_names(alphabet.names, folder / LABELS)
    return TextReport(steps, spec.streams, len(alphabet.names), len(numbers) - 1 - ends)


def _read(path: Path) -> str:
    with file_errors(path), regular_file(path).open(encoding="utf-8", newline="") as file:
        try:
            text = file.read(_LONGEST + 1)
        except UnicodeDecodeError:
            raise DataError(f"{path}: isn't text in UTF-8") from None
    if len(text) > _LONGEST:
        raise DataError(f"{path}: has more than {_LONGEST:,} characters; divide it into several files")
    return text
