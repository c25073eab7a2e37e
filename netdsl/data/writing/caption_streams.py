"""Captions as streams in HDF5, and the list of images that goes with them, as LRCN's nets read both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.coco_captions import CaptionedImage, read_captions
from netdsl.data.sources.class_names import LABELS, read_class_names, write_class_names
from netdsl.data.sources.vocabulary import Vocabulary, words_of
from netdsl.data.writing.hdf5 import Hdf5Rows
from netdsl.data.writing.map_items import writing_order
from netdsl.data.writing.new_path import new_path
from netdsl.errors import DataError

PREFIX = "captions:"
_FORM = f"{PREFIX}FILE.json?images=FOLDER&streams=N&steps=N&least=N&classes=LABELS"
_FILE, _LIST, _IMAGES = "captions.h5", "list.txt", "images.txt"
_MOST = 1 << 13  # streams, or steps, or times that a word is there
_NO_WORD = -1  # what targets have behind a caption's end


@dataclass(frozen=True)
class CaptionSpec:
    """A file of captions, and how they become streams: how many side by side, in how many steps a caption.

    A word that is there fewer than `least` times is unknown, unless `classes` names a file with the vocabulary.
    """

    path: Path
    images: Path | None = None
    classes: Path | None = None
    streams: int = 100
    steps: int = 20
    least: int = 5

    @classmethod
    def of(cls, name: str) -> CaptionSpec:
        """What a name such as `captions:FILE.json?streams=8` says. The other numbers are LRCN's."""
        path, _, query = name.removeprefix(PREFIX).partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        paths = {key: Path(options.pop(key)) for key in ("images", "classes") if key in options}
        own = {"streams": cls.streams, "steps": cls.steps, "least": cls.least}
        numbers = [_number(name, key, options.pop(key, str(value))) for key, value in own.items()]
        if options:
            raise DataError(f"{name}: has no option '{next(iter(options))}'; the form is {_FORM}")
        return cls(Path(path), paths.get("images"), paths.get("classes"), *numbers)


def _number(name: str, key: str, text: str) -> int:
    if not (text.isdecimal() and 0 < int(text) <= _MOST):
        raise DataError(f"{name}: {key} is '{text}'; it must be a number from 1 to {_MOST:,}")
    return int(text)


@dataclass(frozen=True)
class CaptionReport:
    """What was written: how many captions, and how many of these several times so that all streams are as long; the
    words of the vocabulary; how many captions were cut; and what is wrong with images that were left out.
    """

    captions: int
    repeated: int
    streams: int
    words: int
    cut: int
    missing: tuple[str, ...] = ()


Numbers = NDArray[np.float32]


def write_caption_streams(
    spec: CaptionSpec, target: Path, seed: int | None = None, *, skip_bad: bool = False
) -> CaptionReport:
    """Write captions into a new folder, with lists for HDF5Data and ImageData and the vocabulary.

    Each stream has one caption after the other, `steps` rows each. `input_sentence` has 0 and the words,
    `target_sentence` the words and 0, behind which it has -1, and `cont_sentence` is 0 where a caption begins and
    behind its end. The images of a batch of `steps` rows are the next `streams` of the list. With a seed the captions
    are in random order.
    """
    images, missing = _checked(read_captions(spec.path, spec.images), skip_bad=skip_bad)
    pairs = [(image.path, words_of(caption)) for image in images for caption in image.captions]
    if not pairs:
        raise DataError(f"{spec.path}: has no captions of images that are there")
    words = [sentence for _, sentence in pairs]
    known = Vocabulary(read_class_names(spec.classes)) if spec.classes else Vocabulary.of(words, spec.least)
    order = np.resize(writing_order(len(pairs), seed), -(-len(pairs) // spec.streams) * spec.streams)
    numbers = [known.numbers(sentence, str(spec.path)) for sentence in words]
    with new_path(target) as folder:
        folder.mkdir()
        rows = Hdf5Rows(folder / _FILE)
        for batch in order.reshape(-1, spec.streams):
            rows.add(_streams([numbers[index] for index in batch], spec.steps))
        (folder / _LIST).write_text(f"{target / _FILE}\n", encoding="utf-8")
        lines = "".join(f"{pairs[index][0]} 0\n" for index in order)
        (folder / _IMAGES).write_text(lines, encoding="utf-8", errors="surrogateescape")
        write_class_names(known.words, folder / LABELS)
    cut = sum(len(sentence) >= spec.steps for sentence in words)
    repeated = len(order) - len(pairs)
    return CaptionReport(len(pairs), repeated, spec.streams, len(known.words), cut, missing)


def _checked(images: Sequence[CaptionedImage], *, skip_bad: bool) -> tuple[list[CaptionedImage], tuple[str, ...]]:
    """The images that are there, and what is wrong with the others."""
    there = [image for image in images if image.path.is_file()]
    missing = tuple(f"{image.path}: isn't there" for image in images if not image.path.is_file())
    if missing and not skip_bad:
        raise DataError(f"{missing[0]}; put it there, or leave such images out by --skip-bad")
    return there, missing


def _streams(captions: Sequence[Sequence[int]], steps: int) -> dict[str, Numbers]:
    """The rows of captions side by side, each cut after so many steps."""
    shape = steps, len(captions)
    inputs, cont = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    targets = np.full(shape, _NO_WORD, np.float32)
    for stream, caption in enumerate(captions):
        length = min(len(caption) + 1, steps)
        inputs[:length, stream] = [0, *caption][:length]
        targets[:length, stream] = [*caption, 0][:length]
        cont[1:length, stream] = 1
    return {"cont_sentence": cont, "input_sentence": inputs, "target_sentence": targets}
