"""Caffe's log of a solver. It has the same words and source lines as Caffe's own, since scripts search for them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from threading import get_native_id

from caffe_proto import caffe_pb2 as pb
from netdsl.model.weights.match import LoadReport
from netdsl.solver.events import (
    BlobMagnitude,
    DebugInfo,
    Event,
    NetCreated,
    Notice,
    Output,
    SnapshotSaved,
    TestFinished,
    TestStarted,
    TrainingProgress,
    TrainingStarted,
    WeightsLoaded,
)

Write = Callable[[str, str, str], None]  # severity, the line of Caffe's source that writes it, and text


def glog_line(severity: str, where: str, text: str) -> str:
    """Return a line in the format of Google's glog."""
    return f"{severity}{datetime.now():%m%d %H:%M:%S.%f} {get_native_id():>5} {where}] {text}"


class CaffeLog:
    """A listener that logs a solver's events as Caffe does."""

    def __init__(self, param: pb.SolverParameter, write: Write) -> None:
        self._param, self._write_line = param, write
        self._displayed_iteration, self._displayed_at = 0, time.monotonic()

    def __call__(self, event: Event) -> None:
        """Log an event."""
        match event:
            case NetCreated():
                for where, line in creation_lines(event):
                    self._info(where, line)
            case WeightsLoaded():
                for path in event.paths:
                    self._info("solver.cpp:88", f"Finetuning from {path}")
                for severity, line in match_lines(event.report):
                    self._write_line(severity, "net.cpp:742", line)
            case TrainingStarted():
                self._log_start(event)
            case TrainingProgress():
                self._log_progress(event)
            case DebugInfo():
                for line in map(_magnitude, event.magnitudes):
                    self._info("net.cpp:591", line)
            case TestStarted():
                self._info("solver.cpp:347", f"Iteration {event.iteration}, Testing net (#{event.net})")
            case TestFinished():
                if event.loss is not None:
                    self._info("solver.cpp:401", f"Test loss: {event.loss:g}")
                for each in event.classes:
                    self._info("solver.cpp:540", f"class{each.label}: {each.value:g}")
                self._outputs("solver.cpp:414", "Test", event.outputs)
            case SnapshotSaved():
                kind = "HDF5" if event.model.suffix == ".h5" else "binary proto"
                self._info("solver.cpp:464", f"Snapshotting to {kind} file {event.model}")
                self._info("sgd_solver.cpp:284", f"Snapshotting solver state to {kind} file {event.state}")
            case Notice():
                self._write_line("W", "snapshot", event.text)

    def _log_start(self, event: TrainingStarted) -> None:
        """Log the start of training. Scripts measure the time from this line."""
        self._info("solver.cpp:289", f"Solving {event.net}")
        self._info("solver.cpp:290", f"Learning Rate Policy: {self._param.lr_policy}")
        self.restart_clock(event.iteration)

    def restart_clock(self, iteration: int) -> None:
        """Start to measure the pace at this iteration, where a part of the training begins."""
        self._displayed_iteration, self._displayed_at = iteration, time.monotonic()

    def end(self, *, stopped: bool) -> None:
        """Log how training ended."""
        message = "Optimization stopped early." if stopped else "Optimization Done."
        self._info("solver.cpp:311" if stopped else "solver.cpp:332", message)

    def _info(self, where: str, text: str) -> None:
        self._write_line("I", where, text)

    def _outputs(self, where: str, phase: str, outputs: tuple[Output, ...]) -> None:
        for number, line in enumerate(output_lines(outputs)):
            self._info(where, f"    {phase} net output #{number}: {line}")

    def _log_progress(self, event: TrainingProgress) -> None:
        """Log the loss, the learning rate and the outputs. Caffe's rule: after the last iteration, log only the
        loss."""
        number = event.iteration
        if number >= self._param.max_iter:
            self._info("solver.cpp:327", f"Iteration {number}, loss = {event.loss:g}")
            return
        seconds = time.monotonic() - self._displayed_at
        speed = (number - self._displayed_iteration) / (seconds or 1)
        self._displayed_iteration, self._displayed_at = number, time.monotonic()
        pace = f"({speed:g} iter/s, {seconds:g}s/{self._param.display} iters)"
        self._info("solver.cpp:239", f"Iteration {number} {pace}, loss = {event.loss:g}")
        self._outputs("solver.cpp:258", "Train", event.outputs)
        self._info("sgd_solver.cpp:112", f"Iteration {number}, lr = {event.rate:g}")


def creation_lines(event: NetCreated) -> Iterator[tuple[str, str]]:
    """Yield the lines that Caffe logs while it builds a net, each with its source line. Leaves out Caffe's split
    layers."""
    if event.test is not None:
        yield "solver.cpp:194", f"Creating test net (#{event.test}) specified by {event.source}"
    elif " file: " in event.source:
        yield "solver.cpp:119", f"Creating training net from {event.source}"
    elif event.source:
        yield "solver.cpp:115", f"Creating training net specified in {event.source}."
    values = 0
    for layer in event.layers:
        yield "layer_factory.hpp:77", f"Creating layer {layer.name}"
        yield "net.cpp:86", f"Creating Layer {layer.name}"
        for bottom in layer.bottoms:
            yield "net.cpp:408", f"{layer.name} <- {bottom}"
        for index, top in enumerate(layer.tops):
            in_place = layer.bottoms[index : index + 1] == (top,)
            yield (
                ("net.cpp:369", f"{layer.name} -> {top} (in-place)")
                if in_place
                else (
                    "net.cpp:382",
                    f"{layer.name} -> {top}",
                )
            )
        yield "net.cpp:124", f"Setting up {layer.name}"
        for shape, weight in zip(layer.shapes, layer.loss_weights, strict=True):
            yield "net.cpp:131", f"Top shape: {''.join(f'{size} ' for size in shape)}({math.prod(shape)})"
            if weight:
                yield "net.cpp:134", f"    with loss weight {weight:g}"
            values += math.prod(shape)
        yield "net.cpp:139", f"Memory required for data: {values * 4}"
    for output in event.outputs:
        yield "net.cpp:244", f"This network produces output {output}"
    yield "net.cpp:257", "Network initialization done."


def match_lines(report: LoadReport) -> Iterator[tuple[str, str]]:
    """Yield the layers of weights files that the net doesn't use, as Caffe does.

    Also yields a warning that Caffe lacks, about the net's layers without weights. Each line follows its severity.
    """
    for name in report.unused:
        yield "I", f"Ignoring source layer {name}"
    if report.missing:
        yield "W", str(report)


def output_lines(outputs: tuple[Output, ...]) -> list[str]:
    """Return a line for every value of every output, with its contribution to the loss."""
    lines = []
    for output in outputs:
        for value in output.values:
            weight = output.loss_weight
            share = f" (* {weight:g} = {weight * value:g} loss)" if weight else ""
            lines.append(f"{output.name} = {value:g}{share}")
    return lines


def _magnitude(magnitude: BlobMagnitude) -> str:
    direction, blob = "Backward" if magnitude.gradient else "Forward", "param" if magnitude.is_param else "top"
    part = "diff" if magnitude.gradient else "data"
    return f"    [{direction}] Layer {magnitude.layer}, {blob} blob {magnitude.blob} {part}: {magnitude.mean:g}"
