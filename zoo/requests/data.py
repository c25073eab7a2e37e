"""Requests about data sets."""

from __future__ import annotations

from typing import Literal

from zoo.requests.groups import SKIP_BAD_HELP
from zoo.requests.request import Request, RequestError, argument, option, request

SOURCES = """\b
A data set is named by its path, or by its kind and path:
  lmdb:PATH  leveldb:PATH  hdf5:LIST?names=A,B  images:LIST?root=FOLDER
  folder:PATH (a folder for each class)
  mnist:FOLDER[:test]  cifar10:FOLDER[:test]  cifar100:FOLDER[:test]
  csv:PATH?label=NAME&columns=A,B  parquet:PATH?columns=A,B  arrow:PATH?columns=A,B
  netcdf:PATH?x=VARIABLE&y=VARIABLE  digits[:train|:test]
  shapes[:train|:test]?kinds=A,B
\b
Images with boxes, polygons or masks around objects:
  voc:FOLDER?set=NAME  coco:FILE?images=FOLDER  yolo:FOLDER?set=NAME
  labelme:FOLDER  maps:FOLDER  lmdb:PATH?first_pixel=N (of SSD's AnnotatedDatum)
  objects[:train|:test]?side=N&count=N&kinds=A,B  poses:PATH?joints=N
  people[:train|:test]?side=N&count=N
\b
Behind any name, ?part=test is every tenth item, ?part=train all others,
?items=FILE has the numbers of the items that count, one on each line, and
?classes=FILE the names of classes: one on each line, or a label map.
"""


def height_and_width(text: str) -> tuple[int, int]:
    """Height and width, of a text such as 256x256."""
    height, _, width = text.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal() and int(height) and int(width)):
        raise ValueError(f"'{text}' isn't like 256x256, height and width")
    return int(height), int(width)


@request
class ConvertDataRequest(Request):
    """Write a data set as LMDB, LevelDB, Parquet or a folder of images for each class, all of it or nothing.

    The ending or the prefix of DST says which: train_lmdb, lmdb:PATH, train.parquet, leveldb:PATH, folder:PATH.
    Databases have Caffe's records, with the keys of convert_imageset.

    Images with objects are written as lmdb:PATH or leveldb:PATH of SSD's records with a label map, voc:FOLDER,
    coco:FILE.json with a folder of images beside it, yolo:FOLDER, or maps:FOLDER, which has a list of images and maps
    of classes. --min-dim enlarges images whose shorter side has fewer pixels, --max-dim shrinks those whose longer one
    has more.

    People with joints, such as those of COCO's person_keypoints files, are written as poses:PATH, an LMDB for CMU's
    pose nets with a record for each person.

    A text, text:FILE?streams=N&classes=LABELS, becomes a new folder DST with streams in HDF5 for recurrent nets:
    list.txt for HDF5Data with the tops data, cont and target, and labels.txt with the characters.

    Captions in COCO's form, captions:FILE.json?images=FOLDER&streams=N&steps=N&least=N&classes=LABELS, become such a
    folder as LRCN has it: list.txt for HDF5Data with the tops cont_sentence, input_sentence and target_sentence,
    images.txt for ImageData, and labels.txt with the words that are there `least` times, by default 5.
    """

    source: str = argument("SRC")
    target: str = argument("DST")
    resize: tuple[int, int] | None = option(
        "Bring all images to one height and width.", default=None, metavar="HxW", parse=height_and_width
    )
    min_dim: int | None = option("Enlarge images with objects, at least to N.", default=None, least=1, metavar="N")
    max_dim: int | None = option("Shrink images with objects, at most to N.", default=None, least=1, metavar="N")
    encoded: Literal["jpg", "png"] | None = option("Store image files rather than their pixels.", default=None)
    gray: bool = option("Convert images to gray.", default=False)
    shuffle: bool = option("Write the items in random order.", default=False)
    seed: int = option("The seed of the random order.", default=0, least=0, metavar="N")
    skip_bad: bool = option(SKIP_BAD_HELP, default=False)

    @property
    def order(self) -> int | None:
        """The seed of the order, if it is random."""
        return self.seed if self.shuffle else None

    def refuse(self, problem: str, *, changes: bool = False, sides: bool = False, order: bool = False) -> None:
        """Raise a RequestError if options are given that aren't for such data: those that change images, those about
        one of their sides, or those about the order and what is left out.
        """
        one_side = self.min_dim or self.max_dim
        wrong = (
            (changes and (self.resize or one_side or self.encoded or self.gray))
            or (sides and one_side)
            or (order and (self.shuffle or self.skip_bad))
        )
        if wrong:
            raise RequestError(problem)


@request
class MeanRequest(Request):
    """Write the mean of all images, for a net's mean_file, and print the mean of each channel, for its mean_value."""

    source: str = argument("SRC")
    output: str = argument("OUT.binaryproto")


@request
class ShowDataRequest(Request):
    """Show how many items a data set has, the names of its classes, and the shapes, types and labels of some items,
    of every class about as many. Of images with objects, show all sizes, and how many boxes each class has.
    """

    source: str = argument("SRC")
    output: str | None = option(
        "Also write a contact sheet of the images with their labels, or with their boxes and masks.",
        default=None, short="o", aliases=("--sheet",), metavar="SHEET.png",
    )  # fmt: skip
    count: int | None = option(
        "How many items to look at; by default 64, or as many as there are classes with names.",
        default=None, least=1, most=10_000, metavar="N",
    )  # fmt: skip
    rgb: bool = option("Channels are red, green, blue, as in CIFAR, rather than Caffe's own order.", default=False)
