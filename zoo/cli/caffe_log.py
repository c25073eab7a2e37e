"""Caffe's log in glog's format, with the lines that scripts look for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from caffe_proto import caffe_pb2 as pb
from netdsl.solver.caffe_log import CaffeLog, creation_lines, glog_line, match_lines, output_lines
from netdsl.solver.events import BatchTested, Event, NetCreated, Output, TrainingStarted, WeightsLoaded

if TYPE_CHECKING:
    from netdsl.planner.timing import NetTime


def info(where: str, text: str) -> None:
    """Write a line; `where` is the line of Caffe's source that writes it there."""
    write("I", where, text)


def warn(where: str, text: str) -> None:
    """Write a warning; `where` is the line of Caffe's source that writes it there."""
    write("W", where, text)


def write(severity: str, where: str, text: str) -> None:
    """Write a line of a severity to standard error."""
    click.echo(glog_line(severity, where, text), err=True)


class TrainingLog(CaffeLog):
    """A listener that logs a solver's events as the caffe program does."""

    def __init__(self, param: pb.SolverParameter) -> None:
        super().__init__(param, write)

    def __call__(self, event: Event) -> None:
        """Log an event."""
        if isinstance(event, TrainingStarted):
            info("caffe.cpp:239", "Starting Optimization")
        super().__call__(event)

    def end(self, *, stopped: bool) -> None:
        """Log the end of training: how the solver ended, and then that the program is done."""
        super().end(stopped=stopped)
        info("caffe.cpp:250", "Optimization Done.")


class TestLog:
    """A listener that logs a test as the caffe program does."""

    def __init__(self, iterations: int) -> None:
        self._iterations = iterations

    def __call__(self, event: Event) -> None:
        """Log an event."""
        match event:
            case NetCreated():
                for where, line in creation_lines(event):
                    info(where, line)
                info("caffe.cpp:281", f"Running for {self._iterations} iterations.")
            case WeightsLoaded():
                for severity, line in match_lines(event.report):
                    write(severity, "net.cpp:742", line)
            case BatchTested():
                for output in event.outputs:
                    for value in output.values:
                        info("caffe.cpp:304", f"Batch {event.batch}, {output.name} = {value:g}")


def log_test(loss: float, outputs: tuple[Output, ...]) -> None:
    """Log the averages of a test."""
    info("caffe.cpp:309", f"Loss: {loss:g}")
    for line in output_lines(outputs):
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
