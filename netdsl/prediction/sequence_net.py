"""Recurrent nets, run step by step. Each step reads a number for every sequence and predicts what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from netdsl.data.types import Array
from netdsl.errors import NetError
from netdsl.layer.samples import BlobKind
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.net.sample_inputs import input_kinds
from netdsl.net.sequences import beginning_edges
from netdsl.prediction.predictor import Predictor


class SequenceNet:
    """A recurrent net whose inputs are numbers of words or characters, a marker, and perhaps features.

    The marker is 0 where a sequence begins. Features stay the same in all steps.
    """

    def __init__(self, model: Model, device: torch.device | str = "cpu") -> None:
        if not beginning_edges(model.graph(Phase.TEST)):
            raise NetError(
                "the net can't write text, because none of its layers remembers earlier steps; name a net with "
                "an LSTM or an RNN layer"
            )
        self._predictor = Predictor(model).load(device)
        built = self._predictor.built
        self._layers = [layer for _, layer in built.remembering_layers()]
        inputs, kinds = {each.edge: each.blob.name for each in self._predictor.inputs}, input_kinds(built)
        markers = {node.bottoms[layer.begins_at] for node, layer in built.remembering_layers()}
        numbers = [edge for edge in inputs if edge not in markers and kinds[edge] is BlobKind.LABEL]
        if len(markers) != 1 or not markers <= inputs.keys() or len(numbers) != 1:
            raise NetError(
                "the net can't write text: its inputs must be the number of a word or a character and a marker "
                "that is 0 where sequences begin, but they are "
                f"{', '.join(map(repr, inputs.values())) or 'none'}; name a net of the kind that docs/text.md "
                "or docs/captions.md describes"
            )
        self._numbers, self._goes_on = numbers[0], markers.pop()
        self.feature_shapes = {
            name: built.shapes[edge][1:] for edge, name in inputs.items() if edge not in (self._numbers, self._goes_on)
        }
        prediction = self._predictor.prediction
        self.outputs = 0 if prediction is None else built.shapes[prediction][-1]
        self._features: dict[int, Tensor] = {}
        self._edges = {name: edge for edge, name in inputs.items()}
        self._begins = True

    def begin(self, features: Mapping[str, Array]) -> None:
        """Begin new sequences, with new features. Each feature has no batch axis."""
        shapes = {name: tuple(value.shape) for name, value in features.items()}
        if shapes != self.feature_shapes:
            wanted = ", ".join(f"'{name}' of {list(shape)}" for name, shape in self.feature_shapes.items()) or "none"
            raise NetError(
                f"the net needs features {wanted}, but the features are {shapes or 'none'}; choose another with --blob"
            )
        self._features = {
            self._edges[name]: torch.from_numpy(np.float32(value[None])) for name, value in features.items()
        }
        self._begins = True
        for layer in self._layers:
            layer.reset()

    def step(self, numbers: Sequence[int]) -> Array:
        """Return the probability of each output after these numbers, in a row for each sequence."""
        count = len(numbers)
        goes_on = torch.full((1, count), float(not self._begins))
        edges = {self._numbers: torch.tensor([numbers], dtype=torch.float32), self._goes_on: goes_on}
        edges |= {edge: value.expand(count, *value.shape[1:]) for edge, value in self._features.items()}
        self._begins = False
        tops = self._predictor.run(edges)
        prediction = self._predictor.prediction
        likely = tops[prediction].astype(np.float64) if prediction in tops else np.zeros((count, 0))
        likely = likely.reshape(count, likely.size // count)
        if not likely.size or not np.isfinite(likely).all() or likely.min() < 0:
            raise NetError(
                "the net doesn't predict what follows, because its only output must contain the probabilities "
                "of words or characters; name a net that ends with a Softmax over them"
            )
        return likely

    def follow(self, sequences: Sequence[int]) -> None:
        """Continue with these sequences of the last step, in this order. An index can occur several times."""
        for layer in self._layers:
            layer.follow(sequences)


def choose(likely: Array, temperature: float, random: np.random.Generator) -> int:
    """Return the index of an output that is drawn at random.

    A higher temperature makes unlikely outputs more frequent. At 0, the likeliest output is returned.
    """
    if temperature == 0:
        return int(likely.argmax())
    with np.errstate(divide="ignore"):
        scores = np.log(likely) / temperature
    parts = np.exp(scores - scores.max()).cumsum()
    return int(np.searchsorted(parts, random.random() * parts[-1], side="right"))
