"""The nets that a solver trains or tests: the interface that it needs, and a torch module with data that implements
it."""

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
_PATIENCE = 2000  # good steps after which the scale is doubled
Positions = Mapping[str, int]  # the number of batches that each data layer has handed out


class TrainableNet(Protocol):
    """A net with its data. Every run uses the next batch."""

    built: Built
    loss_scale: LossScale | None  # the factor of all gradients, if not `None`

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
        """Return the loss of the next batch. Its gradients are added to those of the blobs."""
        ...

    def outputs(self) -> Mapping[str, Tensor]:
        """Return the net's outputs for the last batch."""
        ...

    def loss_weights(self) -> Mapping[str, float]:
        """Return the loss weights of the outputs that are losses."""
        ...

    def positions(self) -> Positions:
        """Return the positions of the data layers."""
        ...

    def seek(self, positions: Positions) -> None:
        """Continue with the data at these positions."""
        ...


@dataclass(frozen=True)
class Compute:
    """The way to run nets: the device, the precision, whether torch compiles them, and how their data are loaded.

    In some nets Caffe overwrites blobs that it later reads in the backward pass. With `caffe_gradients`, their
    gradients are computed from the overwritten values, as in Caffe. Otherwise they are the true gradients. With
    `cuda_graph`, a GPU records a training step once and then repeats it.
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
    """A `NetModule` that runs on a batch from `next_batch`, which returns blobs by the edges of the net's inputs.

    With `feeds`, the batches come from data with a position, and closing the net closes the data. Otherwise there is no
    position, and all batches are alike.
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
        self._parameters = list(module.parameters())  # torch's `zero_grad` would go through all layers in each step
        self._forward = torch.compile(self._loss_and_outputs) if compute.compiled else self._loss_and_outputs
        self.last_outputs: Mapping[str, Tensor] = {}
        self.loss_scale = LossScale(compute.device) if compute.precision is ComputePrecision.FP16 else None

    def _loss_and_outputs(self, edges: dict[int, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of these inputs, and the outputs by name."""
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
        """Run the net on these batches inside the context, one after the other."""
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

        A loss scale multiplies the gradients.
        """
        with products_of(self.compute.precision):
            loss = self._loss_of_next_batch()
            if not loss.requires_grad:
                raise SolverError(
                    "the loss depends on nothing that learns, because its layers have no blobs or only an "
                    "lr_mult of 0; give a layer weights with an lr_mult above 0"
                )
            end = loss * share if share != 1 else loss
            (end if self.loss_scale is None else end * self.loss_scale.value).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def outputs(self) -> Mapping[str, Tensor]:
        """Return the net's outputs for the last batch."""
        return self.last_outputs

    def loss_weights(self) -> Mapping[str, float]:
        """Return the loss weights of the outputs that are losses."""
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
        """Open a model's net, in the model's state.

        The net runs on the batches of its data layers. `values` or a table can replace them, with `batch` items in a
        batch, and then determine the shapes.
        """
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
    """The factor of the loss before the backward pass, as large as float16 gradients allow.

    A step whose gradients aren't finite is skipped and halves the scale. `patience` good steps in a row double it. The
    device makes these decisions, so the program never waits for it. Scales are powers of two, so they change no digit
    of a gradient.
    """

    def __init__(self, device: torch.device | str = "cpu", patience: int = _PATIENCE) -> None:
        self._patience = patience
        self._state = torch.tensor([_FIRST_SCALE, 0.0, 0.0]).to(device, non_blocking=True)
        self.value, self._good, self._skipped = self._state.unbind()  # good steps since a change, and all skipped steps
        self._reported = 0.0

    @torch.no_grad()
    def unscale(self, gradients: Tensor) -> Tensor:
        """Restore the true size of gradients, in place. Returns whether all are finite, without waiting for a GPU."""
        norm: Tensor = torch.linalg.vector_norm(gradients.mul_(self.value.reciprocal()))
        return norm.isfinite()

    @torch.no_grad()
    def update(self, finite: Tensor) -> None:
        """Adjust the scale after a step. The step was applied only if its gradients were finite."""
        good = torch.where(finite, self._good + 1, 0.0)
        doubled = torch.where(good >= self._patience, self.value * 2, self.value)
        self.value.copy_(torch.where(finite, doubled, self.value / 2).clamp_(_SMALLEST_SCALE, _LARGEST_SCALE))
        self._good.copy_(torch.where(good >= self._patience, 0.0, good))
        self._skipped.add_(finite.logical_not())

    def report(self) -> str:
        """Return a sentence about the steps that were skipped since the last report. Returns an empty string if none
        was skipped.

        Waits for a GPU. Raises a `SolverError` if the scale has reached its minimum, since then nothing is learned.
        """
        scale, _, skipped = self.numbers()
        if scale <= _SMALLEST_SCALE:
            raise SolverError(
                "all steps are skipped, because gradients aren't finite in float16 even with the smallest loss "
                "scale; train with --precision bf16, or look for values in the data that aren't finite"
            )
        count, self._reported = int(skipped - self._reported), skipped
        steps = "1 step was" if count == 1 else f"{count} steps were"
        return f"{steps} skipped, because gradients exceeded the range of float16; the loss scale is {scale:g}" * (
            count > 0
        )

    def numbers(self) -> list[float]:
        """Return the numbers to save. Waits for a GPU."""
        numbers: list[float] = self._state.tolist()
        return numbers

    def restore(self, numbers: Sequence[float]) -> None:
        """Continue with saved numbers."""
        self._state.copy_(torch.tensor(numbers))
        self._reported = numbers[-1]
