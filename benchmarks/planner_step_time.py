"""Compares the planner's predicted seconds of a training step on this machine with measured ones, net by net.

The machine is measured first, on nets of other shapes. Every net then trains for some steps, and the shortest time
counts. It is measured by the clock, and as the processor time of the training thread, which is reliable even if other
users load the machine. The table also shows the machine's load.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl import RDDLayer
from netdsl.layer import BringsData, Layer
from netdsl.layers import LAYERS
from netdsl.net.graph import Phase, filter_layers, state_of
from netdsl.planner.device import Device, device_text, read_device
from netdsl.planner.layer_costs import layer_costs
from netdsl.planner.measuring import TrainingStep, measure_device
from netdsl.planner.step_time import step_time, update_operation
from zoo import catalogue

BATCHES = {
    "lenet": (64, 256),
    "alexnet": (4, 8, 16),
    "googlenet": (4, 8, 16),
    "resnet-50": (4, 8, 16),
    "vgg-16": (4, 8, 16),
}
IMAGES = {"lenet": (1, 28, 28), "alexnet": (3, 227, 227)}  # the others use 3 x 224 x 224


def net_to_train(name: str, batch: int) -> pb.NetParameter:
    """Return a net of the catalogue in the TRAIN phase whose data come from outside, in batches of this size."""
    message = catalogue.entry_of(name).train_val.message
    net = filter_layers(message, state_of(message, Phase.TRAIN))
    kept = [layer for layer in net.layer if not issubclass(LAYERS.get(layer.type, Layer), BringsData)]
    image = IMAGES.get(name, (3, 224, 224))
    net.ClearField("layer")
    net.layer.extend([RDDLayer("data", shape=[batch, *image]), RDDLayer("label", shape=[batch]), *kept])
    return net


def compare(name: str, batch: int, device: Device, steps: int) -> tuple[float, float, float]:
    """Return the predicted seconds of a step, the shortest by the clock, and the shortest in processor time."""
    param = catalogue.entry_of(name).solver
    training = TrainingStep(net_to_train(name, batch), param)
    built = training.module.built
    predicted = step_time(layer_costs(built), update_operation(built, param), device).seconds
    training.run()
    clock, processor = zip(*(seconds(training) for _ in range(steps)), strict=True)
    return predicted, min(clock), min(processor)


def seconds(training: TrainingStep) -> tuple[float, float]:
    """Return the seconds of a step by the clock and in processor time."""
    start, used = time.perf_counter(), time.thread_time()
    training.run()
    return time.perf_counter() - start, time.thread_time() - used


def rows(device: Device, nets: list[str], steps: int) -> Iterator[str]:
    """Yield the lines of the table."""
    for name in nets:
        for batch in BATCHES[name]:
            predicted, clock, processor = compare(name, batch, device, steps if batch < 64 else 10 * steps)
            figures = f"{predicted:>14.3f}{clock:>10.3f}{predicted / clock - 1:>+9.0%}"
            yield f"{name:<12}{batch:>6}{figures}{processor:>12.3f}{predicted / processor - 1:>+9.0%}{load():>8.1f}"


def load() -> float:
    """Return the mean number of processes that needed a processor in the last minute."""
    return os.getloadavg()[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--device", help="file of a device, instead of measuring this machine")
    parser.add_argument("--save", type=Path, help="file for the measurements of this machine")
    parser.add_argument("nets", nargs="*", default=list(BATCHES))
    arguments = parser.parse_args()
    before = time.perf_counter()
    device = read_device(arguments.device) if arguments.device else measure_device()
    print(f"{device.title}: measured in {time.perf_counter() - before:.0f} s, load {load():.1f}")
    if arguments.save:
        arguments.save.write_text(device_text(device))
    columns = f"{'predicted, s':>14}{'clock, s':>10}{'error':>9}{'processor, s':>12}{'error':>9}{'load':>8}"
    print(f"{'net':<12}{'batch':>6}{columns}")
    for row in rows(device, arguments.nets, arguments.steps):
        print(row, flush=True)


if __name__ == "__main__":
    main()
