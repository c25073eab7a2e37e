"""What several nets share: fillers, and nets of the zoo's catalogue."""

from __future__ import annotations

from netdsl import NetParams, RDDLayer, Softmax
from zoo import catalogue

XAVIER = {"type": "xavier"}
MSRA = {"type": "msra"}
_ENDS = ("Data", "SoftmaxWithLoss", "Accuracy")


def from_catalogue(name: str, batch: int) -> NetParams:
    """A net of the catalogue for images of 224 x 224 with its fillers, which nets to deploy haven't."""
    layers = [layer for layer in catalogue.entry_of(name).train_val.message.layer if layer.type not in _ENDS]
    return NetParams(name, RDDLayer("data", shape=[batch, 3, 224, 224]), *layers, Softmax("prob", layers[-1].top))
