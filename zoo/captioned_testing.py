"""Tests of a model on images with captions. They compare the model's captions with those that people wrote."""

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


def captioned_images(data: SourceName) -> list[CaptionedImage]:
    """Return the captioned images of a data set such as `captions:FILE.json?images=FOLDER`."""
    if data.class_names is not None or set(data.options) - {"images"}:
        raise DataError(f"{data}: a test on captions allows only the option images=FOLDER; remove the other options")
    images = [image for image in data.open_captions() if image.captions]
    if not images:
        raise DataError(
            f"{data.path}: the file contains no captions; name a file of COCO's captions, such as captions_val2017.json"
        )
    return images


def score_captions(answerer: Answerer, images: Sequence[CaptionedImage]) -> list[float]:
    """Return BLEU-1 to BLEU-4 of captions in which each word is the likeliest one."""
    if answerer.answers is not Captions:
        raise DataError(
            "the model doesn't write captions, but the images only have captions; name data with labels, such "
            "as folder:PATH, or a model that writes captions"
        )
    source = ImageFiles([str(image.path) for image in images], answerer.preparation.color)
    sentences = []
    for answer in answers_on(answerer, source, AnswerSettings()):
        assert isinstance(answer.answer, Captions)
        sentences.append(answer.answer.best[0].words)
    return bleu(sentences, [[words_of(caption) for caption in image.captions] for image in images])
