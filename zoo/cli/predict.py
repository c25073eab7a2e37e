"""`zoo predict`: what a net says about images, or a table with its prediction for each row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caffe_proto.storage import atomic_path
from netdsl.spark.backend import SparkBackend
from netdsl.training.backends import LocalBackend
from zoo.cli import options, table_options
from zoo.cli.devices import devices_of
from zoo.cli.output import complain, progress_bar
from zoo.cli.training_display import tell

if TYPE_CHECKING:
    from zoo.answers.answer import ImageAnswer
    from zoo.answers.answerer import Answerer

_Write = Callable[[str], object]

TOP, THRESHOLD, WORDS = 5, 0.5, 20

_ANSWER_ENDINGS = (".txt", ".json", ".jsonl", ".csv")
_CHARACTERS = 200
_INPUTS = """\b
INPUT is any of
  photo.jpg  photos  'photos/**/*.jpg'   files, folders with all below, patterns
  clip.mp4                               the frames of a video
  -                                      one image's bytes, on standard input
  lmdb:PATH  parquet:PATH  digits:test   the images of a data set
  TABLE, with -o OUT.parquet             a Parquet or Arrow table
"""


@click.command("predict", short_help="Say what is in images, or add predictions to a table.", epilog=_INPUTS)
@click.argument("model", metavar="MODEL")
@click.argument("inputs", metavar="INPUT...", nargs=-1)
@table_options.weights
@click.option(
    "-o", "--output", metavar="OUT", help="A file for answers, .jsonl, .csv or .txt; else a table with new columns."
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each image.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with a row for each class or box.")
@click.option("--top", type=click.IntRange(min=1), metavar="K", help="How many classes an answer has; by default 5.")
@click.option("--threshold", type=float, metavar="X", help="The least score of a box; by default 0.5.")
@click.option("--draw", metavar="FOLDER", help="A folder for pictures with boxes, or with masks laid over.")
@click.option("--blob", metavar="NAME", help="The blob that is the answer, if a net has several outputs.")
@click.option("--text", metavar="BEGINNING", help="How a text begins that a recurrent net is to go on with.")
@click.option(
    "--length",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many characters follow a --text, by default 200, or how many words a caption may have, by default 20.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    metavar="X",
    help="For --text and captions: higher is bolder, 0 takes the likeliest; by default 1 for --text, 0 for captions.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="The seed of chance for these; by default 0.")
@click.option(
    "--beam", type=click.IntRange(min=1), metavar="K", help="Look for the K likeliest captions at once; by default 1."
)
@click.option(
    "--vocabulary", metavar="FILE", help="A file with a word on each line, for captions; by default that of the model."
)
@click.option(
    "--features-net",
    metavar="NET",
    help="The net that makes features of images, if MODEL only reads these and words; --blob names them.",
)
@table_options.columns
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Images or rows at once.")
@table_options.device
@click.option(
    "--invalid",
    type=table_options.INVALID,
    help="What becomes of images that can't be read (by default skip) and rows that aren't finite (by default error).",
)
@options.allow_python
@options.net_dialect
@table_options.backend_options
def command(
    as_json: bool,
    as_csv: bool,
    columns: tuple[str, ...],
    backend: str | None,
    master: str | None,
    workers: int | None,
    text: str | None,
    **what: Any,
) -> None:
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
    if as_json and as_csv:
        raise click.UsageError("--json and --csv are two forms; give one.")
    form = "jsonl" if as_json else "csv" if as_csv else None
    table_backend = table_options.table_backend_of(backend, master, workers)
    images = _ImageOptions(form=form, columns=table_options.columns_of(columns), **what)
    if text is not None:
        others = images.given or images.batch or images.columns or images.invalid or form or backend is not None
        if images.inputs or others or images.beam or images.vocabulary:
            raise click.UsageError("--text takes no INPUT, and of the other options only --weights, --device and -o.")
        _print_text(images, text)
        return
    if not images.inputs:
        raise click.UsageError("Missing argument 'INPUT...'.")
    if images.beam is not None and images.temperature:
        raise click.UsageError(
            "--beam looks for the likeliest captions, --temperature draws words by chance; give one."
        )
    output = images.output
    if output is not None and form is None and not output.lower().endswith(_ANSWER_ENDINGS):
        _add_columns(images, output, table_backend)
    elif backend is not None:
        raise click.UsageError("--backend is for tables; -o OUT.parquet makes one of a table.")
    elif _print_answers(images):
        sys.exit(1)


@dataclass(frozen=True)
class _ImageOptions:
    """What the options of `zoo predict` say; None is what nobody said."""

    model: str
    inputs: tuple[str, ...]
    weights: tuple[str, ...]
    columns: Mapping[str, str]
    output: str | None
    form: str | None
    top: int | None
    threshold: float | None
    draw: str | None
    blob: str | None
    batch: int | None
    device: str | None
    invalid: str | None
    vocabulary: str | None
    features_net: str | None
    beam: int | None
    length: int | None
    temperature: float | None
    seed: int | None
    dialect: str | None

    @property
    def given(self) -> str:
        """An option that only images have, if there is one."""
        values = {
            "--top": self.top,
            "--threshold": self.threshold,
            "--draw": self.draw,
            "--blob": self.blob,
            "--features-net": self.features_net,
        }
        return next((name for name, value in values.items() if value is not None), "")

    @property
    def for_writing(self) -> str:
        """An option that only captions and texts have, if there is one."""
        values = {
            "--beam": self.beam,
            "--vocabulary": self.vocabulary,
            "--length": self.length,
            "--temperature": self.temperature,
            "--seed": self.seed,
        }
        return next((name for name, value in values.items() if value is not None), "")


def _print_answers(what: _ImageOptions) -> int:
    """Print or write the answers about images; returns how many images have none."""
    device = devices_of(what.device)[0]
    from netdsl.prediction.captions import CaptionSettings
    from netdsl.prediction.invalid_rows import InvalidRows
    from zoo.answers.answer import AnswerSettings
    from zoo.answers.answerer import Answerer, AnswererRequest, answer_images
    from zoo.answers.readers import CaptionReader

    asked = AnswererRequest(
        what.model,
        what.weights,
        device,
        what.batch,
        what.blob,
        what.vocabulary,
        what.features_net,
        what.dialect,
    )
    answerer = Answerer(asked, partial(tell, err=True))
    if what.for_writing and answerer.reads is not CaptionReader:
        raise click.UsageError(f"{what.for_writing} is for texts and captions, and {what.model} writes no captions.")
    invalid = InvalidRows(what.invalid or "skip")
    threshold = THRESHOLD if what.threshold is None else what.threshold
    length = WORDS if what.length is None else what.length
    captions = CaptionSettings(length, what.beam or 1, what.temperature or 0.0, what.seed or 0)
    settings = AnswerSettings(what.top or TOP, threshold, captions)
    with _shown_answers(what, answerer, keeps=invalid is InvalidRows.KEEP) as show:
        broken = answer_images(
            answerer,
            what.inputs,
            settings,
            show,
            _bar_beside_answers(what),
            columns=what.columns,
            stdin=sys.stdin.buffer,
            invalid=invalid,
            draws=what.draw is not None,
        )
    if what.output is not None:
        click.echo(f"wrote {what.output}")
    return broken


@contextmanager
def _shown_answers(what: _ImageOptions, answerer: Answerer, *, keeps: bool) -> Iterator[Callable[[ImageAnswer], None]]:
    """A function that shows an answer, and draws it if pictures are asked for."""
    from zoo.answers.drawing import Pictures
    from zoo.answers.writing import AnswerForm, form_of, head, text_of

    form = AnswerForm(what.form) if what.form else form_of(what.output or "") or AnswerForm.TEXT
    pictures = None if what.draw is None else Pictures(Path(what.draw), answerer.reads)
    with _written_text(what.output) as write:
        write(head(form, answerer.reads))

        def show(answer: ImageAnswer) -> None:
            if answer.problem:
                complain(answer.problem)
            if keeps or not answer.problem:
                write(text_of(answer, form, answerer.reads, answerer.data))
            if pictures is not None:
                pictures.add(answer)

        yield show


def _bar_beside_answers(what: _ImageOptions) -> Callable[[int], AbstractContextManager[Callable[..., object]]]:
    """A bar, unless answers are printed on the same terminal."""
    return partial(progress_bar, hidden=what.output is None and sys.stdout.isatty())


def _print_text(what: _ImageOptions, text: str) -> None:
    """Print the text, character by character, or write it to a file."""
    device = devices_of(what.device)[0]
    from zoo.generating import TextRequest, write_text

    length, temperature = what.length or _CHARACTERS, 1.0 if what.temperature is None else what.temperature
    request = TextRequest(what.model, what.weights, text, length, temperature, what.seed or 0, device, what.dialect)
    with _written_text(what.output) as write:
        following = write_text(request)
        first = next(following)  # before anything is printed, since it may be an error
        write(text + first)
        for character in following:
            write(character)
        write("\n")
    if what.output is not None:
        click.echo(f"wrote {what.output}")


def _add_columns(what: _ImageOptions, output: str, backend: LocalBackend | SparkBackend) -> None:
    """_Write a table with new columns."""
    image_option = what.given or what.for_writing
    problem = (
        f"{image_option} is for images" if image_option else "several inputs are images" if what.inputs[1:] else ""
    )
    if problem:
        advice = f"{output} is to be a table; answers about images go to a file .jsonl, .csv or .txt"
        raise click.UsageError(f"{problem}, and {advice}.")
    device = table_options.table_device_of(what.device, backend)
    from netdsl.prediction.add_columns import ColumnNames
    from netdsl.prediction.invalid_rows import InvalidRows
    from zoo.predicting import PredictRequest, predict

    names = ColumnNames({}, "prediction", "probability", predicted_class="predicted_class")
    invalid = InvalidRows(what.invalid or "error")
    request = PredictRequest(
        what.model,
        what.inputs[0],
        output,
        names,
        what.weights,
        what.columns,
        what.batch,
        invalid,
        what.dialect,
        device,
    )
    predict(request, progress_bar, backend, listen=tell)
    click.echo(f"wrote {output}")


@contextmanager
def _written_text(output: str | None) -> Iterator[_Write]:
    """A function that writes text to standard output, or to a file that is there whole or not at all."""
    if output is None:
        yield partial(click.echo, nl=False)
        return
    with atomic_path(output) as path, path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        yield file.write
