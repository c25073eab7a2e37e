"""ILSVRC 2012 in the databases that Caffe's own scripts write, and the parts that most nets for it share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy
from netdsl.dsl import Data

if TYPE_CHECKING:
    from netdsl.dsl.layer_types import TransformationParameterDict

# Settings of weights and biases. Biases learn twice as fast, and don't decay.
RATES = [{"lr_mult": 1, "decay_mult": 1}, {"lr_mult": 2, "decay_mult": 0}]

MEAN_IMAGE: TransformationParameterDict = {"mean_file": "data/ilsvrc12/imagenet_mean.binaryproto"}
MEAN_COLOR: TransformationParameterDict = {"mean_value": [104, 117, 123]}
# Scales values to about -2 to 2.
SCALED: TransformationParameterDict = {"mean_value": [103.94, 116.78, 123.68], "scale": 0.017}


def imagenet_data(
    side: int, *, train_batch: int, test_batch: int, mean: TransformationParameterDict, mirror: bool = True
) -> list[pb.LayerParameter]:
    """Return data layers for crops of labeled photographs. Training uses random crops, which may be mirrored, and
    tests use central crops."""
    batches = {"train": train_batch, "val": test_batch}
    return [
        Data(
            "data",
            tops=["data", "label"],
            include={"phase": "TRAIN" if part == "train" else "TEST"},
            transform_param={**mean, "crop_size": side, "mirror": mirror and part == "train"},
            source=f"examples/imagenet/ilsvrc12_{part}_lmdb",
            batch_size=batch,
            backend="LMDB",
            force_encoded_color=True,
        )
        for part, batch in batches.items()
    ]


def top_5(name: str, bottoms: Sequence[str]) -> pb.LayerParameter:
    """Return a test layer that measures how often the right class is among the five most probable ones."""
    return Accuracy(name, bottoms, top_k=5, include={"phase": "TEST"})
