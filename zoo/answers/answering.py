"""Answers about many images, in their order: decoded by threads ahead of the net, which takes several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from typing import Any

from netdsl.data.sources.source import Source
from netdsl.data.writing.map_items import map_items
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows
from zoo.answers.answer import AnswerSettings, ImageAnswer
from zoo.answers.answerer import Answerer
from zoo.answers.inputs import InputSettings, image_name, image_of, open_images
from zoo.answers.preparation import PreparedImage

_MOST_BROKEN = 64  # images in a row that are held back until a batch is full

Progress = Callable[[int], AbstractContextManager[Callable[[int], object]]]


@dataclass(frozen=True)
class ImagesRequest:
    """A request for answers: the images, what an answer has, what becomes of broken ones, whether somebody draws."""

    names: Sequence[str]
    inputs: InputSettings
    settings: AnswerSettings
    invalid: InvalidRows = InvalidRows.SKIP
    draws: bool = False


@dataclass(frozen=True)
class DecodedImage:
    """An image by its name, prepared for the net, or what is wrong with it."""

    name: str
    prepared: PreparedImage | DataError


def answer_images(
    answerer: Answerer, request: ImagesRequest, tell: Callable[[ImageAnswer], object], progress: Progress
) -> int:
    """Tell the answers about all images; returns how many were broken, which is an error if the request says so."""
    broken = 0
    with ExitStack() as stack:
        sources = [(name, stack.enter_context(closing(open_images(name, request.inputs)))) for name in request.names]
        advance = stack.enter_context(progress(sum(len(source) for _, source in sources)))
        for answer in answers(answerer, decode_images(answerer, sources, keep=request.draws), request.settings):
            if answer.problem and request.invalid is InvalidRows.ERROR:
                raise DataError(answer.problem)
            broken += bool(answer.problem)
            tell(answer)
            advance(1)
    return broken


def answers_on(answerer: Answerer, source: Source, settings: AnswerSettings) -> Iterator[ImageAnswer]:
    """An answer for each image of a source; one that has none is an error."""
    for answer in answers(answerer, decode_images(answerer, [("", source)]), settings):
        if answer.problem:
            raise DataError(answer.problem)
        yield answer


def answers(answerer: Answerer, images: Iterable[DecodedImage], settings: AnswerSettings) -> Iterator[ImageAnswer]:
    """An answer for each image, in their order."""
    waiting, good = list[DecodedImage](), 0
    for image in images:
        waiting.append(image)
        good += isinstance(image.prepared, PreparedImage)
        if good == answerer.batch or len(waiting) >= answerer.batch + _MOST_BROKEN:
            yield from _answer_batch(answerer, waiting, settings)
            waiting, good = [], 0
    yield from _answer_batch(answerer, waiting, settings)


def _answer_batch(
    answerer: Answerer, images: Sequence[DecodedImage], settings: AnswerSettings
) -> Iterator[ImageAnswer]:
    prepared = [image.prepared for image in images if isinstance(image.prepared, PreparedImage)]
    outputs = answerer.run(prepared) if prepared else {}
    index = 0
    for image in images:
        if isinstance(image.prepared, DataError):
            yield ImageAnswer(image.name, problem=str(image.prepared))
            continue
        try:
            answer = answerer.read(outputs, index, image.prepared, settings)
            yield ImageAnswer(image.name, image.prepared.placement, answer, pixels=image.prepared.image)
        except DataError as problem:
            yield ImageAnswer(image.name, image.prepared.placement, problem=f"{image.name}: {problem}")
        index += 1


def decode_images(
    answerer: Answerer, sources: Iterable[tuple[str, Source]], *, keep: bool = False
) -> Iterator[DecodedImage]:
    """The images of sources, each with the name that a user calls it by, prepared by threads."""
    for name, source in sources:
        names = [image_name(source, index, name) for index in range(len(source))]

        def prepare(position: int, fetched: Any, source: Source = source, names: list[str] = names) -> PreparedImage:
            return answerer.prepare(image_of(source.item(fetched)), names[position], keep=keep)

        with closing(map_items(source, range(len(source)), prepare)) as results:
            for position, result in enumerate(results):
                yield DecodedImage(names[position], result)
