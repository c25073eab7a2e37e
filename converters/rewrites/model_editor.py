"""The editor that rewrites share: it replaces and removes layers of a model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError
from netdsl.layer import Layer
from netdsl.layer.deploying import NewLayer
from netdsl.model import Model, built_of
from netdsl.net.build import Built
from netdsl.net.module import NetModule
from netdsl.weights.files import array_of, learned_layers
from netdsl.weights.match import AnyArray


@dataclass
class ModelEditor:
    """The layers of a model in double precision, with replacements for some of them."""

    model: Model
    built: Built
    replacements: dict[int, NewLayer] = field(default_factory=dict)  # by the index of the layer that it replaces
    removed: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, model: Model) -> ModelEditor:
        """An editor of a model, without changes yet."""
        if not model.weights:
            raise ConversionError(f"net '{model.net.name}' can't be rewritten without its weights")
        return cls(model, NetModule(built_of(model)).double().built)

    def shares(self, layer: Layer) -> bool:
        """Whether another layer may share this layer's parameters, which then must not change."""
        return any(spec.name for spec in layer.layer.param)

    def result(self, *, first: NewLayer | None = None, after: int = 0) -> Model:
        """The edited model; a layer `first` is inserted before the layer with the index `after`."""
        net = pb.NetParameter()
        net.CopyFrom(self.model.net)
        net.ClearField("layer")
        names = {id(layer): name for name, layer in learned_layers(self.built).items()}
        weights: dict[str, list[AnyArray]] = {}
        for index, (original, layer) in enumerate(zip(self.model.net.layer, self.built.layers, strict=True)):
            if first is not None and index == after:
                net.layer.append(first[0])
                weights[first[0].name] = _single_precision_blobs(first)
            if index in self.removed:
                continue
            message = self.replacements[index][0] if index in self.replacements else original
            net.layer.add().CopyFrom(message)
            net.layer[-1].ClearField("phase")
            if id(layer) in names:
                name = names[id(layer)]
                weights[name] = (
                    _single_precision_blobs(self.replacements[index])
                    if index in self.replacements
                    else list(self.model.weights[name])
                )
        return replace(self.model, net=net, weights=weights, file=None)


def _single_precision_blobs(replacement: NewLayer) -> list[AnyArray]:
    return [np.ascontiguousarray(array_of(blob), np.float32) for blob in replacement[1]]
