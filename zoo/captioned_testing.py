"""Tests of a model on images with captions: what it writes about each beside what people wrote."""

from __future__ import annotations

from collections.abc import Sequence

from netdsl.data.sources.annotations.coco import CaptionedImage
from netdsl.data.sources.source_name import SourceName
from netdsl.data.sources.vocabulary import words_of
from netdsl.errors import DataError
from netdsl.scores.bleu import bleu
from zoo.answers.answer import AnswerSettings, Captions
from zoo.answers.answerer import Answerer, answers_on
from zoo.answers.images import ImageFiles
from zoo.answers.readers import CaptionReader


def captioned_images(data: SourceName) -> list[CaptionedImage]:
    """Return the images with captions that a name such as `captions:FILE.json?images=FOLDER` stands for."""
    if data.class_names is not None or set(data.options) - {"images"}:
        raise DataError(f"{data}: a test on captions takes no option but images=FOLDER")
    images = [image for image in data.open_captions() if image.captions]
    if not images:
        raise DataError(f"{data.path}: has no captions")
    return images


def score_captions(answerer: Answerer, images: Sequence[CaptionedImage]) -> list[float]:
    """BLEU-1 to BLEU-4 of the likeliest word each time."""
    if answerer.reads is not CaptionReader:
        raise DataError("the model writes no captions, and only these are tested on images with captions")
    source = ImageFiles([str(image.path) for image in images], answerer.preparation.color)
    sentences = []
    for answer in answers_on(answerer, source, AnswerSettings()):
        assert isinstance(answer.answer, Captions)
        sentences.append(answer.answer.best[0].words)
    return bleu(sentences, [[words_of(caption) for caption in image.captions] for image in images])
