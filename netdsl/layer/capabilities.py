"""The capabilities of a layer type, from its class and the schema."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import BVLC, FORKS, all_dialects
from netdsl.layer.core import Layer
from netdsl.layer.data import BringsData, DataOrigin
from netdsl.layer.deploying import NotDeployed
from netdsl.layer.onnx_form import HasOnnxForm


class Deployment(Enum):
    """The treatment of a layer in a deployed net."""

    STAYS = "stays"
    REMOVED = "goes"
    REPLACED = "is replaced"


class DataAccess(Enum):
    """The way in which a layer gets its data."""

    NONE = "no data"
    INPUT = "is an input"
    ARRAYS = "takes arrays"
    FILES = "reads files"


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a layer type. All types run on a CPU.

    `replacement` is the type that replaces it in a deployed net. `origins` are the dialects whose schema contains the
    type's settings, or the plug-in that added a type without settings.
    """

    blobs: tuple[str, ...]
    passes_gradient: bool
    has_onnx_form: bool
    deployment: Deployment
    replacement: str | None
    data: DataAccess
    origins: tuple[str, ...]


def capabilities(kind: type[Layer]) -> Capabilities:
    """Return the capabilities of a layer type."""
    return Capabilities(
        kind.blobs,
        _passes_gradient(kind),
        issubclass(kind, HasOnnxForm),
        _deployment(kind),
        kind.deploys_as,
        _data_access(kind),
        _origins(kind),
    )


def _passes_gradient(kind: type[Layer]) -> bool:
    """Return whether any bottom or blob can get a gradient through a top."""
    least, most = kind.bottoms
    places = range(max(least, 1) if most is None else most)
    return kind.tops[1] != 0 and (bool(kind.blobs) or any(place not in kind.no_gradient for place in places))


def _deployment(kind: type[Layer]) -> Deployment:
    if kind.deploys_as is not None:
        return Deployment.REPLACED
    return Deployment.REMOVED if issubclass(kind, NotDeployed) else Deployment.STAYS


def _data_access(kind: type[Layer]) -> DataAccess:
    if not issubclass(kind, BringsData):
        return DataAccess.NONE
    if kind.data_origin is DataOrigin.FILES:
        return DataAccess.FILES
    return DataAccess.INPUT if kind.data_origin is DataOrigin.INPUT else DataAccess.ARRAYS


def _origins(kind: type[Layer]) -> tuple[str, ...]:
    if kind.origin is not None:
        return (kind.origin,)
    message = None if kind.config is None else kind.config.DESCRIPTOR
    settings = [field for field in pb.LayerParameter.DESCRIPTOR.fields if message and field.message_type == message]
    if not settings or any(field.number < FORKS for field in settings):
        return (BVLC.name,)
    names = {field.name for field in settings}
    return tuple(
        name for name, dialect in all_dialects().items() if names & dialect.numbers.get("LayerParameter", {}).keys()
    )
