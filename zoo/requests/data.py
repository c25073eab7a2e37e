"""Requests about data sets."""

from __future__ import annotations

from typing import Literal

from caffe_proto.whole_numbers import whole_number
from zoo.requests.groups import SKIP_BAD_HELP
from zoo.requests.request import Request, RequestError, argument, option, request

SOURCES = """\b
A data set is named by its path, or by its kind and path:
  lmdb:PATH  leveldb:PATH  hdf5:LIST?names=A,B  images:LIST?root=FOLDER
  folder:PATH (a folder for each class)  shards:PATH?image=EXTENSION&label=EXTENSION
  mnist:FOLDER[:test]  cifar10:FOLDER[:test]  cifar100:FOLDER[:test]
  csv:PATH?label=NAME&columns=A,B  parquet:PATH?columns=A,B  arrow:PATH?columns=A,B
  netcdf:PATH?x=VARIABLE&y=VARIABLE  digits[:train|:test]
  shapes[:train|:test]?kinds=A,B
\b
Images with boxes, polygons or masks around objects:
  voc:FOLDER?set=NAME  coco:FILE?images=FOLDER  yolo:FOLDER?set=NAME
  labelme:FOLDER  maps:FOLDER  lmdb:PATH?first_pixel=N (with SSD's AnnotatedDatum)
  objects[:train|:test]?side=N&count=N&kinds=A,B  poses:PATH?joints=N
  people[:train|:test]?side=N&count=N
\b
After any name, ?part=test selects every tenth item, and ?part=train the rest.
?items=FILE selects the items whose numbers FILE lists, one per line.
?classes=FILE names the classes: one per line, or a label map.
"""


def height_and_width(text: str) -> tuple[int, int]:
    """Return the height and width in a text such as 256x256."""
    sides = [whole_number(side, 1) for side in text.lower().split("x")]
    match sides:
        case [int(height), int(width)]:
            return height, width
    raise ValueError(f"'{text}' isn't a height and a width; write them as in 256x256")


@request
class ConvertDataRequest(Request):
    """Convert a data set to LMDB, LevelDB, Parquet, tar files or a folder of images for each class. If the conversion
    fails, nothing is written.

    The prefix or the suffix of DST selects the format: train_lmdb, lmdb:PATH, train.parquet, leveldb:PATH, folder:PATH,
    shards:FOLDER?samples=N. Databases contain Caffe's records, with the keys that convert_imageset writes. The path can
    be an address without files, as in lmdb:s3://bucket/train; the data are published there when they are complete.

    Images with objects can be written as lmdb:PATH or leveldb:PATH with SSD's records and a label map, as voc:FOLDER,
    as coco:FILE.json with a folder of images next to it, as yolo:FOLDER, or as maps:FOLDER with a list of images and
    their class maps. --min-dim enlarges images whose shorter side has fewer pixels, and --max-dim shrinks images whose
    longer side has more.

    People with joints, such as those in COCO's person_keypoints files, are written as poses:PATH. This is an LMDB for
    CMU's pose nets, with a record for each person.

    A text, text:FILE?streams=N&classes=LABELS, is written to a new folder DST as streams in HDF5 for recurrent nets.
    The folder contains list.txt for an HDF5Data layer with the tops data, cont and target, and labels.txt with the
    characters.

    Captions in COCO's format, captions:FILE.json?images=FOLDER&streams=N&steps=N&least=N&classes=LABELS, are written to
    a folder in the layout of LRCN: list.txt for an HDF5Data layer with the tops cont_sentence, input_sentence and
    target_sentence, images.txt for an ImageData layer, and labels.txt with all words that occur at least `least` times
    (5 by default).
    """

    source: str = argument("SRC", address="read")
    target: str = argument("DST", address="new")
    resize: tuple[int, int] | None = option(
        "Height and width to which all images are resized.", default=None, metavar="HxW", parse=height_and_width
    )
    min_dim: int | None = option(
        "Minimum shorter side of images with objects; smaller images are enlarged.", default=None, least=1, metavar="N"
    )
    max_dim: int | None = option(
        "Maximum longer side of images with objects; larger images are shrunk.", default=None, least=1, metavar="N"
    )
    encoded: Literal["jpg", "png"] | None = option(
        "Image format of the stored images; by default raw pixels are stored.", default=None
    )
    gray: bool = option("Convert images to gray.", default=False)
    shuffle: bool = option("Write the items in random order.", default=False)
    seed: int = option("Seed of the random order.", default=0, least=0, metavar="N")
    skip_bad: bool = option(SKIP_BAD_HELP, default=False)

    @property
    def order(self) -> int | None:
        """The seed of the random order, or `None` if the order isn't random."""
        return self.seed if self.shuffle else None

    def refuse(self, problem: str, *, changes: bool = False, sides: bool = False, order: bool = False) -> None:
        """Raise a RequestError if options are given that don't apply to the data.

        `changes` covers the options that change images, `sides` those that limit a side, and `order` those that shuffle
        or skip items.
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
    """Compute the mean of all images. The mean image is written for a net's mean_file, and the mean of each channel is
    printed for its mean_value.

    The options change images as the net's data layer does, so that the mean is of what the net sees. --like reads them
    from the net. It leaves out the crop and the scale, because Caffe applies them after it subtracts the mean.
    """

    source: str = argument("SRC", address="read")
    output: str | None = argument("[OUT.binaryproto]", default=None, address="write")
    like: str | None = option(
        "Net whose data layer sets the size and the channels of images.",
        default=None,
        metavar="NET",
        address="read",
    )
    resize: tuple[int, int] | None = option(
        "Height and width to which all images are resized.", default=None, metavar="HxW", parse=height_and_width
    )
    crop: tuple[int, int] | None = option(
        "Height and width of the part in the middle of each image that counts.",
        default=None, metavar="HxW", parse=height_and_width,
    )  # fmt: skip
    scale: float | None = option("Factor by which values are multiplied.", default=None, metavar="X")
    gray: bool = option("Convert images to gray.", default=False)
    rgb: bool = option("Order channels as red, green, blue, instead of in Caffe's order.", default=False)

    def check(self) -> None:
        """Refuse options that --like sets too, and an order of gray images' only channel."""
        if self.like is not None and (self.resize or self.gray):
            raise RequestError("--like already sets the size and the channels; remove --resize and --gray.")
        if self.gray and self.rgb:
            raise RequestError("--gray leaves one channel, which has no order; remove --rgb.")


@request
class ShowDataRequest(Request):
    """Show a data set: the number of items, the names of its classes, and the shapes, types and labels of some items,
    spread evenly over the classes. For images with objects, show all image sizes and the number of boxes in each
    class."""

    source: str = argument("SRC", address="read")
    output: str | None = option(
        "Contact sheet to write: the images with their labels, or with their boxes and masks.",
        default=None, short="o", aliases=("--sheet",), metavar="SHEET.png", address="write",
    )  # fmt: skip
    count: int | None = option(
        "Number of items to examine; by default 64, or one for each named class if there are more.",
        default=None, least=1, most=10_000, metavar="N",
    )  # fmt: skip
    rgb: bool = option("Read channels as red, green, blue, as in CIFAR, instead of in Caffe's order.", default=False)
