"""A plug-in for netdsl: the layer type SoftSign, the data source `waves:LENGTH`, and the strategy `partial`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec
import numpy as np
from torch import Tensor

from netdsl.data.sources.open_source import SourceKind
from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.strategies.strategy import ModelSize, StrategyTraffic, Transfer
from netdsl.distributed.worker import Worker
from netdsl.layer import HasOnnxForm, OnnxGraph
from netdsl.registry import register_layer, register_source, register_strategy


@register_layer
class SoftSign(HasOnnxForm):
    """x / (1 + |x|)."""

    in_place = True  # its top may be its bottom

    def forward(self, x: Tensor) -> Tensor:
        return x / (1 + x.abs())

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Softsign", x)


class WaveSource:
    """Sine waves with one or two periods. The label is 1 for two periods."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def fetch(self, index: int) -> int:
        return index

    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        label = fetched % 2
        random = np.random.default_rng(fetched)  # each item is the same at every read
        times = np.arange(16) / 16 * 2 * np.pi * (1 + label)
        return (np.sin(times) + 0.1 * random.normal(size=16)).astype(np.float32), np.float32(label)

    def close(self) -> None:
        pass


register_source("waves", SourceKind("waves:LENGTH", lambda spec: WaveSource(int(spec.path))))


@register_strategy
class PartialAveraging(msgspec.Struct, frozen=True, tag="partial", tag_field="name"):
    """After every `tau` iterations, each worker moves by `alpha` of its difference from the mean."""

    name: ClassVar[str] = "partial"
    synchronous: ClassVar[bool] = True  # all workers end a round together, with repeatable results
    divides_batch: ClassVar[bool] = False  # each worker reads the net's whole batch

    tau: int = 5
    alpha: float = 0.5

    def begin(self, worker: Worker) -> PartialAveragingRun:
        return PartialAveragingRun(self, worker)

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        copy, mean = Transfer(ExchangeKind.BROADCAST, model.bytes), Transfer(ExchangeKind.MEAN, model.bytes)
        return StrategyTraffic(self.tau, [copy], round=[mean])  # once at the start, and at the end of each round


class PartialAveragingRun:
    """One worker's part of the strategy."""

    def __init__(self, settings: PartialAveraging, worker: Worker) -> None:
        self._settings, self._worker = settings, worker
        worker.finish(worker.communicator.broadcast(worker.weights))  # all workers begin with the first worker's blobs
        self._mean = worker.weights.clone()

    def round(self) -> None:
        self._worker.train(self._settings.tau)
        self._mean.copy_(self._worker.mean_weights())
        self._worker.weights.lerp_(self._mean, self._settings.alpha)

    def model(self) -> Tensor:
        return self._mean  # the model for tests and snapshots must be the same for all workers

    def state(self) -> Mapping[str, Tensor]:
        return {"mean": self._mean}  # the journal stores this with the solver's state

    def finish(self) -> None:
        pass  # no exchange is under way between rounds
