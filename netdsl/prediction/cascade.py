"""Opens MTCNN's cascade: three nets in one folder, which find faces in images of any size."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import torch

from netdsl.errors import NetError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.prediction.decoders.decoder import Detections, Numbers
from netdsl.prediction.decoders.mtcnn import BatchNet, Mtcnn
from netdsl.prediction.predictor import Predictor


class FaceCascade:
    """The three nets of a folder, `NAME.prototxt` and `NAME.caffemodel` for each name in `Mtcnn.nets`."""

    def __init__(self, folder: str | Path, settings: Mtcnn | None = None, device: torch.device | str = "cpu") -> None:
        self._settings = settings or Mtcnn()
        paths = [Path(folder) / name for name in Mtcnn.nets]
        models = [open_model(f"{path}.prototxt", [f"{path}.caffemodel"]) for path in paths]
        propose, refine, finish = (
            batch_net(model, blobs, device) for model, blobs in zip(models, self._settings.blobs, strict=True)
        )
        self._nets = propose, refine, finish

    def detect(self, image: Numbers) -> Detections:
        """Return the faces in an image (height, width, RGB) with values from 0 to 255, in pixels of that image."""
        return self._settings.detect(image, self._nets)


def batch_net(model: Model, blobs: Collection[str], device: torch.device | str = "cpu") -> BatchNet:
    """Return a function from a batch of images of any size to a model's blobs by name.

    The model must have one input, and layers that accept any size of image if the sizes vary.
    """
    predictor = Predictor(model, blobs).load(device)
    if len(predictor.input_edges) != 1:
        raise NetError(
            f"net '{model.net.name}' has {len(predictor.input_edges)} inputs; name a net with a single input, for "
            "images"
        )
    (edge,) = predictor.input_edges

    def run(batch: Numbers) -> dict[str, Numbers]:
        tops = predictor.run({edge: torch.from_numpy(np.require(batch, np.float32, ["C", "W"]))})
        return {name: tops[top] for name, top in predictor.outputs.items()}

    return run
