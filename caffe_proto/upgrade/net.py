"""Upgrades a net or a solver to today's form with Caffe's steps, in Caffe's order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import UpgradeError
from caffe_proto.upgrade import v0, v1

M = TypeVar("M", bound=Message)

_DATA_PARAMS = {
    pb.V1LayerParameter.DATA: "data_param",
    pb.V1LayerParameter.IMAGE_DATA: "image_data_param",
    pb.V1LayerParameter.WINDOW_DATA: "window_data_param",
}
_TRANSFORM_FIELDS = ("transform_param", "scale", "mean_file", "crop_size", "mirror")
_DIMS_PER_INPUT = 4


@dataclass(frozen=True)
class Upgraded(Generic[M]):
    """An upgraded message and a sentence for each change."""

    message: M
    changes: tuple[str, ...]


def upgrade_net(net: pb.NetParameter) -> Upgraded[pb.NetParameter]:
    """Return the net in today's form."""
    if net.layers and net.layer:
        raise UpgradeError(f"net '{net.name}': the net uses both `layer` and `layers`; write all layers as `layer`")
    upgraded = copy_of(net)
    changes = _upgrade_layer_forms(upgraded) + _upgrade_inputs(upgraded) + _upgrade_batch_norms(upgraded)
    return Upgraded(upgraded, tuple(changes))


def _upgrade_layer_forms(net: pb.NetParameter) -> list[str]:
    """Upgrade V0 layers to V1, and V1 layers to V2. Only the first step reports the upgrade of a V0 layer."""
    from_v0 = v0.upgrade_layers(net)
    moved = _move_transformations(net)
    from_v1 = v1.upgrade_layers(net)
    return from_v0 or moved + from_v1


def _move_transformations(net: pb.NetParameter) -> list[str]:
    """Move the transformations of data layers to `transform_param`.

    Caffe's rule: if one layer of a net needs this, every data layer gets both messages, even if they stay empty.
    """
    readers = [(index, layer) for index, layer in enumerate(net.layers) if layer.type in _DATA_PARAMS]
    if not any(_misplaced_fields(layer) for _, layer in readers):
        return []
    changes = []
    for index, layer in readers:
        if names := _move_transformation(layer):
            where = v1.layer_label(layer.name, index)
            changes.append(f"{where}: {', '.join(names)} moved from {_DATA_PARAMS[layer.type]} to transform_param")
    return changes


def _misplaced_fields(layer: pb.V1LayerParameter) -> list[str]:
    """Return the transformation fields that an old data layer sets among the settings of its source."""
    settings: Message = getattr(layer, _DATA_PARAMS[layer.type])
    return [field.name for field, _ in settings.ListFields() if field.name in _TRANSFORM_FIELDS]


def _move_transformation(layer: pb.V1LayerParameter) -> list[str]:
    settings: Message = getattr(layer, _DATA_PARAMS[layer.type])
    settings.SetInParent()
    layer.transform_param.SetInParent()
    names = _misplaced_fields(layer)
    for name in names:
        v1.set_field(layer if name == "transform_param" else layer.transform_param, name, getattr(settings, name))
        settings.ClearField(name)
    return names


def _upgrade_inputs(net: pb.NetParameter) -> list[str]:
    """Upgrade the inputs of a net.

    Caffe's rule: inputs with shapes become a layer. Inputs without shapes, which old weight files contain, are removed.
    """
    if not net.input:
        return []
    dims = next((name for name in ("input_shape", "input_dim") if getattr(net, name)), None)
    change = "input without input_shape or input_dim was removed"
    if dims is not None:
        layer = pb.LayerParameter(name="input", type="Input", top=net.input)
        layer.input_param.shape.extend(_input_shapes(net))
        net.layer.insert(0, layer)
        change = f"input and {dims} became layer 'input' of type Input"
    for name in ("input", "input_shape", "input_dim"):
        net.ClearField(name)
    return [change]


def _input_shapes(net: pb.NetParameter) -> list[pb.BlobShape]:
    count, dims = len(net.input), _DIMS_PER_INPUT * len(net.input)
    if net.input_shape:
        if len(net.input_shape) < count:
            raise UpgradeError(
                f"net '{net.name}': there are {count} input fields but {len(net.input_shape)} input_shape; "
                "write one input_shape for each input"
            )
        return net.input_shape[:count]
    if len(net.input_dim) < dims:
        raise UpgradeError(
            f"net '{net.name}': {count} input fields need {dims} input_dim, but there are {len(net.input_dim)}; "
            "write four for each input"
        )
    return [
        pb.BlobShape(dim=net.input_dim[start : start + _DIMS_PER_INPUT]) for start in range(0, dims, _DIMS_PER_INPUT)
    ]


def _upgrade_batch_norms(net: pb.NetParameter) -> list[str]:
    """Freeze the three sums of each BatchNorm.

    Caffe's rule: they aren't learned, whatever their three `param` messages say.
    """
    changes = []
    for index, layer in enumerate(net.layer):
        if layer.type == "BatchNorm" and len(layer.param) == 3 and not all(map(_is_frozen, layer.param)):
            for param in layer.param:
                param.lr_mult = param.decay_mult = 0
            changes.append(f"{v1.layer_label(layer.name, index)}: lr_mult and decay_mult of its 3 params were set to 0")
    return changes


def _is_frozen(param: pb.ParamSpec) -> bool:
    return param.HasField("lr_mult") and param.HasField("decay_mult") and param.lr_mult == param.decay_mult == 0


_SOLVER_TYPE_NAMES = {
    pb.SolverParameter.SGD: "SGD",
    pb.SolverParameter.NESTEROV: "Nesterov",
    pb.SolverParameter.ADAGRAD: "AdaGrad",
    pb.SolverParameter.RMSPROP: "RMSProp",
    pb.SolverParameter.ADADELTA: "AdaDelta",
    pb.SolverParameter.ADAM: "Adam",
    pb.SolverParameter.SAG: "SAG",
}


def upgrade_solver(solver: pb.SolverParameter) -> Upgraded[pb.SolverParameter]:
    """Return the solver in today's form. As in Caffe, nets inside it are not upgraded."""
    upgraded = copy_of(solver)
    if not solver.HasField("solver_type"):
        return Upgraded(upgraded, ())
    old = pb.SolverParameter.SolverType.Name(solver.solver_type)
    if solver.HasField("type"):
        raise UpgradeError(f'solver: both solver_type: {old} and type: "{solver.type}" are set; remove solver_type')
    upgraded.type = _SOLVER_TYPE_NAMES[solver.solver_type]
    upgraded.ClearField("solver_type")
    return Upgraded(upgraded, (f'solver_type: {old} became type: "{upgraded.type}"',))
