"""Captions of images, which a recurrent net writes word by word. Each step reads the image's features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from netdsl.data.sources.vocabulary import Vocabulary
from netdsl.data.types import Array
from netdsl.errors import NetError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.prediction.sequence_net import SequenceNet, choose

_END = 0  # the number that ends a caption; the net also reads it before the first word


@dataclass(frozen=True)
class CaptionSettings:
    """The settings for choosing a caption of at most `length` words.

    At temperature 0, a beam search finds the likeliest captions and keeps the best `beam` beginnings after each word.
    At other temperatures, words are drawn at random. The same seed then gives the same caption.
    """

    length: int = 20
    beam: int = 1
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Caption:
    """The words of a caption, its log-likelihood, and whether the net ended it."""

    words: tuple[str, ...]
    log_likelihood: float
    ended: bool

    def __str__(self) -> str:
        return " ".join(self.words if self.ended else (*self.words, "..."))


@dataclass(frozen=True)
class Sentence:
    """The numbers of a caption's words so far, and their log-likelihood."""

    numbers: tuple[int, ...] = ()
    score: float = 0.0

    def is_whole(self, length: int) -> bool:
        """Return whether the caption has ended or has `length` words."""
        return self.numbers[-1:] == (_END,) or len(self.numbers) >= length


class CaptionGenerator:
    """A model that writes captions. Its inputs are `cont`, the number of a word, and an image's features."""

    def __init__(self, model: Model, vocabulary: Vocabulary, device: torch.device | str = "cpu") -> None:
        self._net, self._vocabulary = SequenceNet(deploy_model(model, batch=1), device), vocabulary
        words = len(vocabulary.words)
        if self._net.outputs != words:
            found = (
                f"the net distinguishes {self._net.outputs} words, but the vocabulary has {words}, including the "
                "end of captions"
            )
            raise NetError(f"{found}; use the vocabulary that the net was trained with")

    def write(self, features: Mapping[str, Array], settings: CaptionSettings = CaptionSettings()) -> list[Caption]:
        """Return the captions of an image, the likeliest first.

        `features` contains the image's features by the names of the net's inputs.
        """
        self._net.begin(features)
        whole = self._by_chance(settings) if settings.temperature else self._by_beams(settings)
        return [self._caption(sentence) for sentence in whole]

    def _by_beams(self, settings: CaptionSettings) -> list[Sentence]:
        """Return the best captions that a beam search finds. Finished captions compete with longer ones."""
        whole, begun = list[Sentence](), [Sentence()]
        while begun:
            likely = self._step(begun)
            with np.errstate(divide="ignore"):
                scores = np.log(likely) + [[sentence.score] for sentence in begun]
            best = np.argsort(-scores, axis=None, kind="stable")[: settings.beam]
            parents, numbers = (places.tolist() for places in np.unravel_index(best, scores.shape))
            longer = [
                (Sentence((*begun[parent].numbers, number), float(scores[parent, number])), parent)
                for parent, number in zip(parents, numbers, strict=True)
                if likely[parent, number] > 0
            ]
            kept = sorted([*((each, -1) for each in whole), *longer], key=lambda pair: -pair[0].score)[: settings.beam]
            going_on = [pair for pair in kept if not pair[0].is_whole(settings.length)]
            whole, begun = [each for each, _ in kept if each.is_whole(settings.length)], [each for each, _ in going_on]
            self._net.follow([parent for _, parent in going_on])
        return whole

    def _by_chance(self, settings: CaptionSettings) -> list[Sentence]:
        sentence, random = Sentence(), np.random.default_rng(settings.seed)
        while not sentence.is_whole(settings.length):
            (likely,) = self._step([sentence])
            number = choose(likely, settings.temperature, random)
            sentence = Sentence((*sentence.numbers, number), sentence.score + float(np.log(likely[number])))
        return [sentence]

    def _step(self, sentences: Sequence[Sentence]) -> Array:
        """Return the probability of each word to come next, in a row for each sentence."""
        return self._net.step([(_END, *sentence.numbers)[-1] for sentence in sentences])

    def _caption(self, sentence: Sentence) -> Caption:
        ended = sentence.numbers[-1:] == (_END,)
        numbers = sentence.numbers[:-1] if ended else sentence.numbers
        return Caption(tuple(self._vocabulary.words[number] for number in numbers), sentence.score, ended)
