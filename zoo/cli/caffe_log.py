"""Caffe's log in glog's format, with the lines that scripts look for."""

from __future__ import annotations

import time
from datetime import datetime
from threading import get_native_id
from typing import TYPE_CHECKING

import click

from caffe_proto import caffe_pb2 as pb
from netdsl.solver.events import (
    BlobMagnitude,
    DebugInfo,
    Event,
    Notice,
    Output,
    SnapshotSaved,
    TestFinished,
    TestStarted,
    TrainingProgress,
    TrainingStarted,
    WeightsLoaded,
)
from netdsl.weights.match import LoadReport

if TYPE_CHECKING:
    from netdsl.net.timing import NetTime


def info(where: str, text: str) -> None:
    """Write a line; `where` is the line of Caffe's source that writes it there."""
    _write("I", where, text)


def warn(where: str, text: str) -> None:
    """Write a warning; `where` is the line of Caffe's source that writes it there."""
    _write("W", where, text)


def _write(severity: str, where: str, text: str) -> None:
    click.echo(f"{severity}{datetime.now():%m%d %H:%M:%S.%f} {get_native_id():>5} {where}] {text}", err=True)


class TrainingLog:
    """A listener that logs a solver's events as Caffe does."""

    def __init__(self, param: pb.SolverParameter) -> None:
        self._param = param
        self._displayed_iteration, self._displayed_at = 0, time.monotonic()

    def __call__(self, event: Event) -> None:
        """Log an event."""
        match event:
            case WeightsLoaded():
                for path in event.paths:
                    info("caffe.cpp:165", f"Finetuning from {path}")
                log_matches(event.report)
            case TrainingStarted():
                self._log_start(event)
            case TrainingProgress():
                self._log_progress(event)
            case DebugInfo():
                for line in map(_magnitude, event.magnitudes):
                    info("net.cpp:591", line)
            case TestStarted():
                info("solver.cpp:347", f"Iteration {event.iteration}, Testing net (#{event.net})")
            case TestFinished():
                if event.loss is not None:
                    info("solver.cpp:401", f"Test loss: {event.loss:g}")
                _outputs("solver.cpp:414", "Test", event.outputs)
            case SnapshotSaved():
                kind = "HDF5" if event.model.suffix == ".h5" else "binary proto"
                info("solver.cpp:464", f"Snapshotting to {kind} file {event.model}")
                info("sgd_solver.cpp:284", f"Snapshotting solver state to {kind} file {event.state}")
            case Notice():
                warn("solver", event.text)

    def _log_start(self, event: TrainingStarted) -> None:
        """Log the start of training, from which scripts measure the time."""
        info("caffe.cpp:239", "Starting Optimization")
        info("solver.cpp:289", f"Solving {event.net}")
        info("solver.cpp:290", f"Learning Rate Policy: {self._param.lr_policy}")
        self._displayed_iteration, self._displayed_at = event.iteration, time.monotonic()

    def _log_progress(self, event: TrainingProgress) -> None:
        """Log the loss, the rate and the outputs. Caffe's rule: after the last iteration only the loss."""
        number = event.iteration
        if number >= self._param.max_iter:
            info("solver.cpp:327", f"Iteration {number}, loss = {event.loss:g}")
            return
        seconds = time.monotonic() - self._displayed_at
        speed = (number - self._displayed_iteration) / (seconds or 1)
        self._displayed_iteration, self._displayed_at = number, time.monotonic()
        pace = f"({speed:g} iter/s, {seconds:g}s/{self._param.display} iters)"
        info("solver.cpp:239", f"Iteration {number} {pace}, loss = {event.loss:g}")
        _outputs("solver.cpp:258", "Train", event.outputs)
        info("sgd_solver.cpp:112", f"Iteration {number}, lr = {event.rate:g}")

    def end(self, *, stopped: bool) -> None:
        """Log the end of training: how the solver ended, and then that the program is done."""
        message = "Optimization stopped early." if stopped else "Optimization Done."
        info("solver.cpp:311" if stopped else "solver.cpp:332", message)
        info("caffe.cpp:250", "Optimization Done.")


def _magnitude(magnitude: BlobMagnitude) -> str:
    direction, blob = "Backward" if magnitude.gradient else "Forward", "param" if magnitude.is_param else "top"
    part = "diff" if magnitude.gradient else "data"
    return f"    [{direction}] Layer {magnitude.layer}, {blob} blob {magnitude.blob} {part}: {magnitude.mean:g}"


def log_matches(report: LoadReport) -> None:
    """Log the layers of a file that the net doesn't have, and what Caffe doesn't say: those that got no weights."""
    for name in report.unused:
        info("net.cpp:742", f"Ignoring source layer {name}")
    if report.missing:
        warn("net.cpp:742", str(report))


def log_test(loss: float, outputs: tuple[Output, ...]) -> None:
    """Log the averages of a test."""
    info("caffe.cpp:309", f"Loss: {loss:g}")
    for line in _values(outputs):
        info("caffe.cpp:321", line)


def log_times(times: NetTime) -> None:
    """Log the times of every layer, and of the whole net."""
    both = [timed.forward + timed.backward for timed in times.passes]
    info("caffe.cpp:365", "*** Benchmark begins ***")
    info("caffe.cpp:366", f"Testing for {len(both)} iterations.")
    for index, milliseconds in enumerate(both, 1):
        info("caffe.cpp:394", f"Iteration: {index} forward-backward time: {milliseconds:g} ms.")
    info("caffe.cpp:397", "Average time per layer: ")
    for layer in times.layers:
        info("caffe.cpp:400", f"{layer.name:>10}\tforward: {layer.forward:g} ms.")
        info("caffe.cpp:403", f"{layer.name:>10}\tbackward: {layer.backward:g} ms.")
    info("caffe.cpp:408", f"Average Forward pass: {times.forward:g} ms.")
    info("caffe.cpp:410", f"Average Backward pass: {times.backward:g} ms.")
    info("caffe.cpp:412", f"Average Forward-Backward: {times.forward + times.backward:g} ms.")
    info("caffe.cpp:414", f"Total Time: {sum(both):g} ms.")
    info("caffe.cpp:415", "*** Benchmark ends ***")


def _outputs(where: str, phase: str, outputs: tuple[Output, ...]) -> None:
    for number, line in enumerate(_values(outputs)):
        info(where, f"    {phase} net output #{number}: {line}")


def _values(outputs: tuple[Output, ...]) -> list[str]:
    """A line for every value of every output, with its share of the loss."""
    lines = []
    for output in outputs:
        for value in output.values:
            weight = output.loss_weight
            share = f" (* {weight:g} = {weight * value:g} loss)" if weight else ""
            lines.append(f"{output.name} = {value:g}{share}")
    return lines
