"""A net that is ready to run: built, filled with weights, on a device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_net
from caffe_proto.upgrade import upgrade_net
from netdsl.build import Types, build
from netdsl.dsl.params import NetParams
from netdsl.graph import Phase, resolve
from netdsl.layers import LAYERS
from netdsl.module import NetModule
from netdsl.snapshot import save_net
from netdsl.weights import LoadReport, WeightCollection


class Net:
    """A net for one phase, from a description, a message or a file.

    `module` is the torch module. `forward(data=x)` runs it without gradients.
    """

    def __init__(
        self,
        net: NetParams | pb.NetParameter | str | Path,
        *,
        weights: str | Path | WeightCollection | None = None,
        phase: Phase | str = Phase.TEST,
        stages: Sequence[str] = (),
        types: Types = LAYERS,
    ) -> None:
        self.message = _message(net)
        self.phase = Phase[phase] if isinstance(phase, str) else phase
        self.module = NetModule(build(resolve(self.message, self.phase, stages=stages), types)).allocate()
        if weights is not None:
            loaded = weights if isinstance(weights, WeightCollection) else WeightCollection.load(weights)
            self.set_weights(loaded)

    def forward(self, **inputs: Any) -> dict[str, Tensor]:
        """The outputs by name, for inputs by name: tensors or arrays of any batch size."""
        device = self.device
        tensors = {name: torch.as_tensor(value, dtype=torch.float32, device=device) for name, value in inputs.items()}
        with torch.no_grad():
            found: dict[str, Tensor] = self.module(**tensors)
        return found

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        tensors = [*self.module.parameters(), *self.module.buffers()]
        return tensors[0].device if tensors else torch.device("cpu")

    def to(self, device: torch.device | str) -> Net:
        """Move the net."""
        self.module.to(device)
        return self

    def _layers(self) -> dict[str, list[Tensor]]:
        """The blobs of every layer that has any."""
        pairs = zip(self.module.built.graph.nodes, self.module.built.layers, strict=True)
        found = {node.layer.name: list(layer.blob_tensors()) for node, layer in pairs}
        return {name: tensors for name, tensors in found.items() if tensors}

    def get_weights(self) -> WeightCollection:
        """A copy of all weights, statistics included."""
        layers = self._layers()
        return WeightCollection.of(
            {name: [tensor.detach().cpu().numpy() for tensor in tensors] for name, tensors in layers.items()}
        )

    def set_weights(self, weights: WeightCollection, *, partial: bool = False) -> LoadReport:
        """Take weights by layer name; with `partial`, layers whose shapes differ are passed over."""
        own = self.get_weights()
        report = own.update_from(weights, partial=partial)
        with torch.no_grad():
            for name, tensors in self._layers().items():
                for tensor, array in zip(tensors, own[name], strict=True):
                    tensor.copy_(torch.from_numpy(array))
        return report

    def save(self, path: str | Path) -> None:
        """Write the net with its weights, as Caffe's snapshots are."""
        save_net(self.module.built, path)


def _message(net: NetParams | pb.NetParameter | str | Path) -> pb.NetParameter:
    if isinstance(net, NetParams):
        return net.message
    return upgrade_net(net if isinstance(net, pb.NetParameter) else read_net(net, lenient=True).message).message
