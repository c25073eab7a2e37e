"""Text that a model writes, as `zoo predict --text` asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from caffe_proto.errors import in_file
from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.sources.class_names import class_names_of_model
from netdsl.errors import NetError
from netdsl.model import open_model
from netdsl.prediction.generation import TextGenerator
from zoo.names import find_folder


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


def write_text(request: TextRequest) -> Iterator[str]:
    """The characters that follow, one by one. The alphabet is in the labels.txt of the weights or of the model."""
    folder = find_folder(Path(request.model))
    names = class_names_of_model(*reversed(request.weights), request.model)
    model = open_model(request.model, request.weights, deployed=True)
    alphabet = Alphabet(names or (folder.classes if folder else ()))
    try:
        generator = TextGenerator(model.net, model.weights, alphabet, request.device)
        yield from generator.write(request.beginning, request.length, request.temperature, request.seed)
    except NetError as problem:
        raise type(problem)(in_file(request.model, problem)) from None
