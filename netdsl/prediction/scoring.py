"""What a net gives on all rows of a table: the means of its loss and its outputs."""

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
from netdsl.prediction.blobs import NetInput, arrays_of, inputs_of
from netdsl.prediction.predictor import filled, tensor_of
from netdsl.tables.arrow import arrow
from netdsl.tables.columns import Rows
from netdsl.weights.match import Weights

Values = tuple[float, ...]


@dataclass(frozen=True)
class RowScore:
    """Sums over rows. A batch's loss and outputs are means over its rows, so each counts as often as it has rows."""

    rows: int = 0
    loss: float = 0.0
    outputs: Mapping[str, Values] = field(default_factory=dict)

    def __add__(self, other: RowScore) -> RowScore:
        if not self.rows or not other.rows:
            return self if self.rows else other
        outputs = {name: _sum(values, other.outputs[name]) for name, values in self._alike(other)}
        return RowScore(self.rows + other.rows, self.loss + other.loss, outputs)

    def _alike(self, other: RowScore) -> list[tuple[str, Values]]:
        """Of what has a value for each row there is no mean over batches of different sizes."""
        return [(name, own) for name, own in self.outputs.items() if len(own) == len(other.outputs.get(name, ()))]

    def means(self) -> tuple[float, dict[str, Values]]:
        """The loss and the outputs of all rows."""
        if not self.rows:
            raise DataError("there are no rows to test on")
        return self.loss / self.rows, {
            name: tuple(value / self.rows for value in values) for name, values in self.outputs.items()
        }


def _sum(one: Values, other: Values) -> Values:
    return tuple(x + y for x, y in zip(one, other, strict=True))


def built_for(net: pb.NetParameter) -> Built:
    """The net in its own state."""
    return build(connect(filtered(net, net.state)), LAYERS)


def needed(built: Built, columns: Mapping[str, str]) -> list[NetInput]:
    """The inputs that some layer reads."""
    read = {edge for node in built.graph.nodes for edge in node.bottoms}
    found = [each for each in inputs_of(built, columns) if each.edge in read]
    if not found:
        raise DataError(f"none of the blobs of net '{built.graph.net.name}' come from outside")
    return found


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
        self.built = built_for(net)
        self._module = NetModule(self.built).allocate(self._device)
        self.inputs = needed(self.built, columns)
        filled(self.built, weights)

    @property
    def batch(self) -> int:
        """How many rows the net was made for at once."""
        return self.inputs[0].batch

    def of(self, batches: Iterable[Any], part: str) -> RowScore:
        """The sums of a part of a table."""
        total, random = RowScore(), np.random.default_rng(0)
        for batch in _regrouped(batches, self.batch):
            total += self._batch(batch, Rows("", part, total.rows), random)
        return total

    def _batch(self, batch: Any, rows: Rows, random: np.random.Generator) -> RowScore:
        arrays, count = arrays_of(batch, [each.blob for each in self.inputs], rows), batch.num_rows
        edges = {each.edge: tensor_of(each, arrays[each.blob.name], random).to(self._device) for each in self.inputs}
        module = self._module
        with torch.no_grad(), running(self.built):
            made = module.run(edges)
            loss = float(module.loss(made)) if module.losses else 0.0
        tops = {name: made[edge].double().flatten() for name, edge in module.outputs.items() if edge in made}
        return RowScore(count, count * loss, {name: tuple((count * top).tolist()) for name, top in tops.items()})


def _regrouped(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """The same rows in batches of one size, and in the last one what is left."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= size:
            table = arrow().Table.from_batches(waiting)
            whole = table.num_rows // size * size
            for start in range(0, whole, size):
                yield _one(table.slice(start, size))
            waiting = table.slice(whole).to_batches()
    if any(each.num_rows for each in waiting):
        yield _one(arrow().Table.from_batches(waiting))


def _one(table: Any) -> Any:
    """A table of few rows as one batch."""
    return table.combine_chunks().to_batches()[0]
