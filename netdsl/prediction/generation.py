"""Text that a recurrent net writes: it reads one character at a time, and says what may follow."""

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
    """A model that writes. What it was trained on is steps of several texts; here it is one of each."""

    def __init__(self, model: Model, alphabet: Alphabet, device: torch.device | str = "cpu") -> None:
        if not alphabet.characters:
            raise NetError("has no alphabet: a labels.txt with a character on each line must lie beside it")
        self._net = SequenceNet(deploy_model(model, batch=1), device)
        if self._net.feature_shapes:
            raise NetError(f"can't write text: it has an input '{next(iter(self._net.feature_shapes))}', too")
        self._alphabet = alphabet

    def write(self, beginning: str, length: int, temperature: float = 1.0, seed: int = 0) -> Iterator[str]:
        """Return the characters that follow a beginning, one by one.

        The higher the temperature, the bolder; at 0 the likeliest character always follows. The same seed gives the
        same text.
        """
        numbers = self._alphabet.numbers(beginning, "the beginning")
        if not numbers:
            raise NetError("needs at least one character to begin with")
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
        """Return how likely each output is after this character; 0 for those that are no characters."""
        numbers = list(self._alphabet.characters.values())
        (likely,) = self._net.step([number])
        if len(likely) <= max(numbers):
            raise NetError(
                f"doesn't predict characters: its output has {len(likely)} values, and it must have probabilities of "
                f"all {max(numbers) + 1} in the alphabet"
            )
        possible = np.zeros(len(likely), bool)
        possible[numbers] = True
        return np.where(possible, likely, 0)
