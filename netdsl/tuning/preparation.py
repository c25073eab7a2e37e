"""How images are prepared for a net that is fine-tuned: as is stated, as its data layers say, or by what it takes."""

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
    """Return what is done to images for training and for tests: the same but for chance.

    It is what is stated, or what the net's data layers do in tests. In training images are cropped at random places,
    and mirrored where the authors did so.
    """
    for_training = own_transform(model.net, pb.TRAIN)
    tested = stated or _own_settings(model)
    trained = copy_of(tested)
    if for_training is not None and for_training.mirror:
        trained.mirror = True
    return {pb.TRAIN: trained, pb.TEST: tested}


def own_transform(net: pb.NetParameter, phase: pb.Phase) -> pb.TransformationParameter | None:
    """Return the preparation that a net's data layer of a phase states."""
    for layer in net.layer:
        rules = [rule.phase for rule in layer.include if rule.HasField("phase")]
        if layer.HasField("transform_param") and not layer.bottom and phase in (rules or [phase]):
            return layer.transform_param
    return None


def _own_settings(model: Model) -> pb.TransformationParameter:
    """Return what data layers do in tests, to images that get the channels and, where it is stated, the size of the
    input."""
    layer = own_transform(model.net, pb.TEST) or own_transform(model.net, pb.TRAIN)
    stated = {shape[1:] for shape in _image_shapes(model.net)}
    if layer is None and len(stated) != 1:
        raise NetError(
            f"net '{model.net.name}' doesn't say how images are prepared for it; a data layer's transform_param can, "
            "or the `input` of a card"
        )
    phase = model.phases[0]
    model.layers(phase, stub_unknown=True)  # which warns if the shape of the image is a guess
    items = (shape.item for shape in model.data(phase, stub_unknown=True).values())
    channels = next((item[0] for item in items if len(item) == 3), 0)
    size = next(((height, width) for _, height, width in stated), None) if len(stated) == 1 else None
    return settings_in_tests(layer or pb.TransformationParameter(), channels, size)


def _image_shapes(net: pb.NetParameter) -> list[Shape]:
    """Return the shapes of images that layers of a net state."""
    kinds = ((layer, LAYERS.get(layer.type)) for layer in net.layer)
    data = [layer for layer, kind in kinds if kind is not None and issubclass(kind, BringsData)]
    return [shape for layer in data for shape in stated_shapes(layer) if len(shape) == 4]
