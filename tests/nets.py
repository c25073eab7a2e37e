"""Small nets and layers for tests, from prototxt."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.layer import Layer
from netdsl.layers import type_of
from netdsl.net.build import Built, build
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule


def layer_of(
    kind: str, settings: str, *shapes: tuple[int, ...], tops: int = 1, train: bool = True, dialect: str = ""
) -> Layer:
    """Return a layer on bottoms of some shapes, without memory. The settings may name its bottoms and tops.

    For the type Python it is the type that replaces the layer in `python_param`.
    """
    message = from_text(f'type: "{kind}" {settings}', pb.LayerParameter)
    if not message.bottom:
        message.bottom.extend(f"bottom{index}" for index in range(len(shapes)))
    if not message.top:
        message.top.extend(f"top{index}" for index in range(tops))
    message.dialects.extend([dialect] if dialect else [])
    message.phase = pb.TRAIN if train else pb.TEST
    found = type_of(message)
    assert found is not None
    return found(message, shapes).train(train)


def allocated_layer(
    kind: str, settings: str, *shapes: tuple[int, ...], tops: int = 1, train: bool = False, dialect: str = ""
) -> Layer:
    """Return the layer with memory, once the shapes of its tops are known. It is in the TEST phase unless `train` is
    set."""
    layer = layer_of(kind, settings, *shapes, tops=tops, train=train, dialect=dialect)
    layer.top_shapes(shapes)
    layer.allocate("cpu", {})
    return layer


def built_net(text: str, phase: Phase = Phase.TEST) -> Built:
    """Return the layers of a net in a phase, without memory."""
    return build(resolve(from_text(text, pb.NetParameter), phase))


def net_module(text: str, phase: Phase = Phase.TEST, *, caffe_gradients: bool = False) -> NetModule:
    """Return a net in a phase as a torch module, with memory."""
    return NetModule(built_net(text, phase), caffe_gradients=caffe_gradients).allocate()
