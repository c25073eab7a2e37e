"""Scores of a net on all rows of a table: the means of its loss and its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import DataError
from netdsl.layers import LAYERS
from netdsl.net.build import Built, build, running
from netdsl.net.graph import connect, filtered
from netdsl.net.module import NetModule
from netdsl.prediction.net_inputs import NetInput, inputs_of
from netdsl.prediction.predictor import fill_weights, input_tensor
from netdsl.tables.arrow import arrow
from netdsl.tables.binding import arrays_of
from netdsl.tables.columns import RowRange
from netdsl.weights.match import Weights

Values = tuple[float, ...]


@dataclass(frozen=True)
class RowScore:
    """Sums of losses and outputs over rows; those of a batch, which are means, count as often as it has rows."""

    rows: int = 0
    loss: float = 0.0
    outputs: Mapping[str, Values] = field(default_factory=dict)

    def __add__(self, other: RowScore) -> RowScore:
        if not self.rows or not other.rows:
            return self if self.rows else other
        outputs = {name: _sum(values, other.outputs[name]) for name, values in self._means(other)}
        return RowScore(self.rows + other.rows, self.loss + other.loss, outputs)

    def _means(self, other: RowScore) -> list[tuple[str, Values]]:
        """The outputs that are means in both: one with a value for each row differs from batch to batch."""
        outputs = self.outputs.items()
        return [(name, values) for name, values in outputs if len(values) == len(other.outputs.get(name, ()))]

    def means(self) -> tuple[float, dict[str, Values]]:
        """The loss and the outputs of all rows."""
        if not self.rows:
            raise DataError("there are no rows to test on")
        return self.loss / self.rows, {
            name: tuple(value / self.rows for value in values) for name, values in self.outputs.items()
        }


def _sum(one: Values, other: Values) -> Values:
    return tuple(x + y for x, y in zip(one, other, strict=True))


def build_for_scoring(net: pb.NetParameter) -> Built:
    """The net in its own state, connected and with shapes."""
    return build(connect(filtered(net, net.state)), LAYERS)


def scoring_inputs(built: Built, columns: Mapping[str, str]) -> list[NetInput]:
    """The inputs that some layer reads."""
    read = {edge for node in built.graph.nodes for edge in node.bottoms}
    inputs = [net_input for net_input in inputs_of(built, columns) if net_input.edge in read]
    if not inputs:
        raise DataError(f"none of the blobs of net '{built.graph.net.name}' come from outside")
    return inputs


class Scorer:
    """A net with weights that runs on batches of the size that it was made for, and at last on what is left."""

    def __init__(
        self,
        net: pb.NetParameter,
        weights: Weights,
        columns: Mapping[str, str],
        device: torch.device | None = None,
    ) -> None:
        self._device = device or torch.device("cpu")
        self._built = build_for_scoring(net)
        self._module = NetModule(self._built).allocate(self._device)
        self._inputs = scoring_inputs(self._built, columns)
        fill_weights(self._built, weights)

    @property
    def batch(self) -> int:
        """How many rows the net was made for at once."""
        return self._inputs[0].batch

    def score(self, batches: Iterable[Any], part: str) -> RowScore:
        """The sums over a part of a table."""
        total, random = RowScore(), np.random.default_rng(0)
        for batch in _regrouped(batches, self.batch):
            total += self._score(batch, RowRange(part, total.rows), random)
        return total

    def _score(self, batch: Any, rows: RowRange, random: np.random.Generator) -> RowScore:
        arrays = arrays_of(batch, [net_input.blob for net_input in self._inputs], rows)
        edges = {
            net_input.edge: input_tensor(net_input, arrays, random, rows).to(self._device) for net_input in self._inputs
        }
        module, count = self._module, batch.num_rows
        with torch.no_grad(), running(self._built):
            blobs = module.run(edges)
            loss = float(module.loss(blobs)) if module.losses else 0.0
        tops = {name: blobs[edge].double().flatten() for name, edge in module.outputs.items() if edge in blobs}
        return RowScore(count, count * loss, {name: tuple((count * top).tolist()) for name, top in tops.items()})


def _regrouped(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """The same rows in batches of one size, and in the last one what is left."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= size:
            table = arrow().Table.from_batches(waiting)
            whole = table.num_rows // size * size
            for start in range(0, whole, size):
                yield _single_batch(table.slice(start, size))
            waiting = table.slice(whole).to_batches()
    if any(part.num_rows for part in waiting):
        yield _single_batch(arrow().Table.from_batches(waiting))


def _single_batch(table: Any) -> Any:
    """A table of few rows as one batch."""
    return table.combine_chunks().to_batches()[0]
