"""Requests to use nets: on images, on tables and over HTTP, and to test and time them."""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import ClassVar, Literal

from zoo.requests.groups import (
    DATA_HELP,
    AboutNet,
    AssumesShapes,
    AtLevel,
    InStages,
    NamesColumns,
    OnDevice,
    OnSpark,
    WithWeights,
)
from zoo.requests.request import RequestError, argument, fields_of, option, request

InvalidRows = Literal["error", "skip", "keep"]  # how to handle rows and images without an answer

TEST_BATCHES = 50

_INPUTS = """\b
INPUT is any of
  photo.jpg  photos  'photos/**/*.jpg'   files, folders with everything below, patterns
  clip.mp4                               the frames of a video
  -                                      one image's bytes, on standard input
  lmdb:PATH  parquet:PATH  digits:test   the images of a data set
  TABLE, with -o OUT.parquet             a Parquet or Arrow table
"""

_ANSWER_ENDINGS = (".txt", ".json", ".jsonl", ".csv")
_FOR_IMAGES = ("top", "threshold", "draw", "blob", "features_net", "detector")
_FOR_WRITING = ("beam", "vocabulary", "length", "temperature", "seed")
_NOT_FOR_TEXT = (
    *("inputs", *_FOR_IMAGES, "read_as", "batch", "columns", "invalid", "as_json", "as_csv", "backend"),
    *("beam", "vocabulary"),
)


class View(Enum):
    """A way to read a blob, which users name with --as."""

    CLASSES = "classes"
    SEGMENTS = "segments"
    VALUES = "values"
    EMBEDDING = "embedding"


def networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks in a text such as 10.0.0.2,fd00::/8."""
    try:
        return tuple(ip_network(each.strip()) for each in text.split(","))
    except ValueError:
        raise ValueError(f"'{text}' isn't a list of addresses and networks; write it as in 10.0.0.2,fd00::/8") from None


def reading_of(name: str) -> str:
    """Return the name of a view or a decoder. Raises an error for an unknown name."""
    from netdsl.prediction.decoders import DECODERS  # imports numpy, which would slow down --help

    views = [view.value for view in View]
    if name not in views and name not in DECODERS:
        raise ValueError(
            f"'{name}' is neither a meaning nor a decoder; use one of {', '.join(dict.fromkeys([*views, *DECODERS]))}"
        )
    return name


@request
class PredictRequest(WithWeights, NamesColumns, OnDevice, AboutNet, OnSpark):
    """Predict what images show: classes, boxes, the classes of pixels, points, pictures or other values.

    The net's layers and losses, its card or --as determine the meaning of its output. If none of them does, the output
    is shown as values.

    MODEL is a name, a model's folder or a net. In a model's folder, the card describes how to turn images into input,
    and labels.txt names the classes. Without a card, the settings of the net's test data layer are used. If an image
    can't be read, the command reports it in a line, continues with the others, and ends with exit code 1.

    With `-o OUT.parquet`, a table gets two new columns: `probability` with the probabilities of all classes, and
    `prediction` with the best class, or with the predicted number if the net has one output. Values that aren't classes
    become an array in `prediction`. If the names of the classes are in the net's folder, in NAME_labels.txt or
    labels.txt, a third column, `predicted_class`, contains the name of the best class. All other columns stay
    unchanged. The net's data layers read the columns that are named like their tops, and losses become their
    predictions.

    A recurrent net that reads words and an image writes a caption. If it reads features instead of images,
    --features-net names the net that computes them, with its own weights or weights in the same --weights. With
    `--text`, a recurrent net of characters continues a text. The words or characters are listed in NAME_labels.txt or
    labels.txt next to the weights.
    """

    epilog: ClassVar[str] = _INPUTS

    net: str = argument("MODEL", address="read")
    inputs: tuple[str, ...] = argument("INPUT...", default=(), address="table")
    output: str | None = option(
        "File for answers, .jsonl, .csv or .txt; with any other suffix, a table with new columns.",
        default=None, short="o", metavar="OUT", address="result",
    )  # fmt: skip
    as_json: bool = option("Print a line of JSON for each image.", default=False, name="json")
    as_csv: bool = option("Print CSV, with a row for each class or box.", default=False, name="csv")
    top: int | None = option("Number of classes in an answer; by default 5.", default=None, least=1, metavar="K")
    threshold: float | None = option("Minimum score of a box; by default 0.5 or the card's.", default=None, metavar="X")
    draw: str | None = option(
        "Folder for images with boxes, points or masks on them, or for pictures that the net computes. It can have an "
        "address.",
        default=None, metavar="FOLDER", address="write",
    )  # fmt: skip
    blob: str | None = option(
        "Blob that contains the answer, if the net has several outputs.", default=None, metavar="NAME"
    )
    read_as: str | None = option(
        "Meaning of the net's output, classes, segments, values or embedding, or the decoder that reads it; by default "
        "as the card or the net shows.",
        default=None, name="as", metavar="WHAT", parse=reading_of,
    )  # fmt: skip
    text: str | None = option(
        "Beginning of a text for a recurrent net to continue.", default=None, metavar="BEGINNING", address="other"
    )
    length: int | None = option(

            "Number of characters to add to --text, by default 200, or maximum number of words in a caption, by "
            "default 20.",
        default=None, least=1, metavar="N",
    )  # fmt: skip
    temperature: float | None = option(
        "Randomness of --text and captions: 0 always picks the likeliest; by default 1 for --text, 0 for captions.",
        default=None, least=0, metavar="X",
    )  # fmt: skip
    seed: int | None = option("Seed of the randomness; by default 0.", default=None, least=0, metavar="N")
    beam: int | None = option(
        "Beam width: number of captions to search at once; by default 1.", default=None, least=1, metavar="K"
    )
    vocabulary: str | None = option(
        "File with the words for captions, one per line; by default the model's own.",
        default=None,
        metavar="FILE",
        address="read",
    )
    features_net: str | None = option(
        "Net that computes features of images, if MODEL reads only features and words; --blob names the blob.",
        default=None, metavar="NET", address="read",
    )  # fmt: skip
    detector: str | None = option(
        "Net or model that finds the subjects of MODEL, such as faces; each is cut out as MODEL's card states.",
        default=None, metavar="NET", address="read",
    )  # fmt: skip
    batch: int | None = option("Number of images or rows in a batch.", default=None, least=1, metavar="N")
    invalid: InvalidRows | None = option(
        "Handling of images that can't be read (by default skip) and of rows with values that aren't finite (by "
        "default error).",
        default=None,
    )

    @property
    def prints_answers(self) -> bool:
        """Whether the answers are printed. They aren't if the result is a table, which is a file."""
        return not self.makes_table

    @property
    def makes_table(self) -> bool:
        """Whether columns are added to a table. If not, the request answers images or writes a text."""
        is_answer = self.as_json or self.as_csv or (self.output or "").lower().endswith(_ANSWER_ENDINGS)
        return self.text is None and self.output is not None and not is_answer

    def given(self, names: tuple[str, ...]) -> str:
        """Return the first of these options that is given, as users write it, or an empty string."""
        values = {each.name: getattr(self, each.name) for each in fields_of(type(self))}
        given = {name for name, value in values.items() if value not in (None, (), False) and value != {}}
        options = {each.name: each.option_name for each in fields_of(type(self))}
        return next((f"--{options[name]}" for name in names if name in given), "")

    def check(self) -> None:
        """Refuse options that belong to another kind of answer."""
        super().check()
        if self.as_json and self.as_csv:
            raise RequestError("--json and --csv are two formats; remove --json, or remove --csv.")
        if self.text is not None:
            if self.given(_NOT_FOR_TEXT):
                raise RequestError(
                    "--text doesn't allow INPUT; leave it out, and besides the options about text, give only "
                    "--weights, --device and -o."
                )
            return
        if not self.inputs:
            raise RequestError("Missing argument 'INPUT...'; give images, folders or tables.")
        if self.beam is not None and self.temperature:
            raise RequestError(
                "--beam searches for the likeliest captions, and --temperature draws words at random; remove "
                "--beam, or remove --temperature."
            )
        if self.makes_table:
            self._check_table()
        elif self.backend is not None:
            raise RequestError("--backend is for tables; add -o OUT.parquet, and name a table as INPUT.")

    def _check_table(self) -> None:
        """Refuse options and readings that are for images."""
        if self.read_as not in (None, View.CLASSES.value, View.VALUES.value):
            raise RequestError(f"--as {self.read_as} is for images; use classes or values for a table.")
        option_name = self.given((*_FOR_IMAGES, *_FOR_WRITING))
        several = "several inputs must be images" if self.inputs[1:] else ""
        problem = f"{option_name} is for images" if option_name else several
        if problem:
            advice = f"{self.output} will be a table; write answers about images to a .jsonl, .csv or .txt file"
            raise RequestError(f"{problem}, and {advice}.")

    def check_writing(self, writes: bool) -> None:
        """Refuse options for captions if the model writes none."""
        if not writes and (name := self.given(_FOR_WRITING)):
            raise RequestError(
                f"{name} is for texts and captions, but {self.net} doesn't write captions; remove {name}."
            )


@request
class FeaturesRequest(WithWeights, NamesColumns, OnDevice, AboutNet, OnSpark):
    """Add columns to a table with blobs that a net computes for each row, such as the input of the last layer. A column
    contains an array of the blob's values, or a single number if the blob has one value. Only the layers that these
    blobs need are run."""

    net: str = argument("NET", address="read")
    data: str = argument("TABLE", address="table")
    output: str = option("Parquet file to write; with Spark, a new folder.", short="o", metavar="OUT", address="result")
    blobs: tuple[str, ...] = option("Blob to write as a column.", name="blob", metavar="NAME")
    batch: int | None = option(
        "Number of rows in a batch; by default the net's batch size.", default=None, least=1, metavar="N"
    )
    invalid: InvalidRows = option(
        "Handling of rows whose values or predictions aren't finite; rows that are kept get NaN.", default="error"
    )


@request
class ProposeRequest(WithWeights, OnDevice, AboutNet):
    """Write the regions that a net with a region proposal network finds in all images of a data set, from best to
    worst.

    A Fast R-CNN trains on them: `zoo train --data 'voc:FOLDER?set=NAME&proposals=FILE.npz'`.
    """

    net: str = argument("NET", address="read")
    data: str = option("Images to search: voc:FOLDER?set=NAME, coco:FILE.json, ...", metavar="SET", address="read")
    output: str = option("File to write.", short="o", metavar="FILE.npz", address="write")
    most: int = option("Maximum number of regions in an image.", default=2000, least=1, metavar="N")
    side: int = option("Length to which an image's shorter side is resized.", default=600, least=1, metavar="N")
    longest: int = option("Maximum length of an image's longer side.", default=1000, least=1, metavar="N")


@request
class ServeRequest(WithWeights, OnDevice, AboutNet):
    """Serve a net over HTTP. POST an image to /predict, and the answer is JSON with classes, boxes or other answers.

    Requests that arrive at the same time are answered in one batch. GET / is a page on which you can drop an image,
    /card is the model's card, /health and /ready are for monitoring, and /metrics is for Prometheus. Only this machine
    can connect. Any other --host needs a token, which requests send as 'Authorization: Bearer TOKEN'. On Ctrl-C or
    SIGTERM, the server finishes the current requests and ends.
    """

    model: str = argument("MODEL", address="read")
    host: str = option("Address to listen on.", default="127.0.0.1")
    port: int = option("Port to listen on; 0 picks a free one.", default=8000, least=0, most=65535)
    token: Path | None = option(
        "File with the token that requests must send; by default the token is in the variable ZOO_TOKEN.",
        default=None, metavar="FILE",
    )  # fmt: skip
    batch: int | None = option("Maximum number of images in a batch.", default=None, least=1, metavar="N")
    wait: float = option(
        "Time for which a request waits for others to share its batch.", default=10, least=0, most=10_000, metavar="MS"
    )
    top: int = option("Number of classes in an answer.", default=5, least=1, metavar="K")
    threshold: float | None = option("Minimum score of a box; by default 0.5 or the card's.", default=None, metavar="X")
    blob: str | None = option(
        "Blob that contains the answer, if the net has several outputs.", default=None, metavar="NAME"
    )
    read_as: str | None = option(
        "Meaning of the net's output, classes, segments, values or embedding, or the decoder that reads it; by default "
        "as the card or the net shows.",
        default=None, name="as", metavar="WHAT", parse=reading_of,
    )  # fmt: skip
    largest: int = option("Maximum size of a request.", default=16, least=1, metavar="MB")
    queue: int = option("Maximum number of predictions in progress.", default=64, least=1, metavar="N")
    connections: int = option(
        "Maximum number of open connections, more than --queue.", default=1024, least=2, metavar="N"
    )
    share: float | None = option(
        "Largest part of the predictions and connections that one client may use; by default 0.5, or 1 if only this "
        "machine can connect.",
        default=None, above=0, most=1, metavar="X",
    )  # fmt: skip
    rate: float = option(
        "Maximum number of predictions per second from one client, which may send a tenth as many other requests; 0 "
        "sets no limit.",
        default=100, least=0, metavar="N",
    )  # fmt: skip
    proxy: tuple[IPv4Network | IPv6Network, ...] = option(
        "Addresses or networks of trusted proxies, whose X-Forwarded-For names the client.",
        default=(), metavar="IP,...", parse=networks,
    )  # fmt: skip
    timeout: float = option("Time limit for a request.", default=30, least=0.001, most=3600, metavar="S")
    idle: float = option(
        "Time limit for the head of a request, and for silence before it.", default=5, least=0.001, most=3600,
        metavar="S",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse a queue that fills all connections, because monitoring would then wait for predictions."""
        super().check()
        if self.connections <= self.queue:
            raise RequestError(
                f"connections is {self.connections}, but the queue has {self.queue} places; set more connections",
                "connections",
            )

    @property
    def prints_answers(self) -> bool:
        """Always true, since programs may wait for the printed address."""
        return True


@request
class TestRequest(WithWeights, NamesColumns, OnDevice, AtLevel, InStages, AboutNet, OnSpark):
    """Test a net: run its TEST phase on its own data or on other data, and average its outputs over all batches.

    All rows of a table, parquet:PATH or arrow:PATH, are read once unless --iterations sets a number of batches. Batches
    are then weighted by their numbers of rows. An incomplete last batch counts less, and means over rows, such as
    accuracy and loss, don't depend on how Spark divides the table. Outputs with a value for each row are left out,
    because they have no mean over batches of different sizes.

    If a net's layers evaluate detections or compare the classes of pixels, the whole set is scored too, with a table of
    classes: by mean average precision as in VOC 2007, VOC 2010 and COCO, or by accuracy and intersection over union. A
    net that writes captions is scored by BLEU on --data captions:FILE.json?images=FOLDER.

    With --with, an exported ONNX model computes what the net computes when it is deployed. The net's own layers do the
    rest: they read the data, and compare the model's outputs with the labels.
    """

    __test__ = False  # keeps pytest from collecting the class

    net: str = argument("NET", address="read")
    data: str | None = option(DATA_HELP, default=None, metavar="SOURCE", address="table")
    iterations: int | None = option(
        f"Number of batches; by default {TEST_BATCHES}, or all rows of a table once.",
        default=None, least=1, metavar="N",
    )  # fmt: skip
    onnx: str | None = option(
        "ONNX model that computes in place of the net's deployed part.", default=None, name="with", metavar="FILE",
        address="read",
    )  # fmt: skip
    partial: bool = False  # as in Caffe, layers without weights keep their fillers' values

    def check(self) -> None:
        """Refuse --column without a table."""
        super().check()
        if self.columns and self.data is None:
            raise RequestError("--column needs a table; name one in --data.")
        if self.onnx is not None and self.backend == "spark":
            raise RequestError("--with runs the model in this process; remove --backend spark, or remove --with.")


@request
class TimeRequest(OnDevice, AssumesShapes, AtLevel, InStages, AboutNet):
    """Time the layers of a net on random input, each layer alone and then the whole net. The times are means over the
    iterations.

    GFLOP counts the multiplications and additions of a forward pass in convolutions and matrix products. A layer
    without such products counts one operation for each value of its largest blob. GFLOP/s is GFLOP divided by the
    forward time. MB is the size of bottoms, tops and weights, each counted once. The whole net may take less time than
    the sum of its layers, because some layers are computed together with the next one.
    """

    net: str = argument("NET", address="read")
    weights: tuple[str, ...] = option(
        "Weights, matched by layer name; by default random.", default=(), metavar="FILE", address="read"
    )
    phase: Literal["TRAIN", "TEST"] = option("Phase of the net.", default="TRAIN", ignore_case=True)
    iterations: int = option(
        "Number of measured iterations; one warm-up iteration comes first.", default=10, least=1, metavar="N"
    )
    batch: int | None = option(
        "Batch size of all inputs, instead of the net's own.", default=None, least=1, metavar="N"
    )
