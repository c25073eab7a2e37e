"""Edits a model's net. Each edit returns another model, and weights follow the names of their layers."""

from __future__ import annotations

from dataclasses import replace

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from caffe_proto.locations import error_label
from netdsl.errors import NetError
from netdsl.layer import BringsData
from netdsl.layer.data import state_batch
from netdsl.layers import type_of
from netdsl.model.model import Model
from netdsl.net.graph import Phase, is_included, state_of


def separate_phases(model: Model) -> Model:
    """Return the model with a separate data layer for each phase in place of a shared one. The layers can then read
    different data."""
    layers = list[pb.LayerParameter]()
    for layer in model.net.layer:
        shared = _brings_data(layer) and all(_is_in_phase(model, layer, phase) for phase in Phase)
        layers += [_only_in_phase(layer, phase) for phase in Phase] if shared else [layer]
    return replace(model, net=with_layers(model.net, layers))


def with_batch(model: Model, phase: Phase, batch: int) -> Model:
    """Return the model with another batch size in the data layers of a phase.

    Raises a `NetError` if one of them doesn't state its batch size.
    """
    net = copy_of(model.net)
    for layer in net.layer:
        if _brings_data(layer) and _is_in_phase(model, layer, phase) and not state_batch(layer, batch):
            raise NetError(
                f"{error_label(layer)}: a layer of type {layer.type} doesn't state its batch size; set it in "
                "the program or the file that makes its data"
            )
    return replace(model, net=net)


def _brings_data(layer: pb.LayerParameter) -> bool:
    """Return whether a layer's tops come from outside the net."""
    kind = type_of(layer)
    return kind is not None and issubclass(kind, BringsData)


def _is_in_phase(model: Model, layer: pb.LayerParameter, phase: Phase) -> bool:
    return is_included(layer, state_of(model.net, phase, model.level, model.stages))


def _only_in_phase(layer: pb.LayerParameter, phase: Phase) -> pb.LayerParameter:
    """Return a copy of a layer for one phase only, if its other rules include it there."""
    changed, number = copy_of(layer, without=["include"]), state_of(pb.NetParameter(), phase).phase
    if layer.include:
        changed.include.extend(rule for rule in layer.include if not rule.HasField("phase") or rule.phase == number)
        for rule in changed.include:
            rule.phase = number
    else:
        changed.exclude.extend(pb.NetStateRule(phase=other) for other in (pb.TRAIN, pb.TEST) if other != number)
    return changed
