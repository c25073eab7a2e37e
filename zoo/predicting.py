"""Predictions for `zoo predict`: answers about images, the continuation of a text, or a table with new columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from caffe_proto.storage import atomic_path
from netdsl.data.sources.alphabet import Alphabet
from netdsl.errors import NetError
from netdsl.html_table import image_address
from netdsl.model.opening import open_model
from netdsl.prediction.add_columns import ColumnNames
from netdsl.prediction.captions import CaptionSettings
from netdsl.prediction.decoders.decoder import Embedding, Picture
from netdsl.prediction.generation import TextGenerator
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.solver.events import Notice
from zoo.answers.answer import AnswerSettings, Captions, ImageAnswer, Similarity
from zoo.answers.answerer import AnswererRequest, answer_images
from zoo.answers.cascade import open_answerer
from zoo.answers.drawing import Pictures, picture
from zoo.answers.writing import AnswerForm, form_of, head, text_of
from zoo.devices import one_device
from zoo.names import classes_of_model, problem_of_model
from zoo.requests.events import Listen
from zoo.requests.request import answers
from zoo.requests.using import PredictRequest
from zoo.table_columns import add_columns

_NAMES = ColumnNames({}, "prediction", "probability", predicted_class="predicted_class")
_TOP, _WORDS, _CHARACTERS = 5, 20, 200


@dataclass(frozen=True)
class Predicted:
    """A piece of the predictions as text, unless it is written to a file. It includes the answer if it is about an
    image."""

    text: str
    answer: ImageAnswer | None = None

    def _repr_html_(self) -> str:
        """Return the answer's text, below the image if the request draws."""
        has_image = self.answer is not None and self.answer.pixels is not None and self.answer.answer is not None
        image = f'<img src="{image_address(picture(self.answer))}">' if self.answer and has_image else ""
        return f"<figure>{image}<pre>{escape(self.text)}</pre></figure>"

    @property
    def good(self) -> bool:
        """Whether all images could be read."""
        return self.answer is None or not self.answer.problem


@answers(PredictRequest)
def predict(request: PredictRequest, listen: Listen) -> Iterator[Predicted]:
    """Yield answers about images, the characters of a text, or the names of written files."""
    if request.makes_table:
        add_columns(request, request.inputs[0], _NAMES, listen)
    else:
        pieces = _text(request, listen) if request.text is not None else _image_answers(request, listen)
        with _written_text(request.output) as write:
            for piece in pieces:
                write(piece.text)
                yield piece if request.output is None else Predicted("", piece.answer)
    if request.output is not None:
        yield Predicted(f"wrote {request.output}\n")


def _text(request: PredictRequest, listen: Listen) -> Iterator[Predicted]:
    """Yield the beginning of the text, then each following character. The alphabet is in labels.txt, next to the
    weights or in the model."""
    length, temperature = request.length or _CHARACTERS, 1.0 if request.temperature is None else request.temperature
    model = open_model(request.net, request.weights, deployed=True, dialect=request.dialect)
    alphabet = Alphabet(classes_of_model(request.net, request.weights))
    try:
        generator = TextGenerator(model, alphabet, one_device(request.device, listen))
        following = generator.write(str(request.text), length, temperature, request.seed or 0)
        first = next(following)  # runs before anything is printed, since it may raise an error
        yield Predicted(f"{request.text}{first}")
        yield from map(Predicted, following)
    except NetError as problem:
        raise type(problem)(problem_of_model(request.net, problem, request.weights)) from None
    yield Predicted("\n")


def _image_answers(request: PredictRequest, listen: Listen) -> Iterator[Predicted]:
    """Yield the answers about all images."""
    asked = AnswererRequest(
        request.net,
        request.weights,
        device=one_device(request.device, listen),
        batch=request.batch,
        blob=request.blob,
        read_as=request.read_as,
        vocabulary=request.vocabulary,
        features_net=request.features_net,
        dialect=request.dialect,
        detector=request.detector,
    )
    answerer = open_answerer(asked, listen)
    request.check_writing(answerer.answers is Captions)
    form = _form(request)
    pictures = None if request.draw is None else Pictures(Path(request.draw), answerer.answers)
    invalid = InvalidRows(request.invalid or InvalidRows.SKIP)
    if beginning := head(form, answerer.answers):
        yield Predicted(beginning)
    first: tuple[str, Embedding] | None = None  # the embedding with which all others are compared
    for answer in answer_images(
        answerer,
        request.inputs,
        _settings(request),
        listen,
        columns=request.columns,
        stdin=sys.stdin.buffer,
        invalid=invalid,
        draws=pictures is not None,
    ):
        if answer.problem:
            listen(Notice(answer.problem))
        if pictures is not None and (drawn := pictures.add(answer)) is not None and answerer.answers is Picture:
            answer = replace(answer, drawn=str(drawn))
        if isinstance(answer.answer, Embedding):
            first = first or (answer.image, answer.answer)
            if first[1] is not answer.answer:
                answer = replace(answer, similarity=Similarity.of(answer.answer, *first))
        is_written = invalid is InvalidRows.KEEP or not answer.problem
        yield Predicted(text_of(answer, form, answerer.answers, answerer.data) if is_written else "", answer)


def _form(request: PredictRequest) -> AnswerForm:
    """Return the format of the answers."""
    if request.as_json or request.as_csv:
        return AnswerForm.JSON if request.as_json else AnswerForm.CSV
    return form_of(request.output or "") or AnswerForm.TEXT


def _settings(request: PredictRequest) -> AnswerSettings:
    captions = CaptionSettings(
        request.length or _WORDS, request.beam or 1, request.temperature or 0.0, request.seed or 0
    )
    return AnswerSettings(request.top or _TOP, request.threshold, captions)


@contextmanager
def _written_text(output: str | None) -> Iterator[Callable[[str], object]]:
    """Yield a function that writes text to a file. The file appears only when it is complete. Without a file, the
    function does nothing."""
    if output is None:
        yield lambda text: None
        return
    with atomic_path(output) as path, path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        yield file.write
