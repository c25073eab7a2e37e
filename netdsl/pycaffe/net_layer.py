"""pycaffe's view of a layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer
from netdsl.layer.user_code import RunsUserCode
from netdsl.net.build import at_layer
from netdsl.pycaffe.blob import Blob
from netdsl.pycaffe.memory import ParameterMemory


class NetLayer:
    """The type and blobs of a layer; for a layer written in Python, also the attributes of its object."""

    layer: Layer
    type: str
    blobs: list[Blob]

    def __init__(self, layer: Layer) -> None:
        blobs = [Blob(ParameterMemory(layer, name)) for name in layer.blob_names()]
        self.__dict__.update(layer=layer, type=layer.layer.type, blobs=blobs)

    def setup(self, bottom: Sequence[Blob], top: Sequence[Blob]) -> None:
        """Check that the layer's settings fit these bottoms; a layer written in Python runs its own `setup`."""
        if isinstance(self.layer, RunsUserCode):
            self.layer.user.setup(bottom, top)
        else:
            message = pb.LayerParameter()
            message.CopyFrom(self.layer.layer)
            with at_layer(message):
                type(self.layer)(message, [blob.shape for blob in bottom])

    def reshape(self, bottom: Sequence[Blob], top: Sequence[Blob]) -> None:
        """Give the tops the shapes that follow from the bottoms'."""
        if isinstance(self.layer, RunsUserCode):
            self.layer.user.reshape(bottom, top)
            return
        with at_layer(self.layer.layer):
            shapes = self.layer.top_shapes([blob.shape for blob in bottom])
        for blob, shape in zip(top, shapes, strict=False):
            blob.reshape(*shape)

    def _written_in_python(self) -> Any:
        layer = vars(self)["layer"]
        return layer.user if isinstance(layer, RunsUserCode) else None

    def __getattr__(self, name: str) -> Any:
        user = self._written_in_python() if "layer" in vars(self) else None
        if user is None:
            raise AttributeError(f"a layer has type and blobs, but no '{name}'")
        return getattr(user, name)

    def __setattr__(self, name: str, value: Any) -> None:
        user = self._written_in_python()
        if user is None or name in vars(self):
            super().__setattr__(name, value)
        else:
            setattr(user, name, value)
