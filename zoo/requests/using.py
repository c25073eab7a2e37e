"""Requests to use nets: on images, on tables, for others over HTTP, and to test and time them."""

from __future__ import annotations

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
from zoo.requests.request import RequestError, argument, option, request

InvalidRows = Literal["error", "skip", "keep"]  # what becomes of rows and images that have no answer

TEST_BATCHES = 50

_INPUTS = """\b
INPUT is any of
  photo.jpg  photos  'photos/**/*.jpg'   files, folders with all below, patterns
  clip.mp4                               the frames of a video
  -                                      one image's bytes, on standard input
  lmdb:PATH  parquet:PATH  digits:test   the images of a data set
  TABLE, with -o OUT.parquet             a Parquet or Arrow table
"""

_ANSWER_ENDINGS = (".txt", ".json", ".jsonl", ".csv")
_FOR_IMAGES = ("top", "threshold", "draw", "blob", "features_net")
_FOR_WRITING = ("beam", "vocabulary", "length", "temperature", "seed")
_NOT_FOR_TEXT = (
    *("inputs", *_FOR_IMAGES, "batch", "columns", "invalid", "as_json", "as_csv", "backend", "beam", "vocabulary"),
)


@request
class PredictRequest(WithWeights, NamesColumns, OnDevice, AboutNet, OnSpark):
    """Say what a net sees in images: the best classes or, where its layers make such, boxes or the classes of pixels.

    MODEL is a name, a model's folder, or a net. The card of a model's folder says how images become its input, and
    labels.txt what its classes are called; without a card, the net's data layer for tests says it. An image that
    can't be read is told in a line, the others go on, and the command ends with 1.

    With `-o OUT.parquet` a table gets two columns: `probability`, with those of all classes, and `prediction`, with the
    best class, or the number that a net with one output predicts. All other columns stay as they are. Where the names
    of the classes lie beside the net, in NAME_labels.txt or labels.txt, a third one, `predicted_class`, has the best
    class's name. The net's data layers take the columns with the names of their tops, and losses become their
    predictions.

    A recurrent net that reads words and an image writes a caption; one that reads features instead has a --features-net
    before it, with its own weights or in the same --weights. With `--text` one of characters goes on with a text.
    Words or characters are in NAME_labels.txt or labels.txt beside the weights.
    """

    epilog: ClassVar[str] = _INPUTS

    net: str = argument("MODEL")
    inputs: tuple[str, ...] = argument("INPUT...", default=())
    output: str | None = option(
        "A file for answers, .jsonl, .csv or .txt; else a table with new columns.",
        default=None, short="o", metavar="OUT",
    )  # fmt: skip
    as_json: bool = option("Print a line of JSON for each image.", default=False, name="json")
    as_csv: bool = option("Print CSV, with a row for each class or box.", default=False, name="csv")
    top: int | None = option("How many classes an answer has; by default 5.", default=None, least=1, metavar="K")
    threshold: float | None = option("The least score of a box; by default 0.5.", default=None, metavar="X")
    draw: Path | None = option(
        "A folder for pictures with boxes, or with masks laid over.", default=None, metavar="FOLDER"
    )
    blob: str | None = option(
        "The blob that is the answer, if a net has several outputs.", default=None, metavar="NAME"
    )
    text: str | None = option(
        "How a text begins that a recurrent net is to go on with.", default=None, metavar="BEGINNING"
    )
    length: int | None = option(
        "How many characters follow a --text, by default 200, or how many words a caption may have, by default 20.",
        default=None, least=1, metavar="N",
    )  # fmt: skip
    temperature: float | None = option(
        "For --text and captions: higher is bolder, 0 takes the likeliest; by default 1 for --text, 0 for captions.",
        default=None, least=0, metavar="X",
    )  # fmt: skip
    seed: int | None = option("The seed of chance for these; by default 0.", default=None, least=0, metavar="N")
    beam: int | None = option(
        "Look for the K likeliest captions at once; by default 1.", default=None, least=1, metavar="K"
    )
    vocabulary: str | None = option(
        "A file with a word on each line, for captions; by default that of the model.", default=None, metavar="FILE"
    )
    features_net: str | None = option(
        "The net that makes features of images, if MODEL only reads these and words; --blob names them.",
        default=None, metavar="NET",
    )  # fmt: skip
    batch: int | None = option("Images or rows at once.", default=None, least=1, metavar="N")
    invalid: InvalidRows | None = option(
        "What becomes of images that can't be read (by default skip) and rows that aren't finite (by default error).",
        default=None,
    )

    @property
    def prints_answers(self) -> bool:
        """Unless a table is made, which is a file."""
        return not self.makes_table

    @property
    def makes_table(self) -> bool:
        """Whether columns are added to a table; otherwise images are answered, or a text is written."""
        is_answer = self.as_json or self.as_csv or (self.output or "").lower().endswith(_ANSWER_ENDINGS)
        return self.text is None and self.output is not None and not is_answer

    def given(self, names: tuple[str, ...]) -> str:
        """Return the first of some options that is given, as users write it; empty if none is."""
        given = (name for name in names if getattr(self, name) not in (None, (), False) and getattr(self, name) != {})
        return next((f"--{name.replace('_', '-')}" for name in given), "")

    def check(self) -> None:
        """Refuse options that are for something else than what is asked for."""
        super().check()
        if self.as_json and self.as_csv:
            raise RequestError("--json and --csv are two forms; give one.")
        if self.text is not None:
            if self.given(_NOT_FOR_TEXT):
                raise RequestError("--text takes no INPUT, and of the other options only --weights, --device and -o.")
            return
        if not self.inputs:
            raise RequestError("Missing argument 'INPUT...'.")
        if self.beam is not None and self.temperature:
            raise RequestError(
                "--beam looks for the likeliest captions, --temperature draws words by chance; give one."
            )
        if self.makes_table:
            self._check_table()
        elif self.backend is not None:
            raise RequestError("--backend is for tables; -o OUT.parquet makes one of a table.")

    def _check_table(self) -> None:
        """Refuse options that are for images."""
        option_name = self.given((*_FOR_IMAGES, *_FOR_WRITING))
        several = "several inputs are images" if self.inputs[1:] else ""
        problem = f"{option_name} is for images" if option_name else several
        if problem:
            advice = f"{self.output} is to be a table; answers about images go to a file .jsonl, .csv or .txt"
            raise RequestError(f"{problem}, and {advice}.")

    def check_writing(self, writes: bool) -> None:
        """Refuse options for captions if the model writes none."""
        if not writes and (name := self.given(_FOR_WRITING)):
            raise RequestError(f"{name} is for texts and captions, and {self.net} writes no captions.")


@request
class FeaturesRequest(WithWeights, NamesColumns, OnDevice, AboutNet, OnSpark):
    """Add columns to a table with blobs that a net computes for each row, such as the one before the last layer. A
    column has an array of the blob's values, or the value if there is but one. Only layers that the blobs depend on are
    run.
    """

    net: str = argument("NET")
    data: str = argument("TABLE")
    output: str = option("A Parquet file; with Spark a new folder.", short="o", metavar="OUT")
    blobs: tuple[str, ...] = option("A blob that becomes a column.", name="blob", metavar="NAME")
    batch: int | None = option("Rows at once; by default as the net says.", default=None, least=1, metavar="N")
    invalid: InvalidRows = option(
        "What becomes of rows whose values or predictions aren't finite; kept ones get NaN.", default="error"
    )


@request
class ProposeRequest(WithWeights, OnDevice, AboutNet):
    """Write the regions that a net with a region proposal network finds in all images of a data set, the best first.

    A Fast R-CNN learns from them: `zoo train --data 'voc:FOLDER?set=NAME&proposals=FILE.npz'`.
    """

    net: str = argument("NET")
    data: str = option("The images: voc:FOLDER?set=NAME, coco:FILE.json, ...", metavar="SET")
    output: str = option("The file to write.", short="o", metavar="FILE.npz")
    most: int = option("Regions of an image.", default=2000, least=1, metavar="N")
    side: int = option("The length of an image's shorter side.", default=600, least=1, metavar="N")
    longest: int = option("The most that its longer side gets.", default=1000, least=1, metavar="N")


@request
class ServeRequest(WithWeights, OnDevice, AboutNet):
    """Answer requests about images: POST one to /predict, and JSON with classes, boxes or segments comes back.

    Requests that come together are answered together. GET / is a page to drop an image on, /card the model's card,
    /health and /ready are for monitoring, and /metrics is for Prometheus. Only this machine can ask; another
    --host needs a token, which requests show as 'Authorization: Bearer TOKEN'. Ctrl-C or SIGTERM ends the server after
    the requests under way.
    """

    model: str = argument("MODEL")
    host: str = option("The address to listen at.", default="127.0.0.1")
    port: int = option("The port; 0 is any that is free.", default=8000, least=0, most=65535)
    token: Path | None = option(
        "A file with the token that requests must show; without it, the variable ZOO_TOKEN.",
        default=None, metavar="FILE",
    )  # fmt: skip
    batch: int | None = option("Images that the net takes at once, at most.", default=None, least=1, metavar="N")
    wait: float = option(
        "How long a request waits for others, to be answered with them.", default=10, least=0, most=10_000, metavar="MS"
    )
    top: int = option("Classes of an answer.", default=5, least=1, metavar="K")
    threshold: float = option("The least score of a box.", default=0.5, metavar="X")
    blob: str | None = option(
        "The blob that is the answer, if a net has several outputs.", default=None, metavar="NAME"
    )
    largest: int = option("The most that is sent.", default=16, least=1, metavar="MB")
    queue: int = option("Requests under way at most.", default=64, least=1, metavar="N")
    rate: float = option(
        "Requests a second from one client at most; 0 for no limit.", default=100, least=0, metavar="N"
    )
    timeout: float = option("Seconds for a request at most.", default=30, least=0.001, most=3600, metavar="S")

    @property
    def prints_answers(self) -> bool:
        """A program may wait for the address."""
        return True


@request
class TestRequest(WithWeights, NamesColumns, OnDevice, AtLevel, InStages, AboutNet, OnSpark):
    """Run a net in its TEST phase on the data that it names, or on others, and average its outputs over all batches.

    The rows of a table, parquet:PATH or arrow:PATH, are all taken once unless --iterations says how many batches.
    Batches then count by their numbers of rows, so a last one that isn't full counts less, and means over rows, such as
    accuracy and loss, don't depend on how tasks of Spark divide the table. Outputs with a value for each row have no
    mean over batches of different sizes, and are left out.

    A net whose layers judge detections or compare the classes of pixels is scored over the whole set too, with a table
    of classes: by mean average precision as VOC 2007, VOC 2010 and COCO have it, or by accuracy and intersection over
    union. One that writes captions is scored by BLEU on --data captions:FILE.json?images=FOLDER.
    """

    __test__ = False  # no test of pytest's

    net: str = argument("NET")
    data: str | None = option(DATA_HELP, default=None, metavar="SOURCE")
    iterations: int | None = option(
        f"The number of batches; by default {TEST_BATCHES}, or a table's rows once.",
        default=None, least=1, metavar="N",
    )  # fmt: skip
    partial: bool = False  # layers without weights keep their fillers' values, as in Caffe

    def check(self) -> None:
        """Refuse columns of no table."""
        super().check()
        if self.columns and self.data is None:
            raise RequestError("--column is about the table that --data names.")


@request
class TimeRequest(OnDevice, AssumesShapes, AtLevel, InStages, AboutNet):
    """Measure the time of each layer of a net alone, and then of the whole net, on random input: means over the
    iterations.

    GFLOP counts the multiplications and additions of a forward pass in convolutions and matrix products; a layer
    without any counts one for each value of its largest blob. GFLOP/s is GFLOP divided by the forward time. MB is the
    size of bottoms, tops and weights, each counted once. The whole net may take less time than its layers together,
    because some layers are computed together with the next one.
    """

    net: str = argument("NET")
    weights: tuple[str, ...] = option(
        "Its weights, by layer names; by default random ones.", default=(), metavar="FILE"
    )
    phase: Literal["TRAIN", "TEST"] = option("The phase that the net is in.", default="TRAIN", ignore_case=True)
    iterations: int = option("Measured iterations, after a first one that isn't.", default=10, least=1, metavar="N")
    batch: int | None = option("The batch of all inputs, in place of their own.", default=None, least=1, metavar="N")
