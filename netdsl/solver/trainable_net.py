"""The nets that a solver trains or tests: what it needs of one, and a torch module with its data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from netdsl.data.batches.reading import Loading
from netdsl.data.batches.user_data import UserData
from netdsl.data.tables.table import Table
from netdsl.errors import NetError, SolverError
from netdsl.model.model import Model
from netdsl.net.build import Built, running
from netdsl.net.compute_precision import ComputePrecision, halves_of, products_of
from netdsl.net.feed import Feeds
from netdsl.net.graph import resolve_own_state
from netdsl.net.module import NetModule

_FIRST_SCALE, _LARGEST_SCALE, _SMALLEST_SCALE = 2.0**16, 2.0**24, 2.0**-16
_PATIENCE = 2000  # good steps until the scale is doubled
Positions = Mapping[str, int]  # the number of batches that each data layer has handed out


class TrainableNet(Protocol):
    """A net with its data: every run takes the next batch."""

    built: Built
    loss_scale: LossScale | None  # by which gradients are multiplied

    @property
    def batch_size(self) -> int:
        """The number of items in a batch."""
        ...

    def clear_gradients(self) -> None:
        """Clear the gradients of all blobs."""
        ...

    def forward(self) -> Tensor:
        """Return the loss of the next batch, without gradients."""
        ...

    def forward_backward(self) -> Tensor:
        """Return the loss of the next batch, whose gradients are added to those of the blobs."""
        ...

    def outputs(self) -> Mapping[str, Tensor]:
        """Return the net's outputs for the last batch."""
        ...

    def loss_weights(self) -> Mapping[str, float]:
        """Return the weights in the loss of those outputs that are losses."""
        ...

    def positions(self) -> Positions:
        """Return the positions of the data layers."""
        ...

    def seek(self, positions: Positions) -> None:
        """Continue with the data at these positions."""
        ...


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


class ModuleNet:
    """A `NetModule` that takes a batch, by the edges of its inputs, from `next_batch` whenever it runs.

    Where batches come from `feeds`, it knows its place in the data, which are closed with it; otherwise all batches
    that it may get are alike.
    """

    def __init__(
        self,
        module: NetModule,
        next_batch: Callable[[], dict[int, Tensor]],
        compute: Compute,
        feeds: Feeds | None = None,
    ) -> None:
        self.module, self.built, self.compute = module, module.built, compute
        self.next_batch, self.feeds = next_batch, feeds
        self._parameters = list(module.parameters())  # torch's `zero_grad` goes through all layers in each step
        self._forward = torch.compile(self._loss_and_outputs) if compute.compiled else self._loss_and_outputs
        self.last_outputs: Mapping[str, Tensor] = {}
        self.loss_scale = LossScale(compute.device) if compute.precision is ComputePrecision.FP16 else None

    def _loss_and_outputs(self, edges: dict[int, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, and the outputs by name, of these inputs."""
        edges = self.module.run(edges)
        loss = self.module.loss(edges) if self.module.losses else torch.zeros(())
        return loss, {name: edges[edge] for name, edge in self.module.outputs.items()}

    def _loss_of_next_batch(self) -> Tensor:
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
        """Return the loss of the next batch."""
        with torch.no_grad():
            return self._loss_of_next_batch()

    def forward_backward(self, share: float = 1.0) -> Tensor:
        """Return the loss of the next batch. Its gradients, or a share of them, are added to those of the blobs.

        With a loss scale they are multiplied by it.
        """
        with products_of(self.compute.precision):
            loss = self._loss_of_next_batch()
            if not loss.requires_grad:
                raise SolverError(
                    "the loss depends on nothing that learns: its layers have no blobs, or only an lr_mult of 0"
                )
            end = loss * share if share != 1 else loss
            (end if self.loss_scale is None else end * self.loss_scale.value).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def outputs(self) -> Mapping[str, Tensor]:
        """Return the net's outputs for the last batch."""
        return self.last_outputs

    def loss_weights(self) -> Mapping[str, float]:
        """Return the weights in the loss of those outputs that are losses."""
        losses, outputs = self.module.losses, self.module.outputs
        return {name: losses[edge] for name, edge in outputs.items() if edge in losses}

    @classmethod
    def open(
        cls,
        model: Model,
        compute: Compute | None = None,
        values: UserData | None = None,
        *,
        batch: int | None = None,
    ) -> ModuleNet:
        """Return the net of a model, in the state that it says, on the batches of its data layers, or on `values` or a
        table in their place, which say the shapes of what they bring, with as many items in a `batch`."""
        compute = compute or Compute()
        graph = resolve_own_state(model.net)
        table, values = (values, None) if isinstance(values, Table) else (None, values)
        user_blobs = graph.blobs if values is not None else ()
        loading, device = compute.loading, compute.device
        feeds = Feeds.open(graph, loading=loading, user_blobs=user_blobs, table=table, batch=batch, device=device)
        if values is not None:
            feeds.give(values, batch=batch, seed=loading.seed)
        module = NetModule(model.layers_as_read(graph), caffe_gradients=compute.caffe_gradients).allocate(device)
        return cls(module, feeds.next, compute, feeds)

    def positions(self) -> Positions:
        """Return how many batches each data layer has handed out."""
        return {} if self.feeds is None else self.feeds.positions()

    def seek(self, positions: Positions) -> None:
        """Continue with the data at these positions."""
        if self.feeds is not None:
            self.feeds.seek(positions)

    def close(self) -> None:
        """Close the data."""
        if self.feeds is not None:
            self.feeds.close()

    @property
    def batch_size(self) -> int:
        """The number of items in a batch of the first data layer."""
        shapes = [self.built.shapes[edge] for edge in self.module.inputs.values()]
        return next((shape[0] for shape in shapes if shape), 0)


class LossScale:
    """What a loss is multiplied by before the backward pass: as much as gradients in float16 bear.

    A step whose gradients aren't finite is skipped, and halves the scale; `patience` good ones in a row double it. The
    device decides all this, so the program never waits for it. Scales are powers of two, so that no digit of a gradient
    changes.
    """

    def __init__(self, device: torch.device | str = "cpu", patience: int = _PATIENCE) -> None:
        self._patience = patience
        self._state = torch.tensor([_FIRST_SCALE, 0.0, 0.0]).to(device, non_blocking=True)
        self.value, self._good, self._skipped = self._state.unbind()  # good ones since a change, and all skipped ones
        self._reported = 0.0

    @torch.no_grad()
    def unscale(self, gradients: Tensor) -> Tensor:
        """Give gradients their true size, in place; returns whether all are finite, without a wait."""
        norm: Tensor = torch.linalg.vector_norm(gradients.mul_(self.value.reciprocal()))
        return norm.isfinite()

    @torch.no_grad()
    def update(self, finite: Tensor) -> None:
        """Change the scale after a step, which was taken only if its gradients were finite."""
        good = torch.where(finite, self._good + 1, 0.0)
        doubled = torch.where(good >= self._patience, self.value * 2, self.value)
        self.value.copy_(torch.where(finite, doubled, self.value / 2).clamp_(_SMALLEST_SCALE, _LARGEST_SCALE))
        self._good.copy_(torch.where(good >= self._patience, 0.0, good))
        self._skipped.add_(finite.logical_not())

    def report(self) -> str:
        """Return a sentence about the steps that were skipped since the last report; empty if none was. This waits for
        a GPU.

        A scale that fell as far as it can is an error, since then nothing is learned.
        """
        scale, _, skipped = self.numbers()
        if scale <= _SMALLEST_SCALE:
            raise SolverError(
                "no step is taken any more: gradients aren't finite in float16, however small the loss is made; train "
                "with --precision bf16, or look for values in the data that aren't finite"
            )
        count, self._reported = int(skipped - self._reported), skipped
        steps = "1 step was" if count == 1 else f"{count} steps were"
        return f"{steps} skipped, whose gradients are more than float16 holds; the loss scale is {scale:g}" * (
            count > 0
        )

    def numbers(self) -> list[float]:
        """Return all that has to be kept. This waits for a GPU."""
        numbers: list[float] = self._state.tolist()
        return numbers

    def restore(self, numbers: Sequence[float]) -> None:
        """Go on with numbers that were kept."""
        self._state.copy_(torch.tensor(numbers))
        self._reported = numbers[-1]
