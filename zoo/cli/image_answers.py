"""Answers about images on the screen or in a file, as `zoo predict` gives them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caffe_proto.storage import atomic_path
from zoo.cli.devices import devices_of
from zoo.cli.output import complain
from zoo.cli.progress_bar import progress_bar
from zoo.cli.training_display import tell

if TYPE_CHECKING:  # what answers needs torch, for which no wrong option should wait
    from zoo.answers.answer import ImageAnswer
    from zoo.answers.answerer import Answerer

Write = Callable[[str], object]

TOP, THRESHOLD, WORDS = 5, 0.5, 20


@dataclass(frozen=True)
class ImageOptions:
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


def print_answers(what: ImageOptions) -> int:
    """Print or write the answers about images; returns how many images have none."""
    device = devices_of(what.device)[0]
    from netdsl.prediction.captions import CaptionSettings
    from netdsl.prediction.invalid_rows import InvalidRows
    from zoo.answers.answer import AnswerSettings
    from zoo.answers.answerer import Answerer, AnswererRequest
    from zoo.answers.answering import ImagesRequest, answer_images
    from zoo.answers.output import CaptionReader

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
    inputs = answerer.input_settings(what.columns, sys.stdin.buffer)
    threshold = THRESHOLD if what.threshold is None else what.threshold
    length = WORDS if what.length is None else what.length
    captions = CaptionSettings(length, what.beam or 1, what.temperature or 0.0, what.seed or 0)
    settings = AnswerSettings(what.top or TOP, threshold, captions)
    request = ImagesRequest(what.inputs, inputs, settings, invalid, draws=what.draw is not None)
    with _display(what, answerer, keeps=invalid is InvalidRows.KEEP) as show:
        broken = answer_images(answerer, request, show, _progress(what))
    if what.output is not None:
        click.echo(f"wrote {what.output}")
    return broken


@contextmanager
def _display(what: ImageOptions, answerer: Answerer, *, keeps: bool) -> Iterator[Callable[[ImageAnswer], None]]:
    """A function that shows an answer, and draws it if pictures are asked for."""
    from zoo.answers.drawing import Pictures
    from zoo.answers.writing import AnswerForm, form_of, head, text_of

    form = AnswerForm(what.form) if what.form else form_of(what.output or "") or AnswerForm.TEXT
    pictures = None if what.draw is None else Pictures(Path(what.draw), answerer.reads)
    with writing(what.output) as write:
        write(head(form, answerer.reads))

        def show(answer: ImageAnswer) -> None:
            if answer.problem:
                complain(answer.problem)
            if keeps or not answer.problem:
                write(text_of(answer, form, answerer.reads))
            if pictures is not None:
                pictures.add(answer)

        yield show


@contextmanager
def writing(output: str | None) -> Iterator[Write]:
    """A function that writes text to standard output, or to a file that is there whole or not at all."""
    if output is None:
        yield partial(click.echo, nl=False)
        return
    with atomic_path(output) as path, path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        yield file.write


def _progress(what: ImageOptions) -> Callable[[int], AbstractContextManager[Callable[..., object]]]:
    """A bar, unless answers are printed on the same terminal."""
    return partial(progress_bar, hidden=what.output is None and sys.stdout.isatty())
