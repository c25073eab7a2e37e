"""Finds the settings of the data layer that prepared a net's images: in the net itself, or in the net that its weights
file contains."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError
from netdsl.errors import NetError
from netdsl.model.model import Model, open_net
from netdsl.net.graph import Graph
from zoo.names import ZooModel

_OF_VALUES = ("mean_file", "mean_value", "scale")  # the settings that change values, and not the size or the place


@dataclass(frozen=True)
class LayerSettings:
    """The settings of a data layer, and where the layer is: in the net itself or in a weights file.

    `missing` is the path of the layer's mean image if there is no such file.
    """

    transform: pb.TransformationParameter
    weights: Path | None = None
    missing: str = ""

    def usable(self) -> pb.TransformationParameter:
        """Return the settings without a missing mean image. Raises a `NetError` if the net's own layer needs it."""
        if self.missing and self.weights is None:
            raise NetError(
                f"the net's data layer subtracts the mean image {self.missing}, but there is no such file; put it next "
                "to the net, or set `mean` in the `input` of a card"
            )
        return copy_of(self.transform, without=["mean_file"] if self.missing else [])

    def describe(self, preparation: object) -> str:
        """Return a sentence about the preparation of images that follows these settings."""
        layer = "the net's data layer" if self.weights is None else f"the data layer of the net in {self.weights}"
        text = f"no card describes how images become the input; as in {layer}, they are {preparation}"
        if not self.missing:
            return text
        reason = "because there is no such file: put it next to the net"
        return f"{text}; the mean image {self.missing} isn't subtracted, {reason}"


def describe_unknown(preparation: object, folder: Path, *, as_published: bool) -> str:
    """Return a sentence about the preparation of images that nothing describes, or only the published nets of the same
    family. `folder` contains the net."""
    origin = "as in the published nets of this family, " if as_published else ""
    text = f"neither a card nor a data layer describes how images become the input; {origin}they are {preparation}"
    means = ", ".join(path.name for path in sorted(folder.glob("*.binaryproto")))
    return f"{text}; to subtract {means}, set `mean` in the `input` of a card" if means else text


def layer_settings(model: Model, named: ZooModel | None, folder: Path, blob: str) -> LayerSettings | None:
    """Return the settings of the data layer that produces a blob, or `None` if there is no such layer.

    The net's own layer for testing comes first. A weights file contains the net that was trained. That net's layer
    prepares random parts of images, so only its changes to values are returned. Published nets name their mean image by
    a path that exists where they were trained. `folder` contains the net. The mean image may be there, or next to the
    weights.
    """
    folders = [folder, *(path.parent for path in model.files)]
    own = _transform_of((model if named is None else open_net(named.net)).graphs, blob)
    if own is not None:
        return _with_mean(own, None, folders)
    if model.file is None or not model.files:
        return None
    with suppress(CaffeError):  # the net in a weights file may have errors, and isn't needed
        saved = _transform_of(open_net(model.file.message).graphs, blob)
        if saved is not None:
            others = [field.name for field, _ in saved.ListFields() if field.name not in _OF_VALUES]
            return _with_mean(copy_of(saved, without=others), model.files[0], folders)
    return None


def _transform_of(graphs: Iterable[Graph], blob: str) -> pb.TransformationParameter | None:
    for graph in graphs:
        for node in graph.nodes:
            if not node.bottoms and blob in node.layer.top and node.layer.HasField("transform_param"):
                return node.layer.transform_param
    return None


def _with_mean(param: pb.TransformationParameter, weights: Path | None, folders: Iterable[Path]) -> LayerSettings:
    """Return the settings with the mean image at the place where it is found."""
    if not param.mean_file or Path(param.mean_file).is_file():
        return LayerSettings(param, weights)
    name = PureWindowsPath(param.mean_file).name  # either slash separates folders
    place = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if place is None:
        return LayerSettings(param, weights, param.mean_file)
    found = copy_of(param)
    found.mean_file = str(place)
    return LayerSettings(found, weights)
