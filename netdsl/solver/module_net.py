"""A torch module with its data, as the net that a solver trains or tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Loading
from netdsl.data.batches.user_batches import Values
from netdsl.errors import NetError, SolverError
from netdsl.net.build import build, running
from netdsl.net.compute_precision import ComputePrecision, halves_of, products_of
from netdsl.net.feed import Feeds
from netdsl.net.graph import connect, filter_layers
from netdsl.net.module import NetModule
from netdsl.solver.loss_scale import LossScale
from netdsl.solver.trainable_net import Positions
from netdsl.tables.table import Table


@dataclass(frozen=True)
class Compute:
    """How nets are run: the device, the precision, whether torch compiles them, and how their data are loaded.

    With `caffe_gradients`, nets in which Caffe writes over blobs that it reads backward get the gradients that it finds
    there, otherwise the true ones. With `cuda_graph`, a GPU records a training step once and repeats it from then on.
    """

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    precision: ComputePrecision = ComputePrecision.EXACT
    compiled: bool = False
    loading: Loading = field(default_factory=Loading)
    caffe_gradients: bool = False
    cuda_graph: bool = True

    def __post_init__(self) -> None:
        if self.compiled and self.caffe_gradients:
            raise NetError(
                "a net that torch compiles has true gradients only; leave out --compile or --caffe-gradients"
            )


class ModuleOnBatches:
    """A `NetModule` that takes a batch, by the edges of its inputs, from `next_batch` whenever it runs.

    It knows no places in the data, so all batches that it may get are alike.
    """

    def __init__(self, module: NetModule, next_batch: Callable[[], dict[int, Tensor]], compute: Compute) -> None:
        self.module, self.built, self.compute = module, module.built, compute
        self.next_batch = next_batch
        self._parameters = list(module.parameters())  # torch's `zero_grad` goes through all layers in each step
        self._forward = torch.compile(self._loss_and_outputs) if compute.compiled else self._loss_and_outputs
        self.last_outputs: Mapping[str, Tensor] = {}
        self.loss_scale = LossScale(compute.device) if compute.precision is ComputePrecision.FP16 else None

    def _loss_and_outputs(self, edges: dict[int, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss, and the outputs by name, of these inputs."""
        edges = self.module.run(edges)
        loss = self.module.loss(edges) if self.module.losses else torch.zeros(())
        return loss, {name: edges[edge] for name, edge in self.module.outputs.items()}

    def _run(self) -> Tensor:
        edges = self.next_batch()
        precision = self.compute.precision
        with running(self.built, edges, precision), halves_of(precision, self.compute.device):
            loss, self.last_outputs = self._forward(edges)
        return loss

    @contextmanager
    def running_on(self, batches: Iterable[Mapping[int, Tensor]]) -> Iterator[None]:
        """Inside, the net runs on these batches, one after the other."""
        usual, taken = self.next_batch, iter(batches)
        self.next_batch = lambda: dict(next(taken))
        try:
            yield
        finally:
            self.next_batch = usual

    def clear_gradients(self) -> None:
        """Clear the gradients of all blobs."""
        for parameter in self._parameters:
            parameter.grad = None

    def forward(self) -> Tensor:
        """The loss of the next batch."""
        with torch.no_grad():
            return self._run()

    def forward_backward(self, share: float = 1.0) -> Tensor:
        """The loss of the next batch. Its gradients, or a share of them, are added to those of the blobs.

        With a loss scale they are multiplied by it.
        """
        with products_of(self.compute.precision):
            loss = self._run()
            if not loss.requires_grad:
                raise SolverError(
                    "the loss depends on nothing that learns: its layers have no blobs, or only an lr_mult of 0"
                )
            end = loss * share if share != 1 else loss
            (end if self.loss_scale is None else end * self.loss_scale.value).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def outputs(self) -> Mapping[str, Tensor]:
        """The net's outputs for the last batch."""
        return self.last_outputs

    def loss_weights(self) -> Mapping[str, float]:
        """The weights in the loss of those outputs that are losses."""
        losses, outputs = self.module.losses, self.module.outputs
        return {name: losses[edge] for name, edge in outputs.items() if edge in losses}

    def positions(self) -> Positions:
        """How many batches each data layer has handed out."""
        return {}

    def seek(self, positions: Positions) -> None:
        """Continue with the data at these positions."""

    @property
    def batch_size(self) -> int:
        """The number of items in a batch of the first data layer."""
        shapes = [self.built.shapes[edge] for edge in self.module.inputs.values()]
        return next((shape[0] for shape in shapes if shape), 0)


class ModuleNet(ModuleOnBatches):
    """A `NetModule` that runs on the batches of its data layers, or on `values` or a table in their place."""

    def __init__(
        self,
        net: pb.NetParameter,
        compute: Compute | None = None,
        values: Values | Table | None = None,
    ) -> None:
        compute = compute or Compute()
        graph = connect(filter_layers(net, net.state))
        table, values = (values, None) if isinstance(values, Table) else (None, values)
        supplied_blobs = graph.blobs if values is not None else ()
        loading, device = compute.loading, compute.device
        self.feeds = Feeds.open(graph, loading=loading, user_blobs=supplied_blobs, table=table, device=device)
        if values is not None:
            self.feeds.give(values)
        module = NetModule(build(graph), caffe_gradients=compute.caffe_gradients).allocate(device)
        super().__init__(module, self.feeds.next, compute)

    def positions(self) -> Positions:
        """How many batches each data layer has handed out."""
        return self.feeds.positions()

    def seek(self, positions: Positions) -> None:
        """Continue with the data at these positions."""
        self.feeds.seek(positions)

    def close(self) -> None:
        """Close the data."""
        self.feeds.close()
