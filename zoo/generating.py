"""Text that a model writes, as `zoo predict --text` asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from caffe_proto.errors import in_file
from netdsl.data.sources.alphabet import Alphabet
from netdsl.errors import NetError
from netdsl.model.opening import open_model
from netdsl.prediction.generation import TextGenerator
from zoo.names import classes_of_model


@dataclass(frozen=True)
class TextRequest:
    """A request for text: the model, how the text begins, how many characters follow, and how they are chosen."""

    model: str
    weights: tuple[str, ...]
    beginning: str
    length: int
    temperature: float
    seed: int
    device: str | torch.device = "cpu"
    dialect: str | None = None


def write_text(request: TextRequest) -> Iterator[str]:
    """The characters that follow, one by one. The alphabet is in the labels.txt of the weights or of the model."""
    model = open_model(request.model, request.weights, deployed=True, dialect=request.dialect)
    alphabet = Alphabet(classes_of_model(request.model, request.weights))
    try:
        generator = TextGenerator(model, alphabet, request.device)
        yield from generator.write(request.beginning, request.length, request.temperature, request.seed)
    except NetError as problem:
        raise type(problem)(in_file(request.model, problem)) from None
