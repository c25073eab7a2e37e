"""The score of a net on all rows of a table: the means of its loss and its outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from netdsl.data.tables.arrow import arrow
from netdsl.data.tables.columns import RowRange
from netdsl.data.tables.table import arrays_of
from netdsl.errors import DataError
from netdsl.model.model import Model
from netdsl.net.build import running
from netdsl.net.graph import Phase
from netdsl.prediction.invalid_rows import check_inputs
from netdsl.prediction.net_inputs import NetInput, inputs_of
from netdsl.prediction.predictor import input_tensor

Values = tuple[float, ...]


@dataclass(frozen=True)
class RowScore:
    """The sums of losses and outputs over rows. A mean over a batch counts once for each row."""

    rows: int = 0
    loss: float = 0.0
    outputs: Mapping[str, Values] = field(default_factory=dict)

    def __add__(self, other: RowScore) -> RowScore:
        if not self.rows or not other.rows:
            return self if self.rows else other
        outputs = {name: _sum(values, other.outputs[name]) for name, values in self._means(other)}
        return RowScore(self.rows + other.rows, self.loss + other.loss, outputs)

    def _means(self, other: RowScore) -> list[tuple[str, Values]]:
        """Return the outputs of the other score's size.

        An output with a value for each row differs in size between batches, so it has no mean.
        """
        outputs = self.outputs.items()
        return [(name, values) for name, values in outputs if len(values) == len(other.outputs.get(name, ()))]

    def means(self) -> tuple[float, dict[str, Values]]:
        """Return the mean loss and the mean outputs over all rows.

        Raises a `DataError` if there are no rows.
        """
        if not self.rows:
            raise DataError("the table has no rows to test on; name a table with rows")
        return self.loss / self.rows, {
            name: tuple(value / self.rows for value in values) for name, values in self.outputs.items()
        }


def _sum(one: Values, other: Values) -> Values:
    return tuple(x + y for x, y in zip(one, other, strict=True))


def scoring_inputs(model: Model, columns: Mapping[str, str]) -> list[NetInput]:
    """Return the inputs that the layers of a model's TEST phase read."""
    graph = model.graph(Phase.TEST)
    read = {edge for node in graph.nodes for edge in node.bottoms}
    inputs = [net_input for net_input in inputs_of(graph, columns) if net_input.edge in read]
    if not inputs:
        raise DataError(
            f"none of the blobs of net '{graph.net.name}' come from outside; begin the net with an Input layer "
            "for each column"
        )
    return inputs


class Scorer:
    """Runs a model's TEST phase on batches of the net's size, and finally on the remaining rows."""

    def __init__(self, model: Model, columns: Mapping[str, str], device: torch.device | None = None) -> None:
        self._device = device or torch.device("cpu")
        self._inputs = scoring_inputs(model, columns)
        self._module = model.module(Phase.TEST, self._device).allocate(self._device)
        self.built = self._module.built

    @property
    def batch(self) -> int:
        """The batch size that the net states."""
        return self._inputs[0].batch

    def score(self, batches: Iterable[Any], part: str) -> RowScore:
        """Return the sums over one part of a table."""
        total, random = RowScore(), np.random.default_rng(0)
        for batch in _regrouped(batches, self.batch):
            total += self._score(batch, RowRange(part, total.rows), random)
        return total

    def _score(self, batch: Any, rows: RowRange, random: np.random.Generator) -> RowScore:
        columns = [net_input.blob for net_input in self._inputs]
        arrays = arrays_of(batch, columns, rows)
        check_inputs(arrays, columns, rows)
        edges = {
            net_input.edge: input_tensor(net_input, arrays, random, rows).to(self._device, non_blocking=True)
            for net_input in self._inputs
        }
        module, count = self._module, batch.num_rows
        with torch.no_grad(), running(self.built):
            blobs = module.run(edges)
            loss = [module.loss(blobs)] if module.losses else []
        tops = {name: blobs[edge] for name, edge in module.outputs.items() if edge in blobs}
        values = _values([*loss, *tops.values()])
        names = [*(["loss"] if loss else []), *tops]
        wrong = [name for name, row in zip(names, values, strict=True) if not all(map(math.isfinite, row))]
        if wrong:
            last = rows.first + count - 1
            raise DataError(
                f"rows {rows.first} to {last} of {rows.part}: '{wrong[0]}' isn't finite for these rows; look "
                "for null, NaN or infinite values in these rows"
            )
        sums = [tuple(count * value for value in row) for row in values]
        return RowScore(count, sums.pop(0)[0] if loss else 0.0, dict(zip(tops, sums, strict=True)))


def _values(tensors: Sequence[Tensor]) -> list[list[float]]:
    """Return the values of tensors, with a single transfer from a GPU."""
    lengths = [tensor.numel() for tensor in tensors]
    values = iter(torch.cat([tensor.double().flatten() for tensor in tensors]).tolist() if tensors else [])
    return [list(islice(values, length)) for length in lengths]


def _regrouped(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield the same rows in batches of `size`. The last batch may be smaller."""
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
    """Return all rows of a table as one batch."""
    return table.combine_chunks().to_batches()[0]
