"""Text that a recurrent net writes: it reads one character at a time, and says what may follow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.checking.sample_inputs import input_kinds
from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.types import Array
from netdsl.deploy.deploy_net import deploy
from netdsl.errors import NetError
from netdsl.layer.samples import BlobKind
from netdsl.net.graph import resolve_all
from netdsl.prediction.predictor import Predictor
from netdsl.weights.match import Weights


class TextGenerator:
    """A net with weights that writes. What it was trained on is steps of several texts; here it is one of each."""

    def __init__(
        self, net: pb.NetParameter, weights: Weights, alphabet: Alphabet, device: torch.device | str = "cpu"
    ) -> None:
        if not alphabet.characters:
            raise NetError("has no alphabet: a labels.txt with a character on each line must lie beside it")
        self._predictor = Predictor(_for_one_step(net), weights, (), device=device)
        self._layers = self._predictor.subgraph.built.remembering_layers()
        self._characters, self._goes_on = self._inputs()
        self._alphabet = alphabet

    def _inputs(self) -> tuple[int, int]:
        """The edges of the character, and of the number that is 0 where a text begins."""
        if not self._layers:
            raise NetError("can't write text: none of its layers keeps what was before")
        inputs = {each.edge: each.blob.name for each in self._predictor.inputs}
        markers = {node.bottoms[layer.begins_at] for node, layer in self._layers}
        kinds = input_kinds(self._predictor.subgraph.built)
        characters = [edge for edge in inputs if edge not in markers and kinds[edge] is BlobKind.LABEL]
        if len(markers) != 1 or not markers <= inputs.keys() or len(characters) != 1 or len(inputs) != 2:
            names = ", ".join(f"'{name}'" for name in inputs.values()) or "none"
            raise NetError(
                "can't write text: its inputs must be the number of a character and what says whether the text goes "
                f"on; they are {names}"
            )
        return characters[0], markers.pop()

    def write(self, beginning: str, length: int, temperature: float = 1.0, seed: int = 0) -> Iterator[str]:
        """The characters that follow a beginning, one by one.

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
        for _, layer in self._layers:
            layer.reset()
        for place, number in enumerate(numbers):
            likely = self._step(number, goes_on=place > 0)
        characters = {number: character for character, number in self._alphabet.characters.items()}
        for written in range(length):
            number = _choose(likely, temperature, random)
            yield characters[number]
            if written < length - 1:
                likely = self._step(number, goes_on=True)

    def _step(self, number: int, *, goes_on: bool) -> Array:
        """How likely each output is after this character; 0 for those that are no characters."""
        values = {self._characters: number, self._goes_on: goes_on}
        tops = self._predictor.run({edge: torch.full((1, 1), float(value)) for edge, value in values.items()})
        prediction = self._predictor.subgraph.prediction
        likely = tops[prediction].reshape(-1).astype(np.float64) if prediction in tops else np.zeros(0)
        largest = max(self._alphabet.characters.values())
        if len(likely) <= largest or not np.isfinite(likely).all() or likely.min() < 0:
            raise NetError(
                f"doesn't predict characters: its output has {len(likely)} values, and it must have probabilities of "
                f"all {largest + 1} in the alphabet"
            )
        possible = np.zeros(len(likely), bool)
        possible[list(self._alphabet.characters.values())] = True
        return np.where(possible, likely, 0)


def _for_one_step(net: pb.NetParameter) -> pb.NetParameter:
    """The net to use, for a step of one text. What data layers read isn't there, so their shapes are told."""
    tops = (top for graph in resolve_all(net) for node in graph.nodes if not node.bottoms for top in node.layer.top)
    return deploy(net, shapes=dict.fromkeys(tops, (1,)), batch=1)


def _choose(likely: Array, temperature: float, random: np.random.Generator) -> int:
    if temperature == 0:
        return int(likely.argmax())
    with np.errstate(divide="ignore"):
        scores = np.log(likely) / temperature
    parts = np.exp(scores - scores.max()).cumsum()
    return int(np.searchsorted(parts, random.random() * parts[-1], side="right"))
