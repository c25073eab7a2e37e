"""Points around three centers, a net that separates them, and the bits of a training on them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from caffe_proto.files import read_net
from netdsl import LinearLayer, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.distributed.run_worker import MODEL
from netdsl.model.weights.match import arrays_of

PARAMS = NetParams(
    "small",
    RDDLayer("data", shape=[8, 4]),
    RDDLayer("label", shape=[8, 1]),
    LinearLayer("scores", ["data"], num_outputs=3, weight_filler={"type": "xavier"}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)
ROW = "features array<double>, label int"
_random = np.random.default_rng(5)
_centers = _random.standard_normal((3, 4)) * 3
POINTS = [((_centers[n % 3] + _random.standard_normal(4)).tolist(), n % 3) for n in range(150)]


def trained_bits(folder: Path) -> str:
    """Return a hash of the weights that a training left in a folder."""
    weights = arrays_of(read_net(folder / MODEL))
    return hashlib.sha256(b"".join(blob.tobytes() for name in sorted(weights) for blob in weights[name])).hexdigest()
