"""Text that a recurrent net writes. The net reads one character at a time and predicts the next one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.types import Array
from netdsl.errors import NetError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.prediction.sequence_net import SequenceNet, choose


class TextGenerator:
    """A model that writes text. It was trained on many steps of several texts at once; here it reads one step of one
    text."""

    def __init__(self, model: Model, alphabet: Alphabet, device: torch.device | str = "cpu") -> None:
        if not alphabet.characters:
            raise NetError("the net has no alphabet; put a labels.txt with a character on each line next to it")
        self._net = SequenceNet(deploy_model(model, batch=1), device)
        if self._net.feature_shapes:
            raise NetError(
                f"the net can't write text, because it also has an input '{next(iter(self._net.feature_shapes))}'; "
                "use a net that reads only characters"
            )
        self._alphabet = alphabet

    def write(self, beginning: str, length: int, temperature: float = 1.0, seed: int = 0) -> Iterator[str]:
        """Return the characters that follow a beginning, one by one.

        At temperature 0 the likeliest character always follows. Higher temperatures make less likely characters more
        frequent. The same seed gives the same text.
        """
        numbers = self._alphabet.numbers(beginning, "the beginning")
        if not numbers:
            raise NetError("the beginning is empty; give at least one character to begin with")
        return self._follow(numbers, length, temperature, np.random.default_rng(seed))

    def _follow(
        self, numbers: list[int], length: int, temperature: float, random: np.random.Generator
    ) -> Iterator[str]:
        self._net.begin({})
        for number in numbers:
            likely = self._step(number)
        characters = {number: character for character, number in self._alphabet.characters.items()}
        for written in range(length):
            number = choose(likely, temperature, random)
            yield characters[number]
            if written < length - 1:
                likely = self._step(number)

    def _step(self, number: int) -> Array:
        """Return the probability of each output after this character. Outputs that aren't characters get 0."""
        numbers = list(self._alphabet.characters.values())
        (likely,) = self._net.step([number])
        if len(likely) <= max(numbers):
            raise NetError(
                f"the net doesn't predict characters: its output has {len(likely)} values, but the alphabet "
                f"needs {max(numbers) + 1} probabilities; use the labels.txt that the net was trained with"
            )
        possible = np.zeros(len(likely), bool)
        possible[numbers] = True
        return np.where(possible, likely, 0)
