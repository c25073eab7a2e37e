"""Writes texts and captions as parallel streams in HDF5, the form that Caffe's recurrent nets read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.sources.class_names import LABELS, read_class_names, write_class_names
from netdsl.data.sources.source_name import SourceName
from netdsl.data.sources.vocabulary import Vocabulary, words_of
from netdsl.data.writing.hdf5 import Hdf5Rows
from netdsl.data.writing.map_items import writing_order
from netdsl.data.writing.target import new_path
from netdsl.errors import DataError

if TYPE_CHECKING:
    from netdsl.data.sources.annotations.coco import CaptionedImage

_LIST, _IMAGES, _TEXT_ROWS, _CAPTION_ROWS = "list.txt", "images.txt", "text.h5", "captions.h5"
_MOST = 1 << 13  # the largest number of streams, of steps, or of a word's occurrences
# Its numbers of parallel captions, of steps, and of a word's occurrences.
_LRCN = {"streams": 100, "steps": 20, "least": 5}
_NO_WORD = -1  # fills targets after a caption's end

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class TextReport:
    """The number of steps of every stream, the size of the alphabet, and the number of characters left out at the
    end."""

    steps: int
    streams: int
    characters: int
    left_out: int


def write_text_streams(name: SourceName, target: Path) -> TextReport:
    """Write a text such as `text:FILE?streams=8` into a new folder, with a list for HDF5Data and its characters.

    Each stream is a part of the text. A row of `data` contains a character of every stream, and the same row of
    `target` contains the characters that follow. `cont` is 0 in the first row. The layer's batch_size is the number of
    steps in a batch, and the next batch continues there.
    """
    streams, text = name.number("streams", 1, least=1), name.read_text()
    alphabet = Alphabet.of(text) if name.class_names is None else Alphabet(read_class_names(name.class_names))
    numbers = np.array(alphabet.numbers(text, name.path), np.float32)
    steps = (len(numbers) - 1) // streams
    if steps < 1:
        raise DataError(
            f"{name.path}: the text has {len(numbers)} characters, too few for {streams} streams; lower "
            "streams=N in the name, or use more text"
        )
    ends = steps * streams
    data, following = (part.reshape(streams, steps).T for part in (numbers[:ends], numbers[1 : ends + 1]))
    cont = np.ones((steps, streams), np.float32)
    cont[0] = 0
    with new_path(target) as folder:
        folder.mkdir()
        Hdf5Rows(folder / _TEXT_ROWS).add({"data": data, "cont": cont, "target": following})
        (folder / _LIST).write_text(f"{target / _TEXT_ROWS}\n", encoding="utf-8")
        write_class_names(alphabet.names, folder / LABELS)
    return TextReport(steps, streams, len(alphabet.names), len(numbers) - 1 - ends)


@dataclass(frozen=True)
class CaptionReport:
    """Counts of the captions that were written, and the errors of images that were left out.

    `repeated` captions were written again, so that all streams have the same length. `words` is the size of the
    vocabulary, and `cut` counts shortened captions.
    """

    captions: int
    repeated: int
    streams: int
    words: int
    cut: int
    missing: tuple[str, ...] = ()


def write_caption_streams(
    name: SourceName, target: Path, seed: int | None = None, *, skip_bad: bool = False
) -> CaptionReport:
    """Write captions into a new folder, with lists for HDF5Data and ImageData, and the vocabulary.

    Each stream consists of consecutive captions, with `steps` rows for each. `input_sentence` contains 0 and the words.
    `target_sentence` contains the words and 0, followed by -1. `cont_sentence` is 0 where a caption begins and after
    its end. A batch of `steps` rows belongs to the next `streams` images in the list. A word that occurs fewer than
    `least` times is unknown, unless `classes` names a file with the vocabulary. With a seed, the captions are in random
    order.
    """
    streams, steps, least = (name.number(option, number, least=1, most=_MOST) for option, number in _LRCN.items())
    images, missing = _existing_images(name.open_captions(), skip_bad=skip_bad)
    pairs = [(image.path, words_of(caption)) for image in images for caption in image.captions]
    if not pairs:
        raise DataError(f"{name.path}: none of its images with captions exist; name their folder, as in ?images=FOLDER")
    words = [sentence for _, sentence in pairs]
    known = Vocabulary(read_class_names(name.class_names)) if name.class_names else Vocabulary.of(words, least)
    order = np.resize(writing_order(len(pairs), seed), -(-len(pairs) // streams) * streams)
    numbers = [known.numbers(sentence, name.path) for sentence in words]
    with new_path(target) as folder:
        folder.mkdir()
        rows = Hdf5Rows(folder / _CAPTION_ROWS)
        for batch in order.reshape(-1, streams):
            rows.add(_parallel_rows([numbers[index] for index in batch], steps))
        (folder / _LIST).write_text(f"{target / _CAPTION_ROWS}\n", encoding="utf-8")
        lines = "".join(f"{pairs[index][0]} 0\n" for index in order)
        (folder / _IMAGES).write_text(lines, encoding="utf-8", errors="surrogateescape")
        write_class_names(known.words, folder / LABELS)
    cut = sum(len(sentence) >= steps for sentence in words)
    repeated = len(order) - len(pairs)
    return CaptionReport(len(pairs), repeated, streams, len(known.words), cut, missing)


def _existing_images(
    images: Sequence[CaptionedImage], *, skip_bad: bool
) -> tuple[list[CaptionedImage], tuple[str, ...]]:
    """Return the images that exist, and errors for all others."""
    there = [image for image in images if image.path.is_file()]
    missing = tuple(f"{image.path}: no such file" for image in images if not image.path.is_file())
    if missing and not skip_bad:
        raise DataError(f"{missing[0]}; copy it there, or leave missing images out with --skip-bad")
    return there, missing


def _parallel_rows(captions: Sequence[Sequence[int]], steps: int) -> dict[str, Numbers]:
    """Return the rows of parallel captions. Each caption is cut after this many steps."""
    shape = steps, len(captions)
    inputs, cont = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    targets = np.full(shape, _NO_WORD, np.float32)
    for stream, caption in enumerate(captions):
        length = min(len(caption) + 1, steps)
        inputs[:length, stream] = [0, *caption][:length]
        targets[:length, stream] = [*caption, 0][:length]
        cont[1:length, stream] = 1
    return {"cont_sentence": cont, "input_sentence": inputs, "target_sentence": targets}
