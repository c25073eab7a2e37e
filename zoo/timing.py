"""Timing of a net's layers, for `zoo time`."""

from __future__ import annotations

from dataclasses import dataclass

from netdsl.model.opening import open_model
from netdsl.net.graph import Phase
from netdsl.planner.timing import LayerTime, time_net
from netdsl.solver.settings import split_names
from zoo.devices import one_device
from zoo.requests.events import Listen, work
from zoo.requests.request import answers
from zoo.requests.results import KnowsData
from zoo.requests.using import TimeRequest


@dataclass(frozen=True)
class TimedNet(KnowsData):
    """The times of a net and of each layer alone, as means in milliseconds, and the device."""

    net: str
    phase: str
    device: str
    iterations: int
    forward: float
    backward: float
    flops: int
    layers: tuple[LayerTime, ...]


@answers(TimeRequest)
def time(request: TimeRequest, listen: Listen) -> TimedNet:
    """Measure the time of each layer alone, and of the whole net."""
    with work(listen, "measuring", 2 * (request.iterations + 1)) as advance:
        model = open_model(
            request.net,
            split_names(request.weights),
            dialect=request.dialect,
            shapes=request.assume,
            level=request.level,
            stages=request.stages,
        )
        device, phase = one_device(request.device, listen), Phase[request.phase]
        times = time_net(model, phase, batch=request.batch, device=device, iterations=request.iterations, done=advance)
    request.warn_of_unused(times.data, listen)
    return TimedNet(
        model.net.name,
        request.phase,
        str(device),
        len(times.passes),
        times.forward,
        times.backward,
        times.flops,
        times.layers,
        data=times.data,
    )
