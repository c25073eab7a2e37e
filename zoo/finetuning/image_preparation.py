"""The preparation of images for fine-tuning, as in the card or the data layers, in Caffe's channel order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from converters.rewriting import Preprocessing, absorb_preprocessing
from netdsl.data.transforms.decode import COLORS
from netdsl.data.transforms.mean import Mean
from netdsl.data.writing.mean_image import write_mean
from netdsl.errors import NetError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.tuning.preparation import own_transform, transforms_of
from zoo.card_input import transform_of, unlike_layer
from zoo.cards import Channels
from zoo.names import ZooModel, known_card_notice

MEAN = "mean.binaryproto"  # a file in the new model's folder
_SWAPPED = (
    "The original net reads RGB images. The channels of its first convolution are swapped, so that this net "
    "reads BGR images, as Caffe's data layers produce them."
)


@dataclass(frozen=True)
class PreparedModel:
    """A model that reads the output of data layers, the layers' settings, and remarks about both.

    `swapped` is true if its weights differ from those in the files, which are for RGB.
    """

    model: Model
    transforms: Mapping[pb.Phase, pb.TransformationParameter]
    swapped: bool
    notes: tuple[str, ...]


def prepare_images(model: Model, named: ZooModel | None, output: Path) -> PreparedModel:
    """Prepare images as the card describes or, without a card, as the net's data layers do.

    A mean file is written to the new model's folder, so that its card can name it.
    """
    notes, stated, swapped = list[str](), None, False
    if named is not None and named.card.input is not None:
        image = named.card.input
        if image.channels is Channels.LIGHTNESS:
            raise NetError(
                f"{named.origin}: the card's input is the lightness of images, but data layers don't produce "
                "it; store the lightness as arrays in HDF5, and train with `zoo train` and an HDF5Data layer"
            )
        stated = transform_of(image, named.path)
        notes += [f"The net is {notice}."] if (notice := known_card_notice(named)) else []
        notes += unlike_layer(image, own_transform(model.net, pb.TEST))
        swapped = image.channels is Channels.RGB
        if swapped:
            model, stated = with_swapped_channels(model), _reversed_mean(stated)
            notes.append(_SWAPPED)
    transforms = transforms_of(model, stated)
    mean = Mean(transforms[pb.TEST]).image
    if mean is not None:
        write_mean(np.ascontiguousarray(mean[::-1]) if swapped else mean, output / MEAN)
        for transform in transforms.values():
            transform.mean_file = str((output / MEAN).resolve())
    return PreparedModel(model, transforms, swapped, tuple(notes))


def with_swapped_channels(model: Model) -> Model:
    """Return the model with weights for BGR instead of RGB, or the other way round."""
    deployed = deploy_model(model)
    try:
        swapped = absorb_preprocessing(deployed, Preprocessing.of(COLORS, swap_channels=True))
    except NetError as problem:
        raise NetError(
            "the card says RGB, but Caffe's data layers produce BGR, which the net can't be changed to: "
            f"{problem}; choose another model, whose card says BGR"
        ) from None
    return model.with_weights(swapped.weights)


def _reversed_mean(transform: pb.TransformationParameter) -> pb.TransformationParameter:
    changed = copy_of(transform)
    changed.mean_value[:] = reversed(transform.mean_value)
    return changed
