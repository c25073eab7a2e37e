"""A torch module and its data as one net that a solver trains or tests with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Loading
from netdsl.data.batches.user_batches import Values
from netdsl.layers import LAYERS
from netdsl.net.build import Types, build, running
from netdsl.net.feed import Feeds
from netdsl.net.graph import connect, filtered
from netdsl.net.module import NetModule
from netdsl.solver.trainable import Positions
from netdsl.tables.table import Table


@dataclass(frozen=True)
class Compute:
    """How nets run: where, in what precision, compiled by torch or not, and how their data are loaded."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    precision: torch.dtype = torch.float32  # of what is computed; weights, gradients and history stay float32
    compiled: bool = False
    loading: Loading = field(default_factory=Loading)


class ModuleNet:
    """A `NetModule` that runs on what its data layers read, or on `values` or a table that are given instead."""

    def __init__(
        self,
        net: pb.NetParameter,
        way: Compute | None = None,
        types: Types = LAYERS,
        values: Values | Table | None = None,
    ) -> None:
        self.way = way or Compute()
        graph = connect(filtered(net, net.state))
        table, values = (values, None) if isinstance(values, Table) else (None, values)
        given = graph.blobs if values is not None else ()
        loading, device = self.way.loading, self.way.device
        self.feeds = Feeds.open(graph, types, loading=loading, user_blobs=given, table=table, device=device)
        if values is not None:
            self.feeds.give(values)
        self.module = NetModule(build(graph, types)).allocate(self.way.device)
        self.built = self.module.built
        self._compute = torch.compile(self._computed) if self.way.compiled else self._computed
        self._outputs: Mapping[str, Tensor] = {}

    def _computed(self, edges: dict[int, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss, and the outputs by name."""
        edges = self.module.run(edges)
        loss = self.module.loss(edges) if self.module.losses else torch.zeros(())
        return loss, {name: edges[edge] for name, edge in self.module.outputs.items()}

    def _run(self) -> Tensor:
        edges = self.feeds.next()
        half = torch.autocast(self.way.device.type, self.way.precision, enabled=self.way.precision != torch.float32)
        with running(self.built), half:
            loss, self._outputs = self._compute(edges)
        return loss

    def clear_gradients(self) -> None:
        """Forget the gradients of all blobs."""
        self.module.zero_grad()

    def forward(self) -> Tensor:
        """The loss of the next batch."""
        with torch.no_grad():
            return self._run()

    def forward_backward(self, share: float = 1.0) -> Tensor:
        """The loss of the next batch. Its gradients, or a share of them, are added to those that are there."""
        loss = self._run()
        (loss * share if share != 1 else loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def outputs(self) -> Mapping[str, Tensor]:
        """What the net made of the last batch."""
        return self._outputs

    def loss_weights(self) -> Mapping[str, float]:
        """What its outputs count in the loss."""
        losses, outputs = self.module.losses, self.module.outputs
        return {name: losses[edge] for name, edge in outputs.items() if edge in losses}

    def positions(self) -> Positions:
        """Where its data layers are."""
        return self.feeds.positions()

    def seek(self, positions: Positions) -> None:
        """Go on with the data from there."""
        self.feeds.seek(positions)

    @property
    def batch_size(self) -> int:
        """How many items a batch has, by its first data layer."""
        shapes = [self.built.shapes[edge] for edge in self.module.inputs.values()]
        return next((shape[0] for shape in shapes if shape), 0)

    def close(self) -> None:
        """Let go of the data."""
        self.feeds.close()
