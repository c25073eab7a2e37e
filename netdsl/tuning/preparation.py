"""The preparation of images for fine-tuning.

It comes from the user's settings, from the net's data layers, or from the net's input shape.
"""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.transforms.image_settings import settings_in_tests
from netdsl.errors import NetError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import stated_shapes
from netdsl.layers import LAYERS
from netdsl.model.model import Model


def transforms_of(
    model: Model, stated: pb.TransformationParameter | None = None
) -> dict[pb.Phase, pb.TransformationParameter]:
    """Return the transforms of images for training and for tests. They differ only in random changes.

    The transform in tests is the one in `stated`, or that of the net's data layers. In training, images are cropped at
    random places. They are mirrored if the net's authors did so.
    """
    for_training = own_transform(model.net, pb.TRAIN)
    tested = stated or _own_settings(model)
    trained = copy_of(tested)
    if for_training is not None and for_training.mirror:
        trained.mirror = True
    return {pb.TRAIN: trained, pb.TEST: tested}


def own_transform(net: pb.NetParameter, phase: pb.Phase) -> pb.TransformationParameter | None:
    """Return the transform that a net's data layer states for a phase, or `None` if none does."""
    for layer in net.layer:
        rules = [rule.phase for rule in layer.include if rule.HasField("phase")]
        if layer.HasField("transform_param") and not layer.bottom and phase in (rules or [phase]):
            return layer.transform_param
    return None


def _own_settings(model: Model) -> pb.TransformationParameter:
    """Return the transform of the data layers in tests.

    It includes the number of channels and, if the net states it, the size of the input.
    """
    layer = own_transform(model.net, pb.TEST) or own_transform(model.net, pb.TRAIN)
    stated = {shape[1:] for shape in _image_shapes(model.net)}
    if layer is None and len(stated) != 1:
        raise NetError(
            f"net '{model.net.name}' doesn't say how images are prepared; add a transform_param to a data "
            "layer, or an `input` to its card"
        )
    phase = model.phases[0]
    model.layers(phase, stub_unknown=True)  # warns if the shape of the image is a guess
    items = (shape.item for shape in model.data(phase, stub_unknown=True).values())
    channels = next((item[0] for item in items if len(item) == 3), 0)
    size = next(((height, width) for _, height, width in stated), None) if len(stated) == 1 else None
    return settings_in_tests(layer or pb.TransformationParameter(), channels, size)


def _image_shapes(net: pb.NetParameter) -> list[Shape]:
    """Return the shapes of images that the layers of a net state."""
    kinds = ((layer, LAYERS.get(layer.type)) for layer in net.layer)
    data = [layer for layer, kind in kinds if kind is not None and issubclass(kind, BringsData)]
    return [shape for layer in data for shape in stated_shapes(layer) if len(shape) == 4]
