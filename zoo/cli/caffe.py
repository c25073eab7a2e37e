"""`zoo caffe`: the `caffe` program's own commands, flags and log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caffe_proto import caffe_pb2 as pb
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.missing_gpu import SOLVERS_GPU, names_gpu, sees_gpu
from netdsl.net.graph import phase_of
from netdsl.solver.caffe_log import CaffeLog, creation_lines, glog_line, match_lines, output_lines
from netdsl.solver.events import Action, BatchTested, Event, NetCreated, Output, TrainingStarted, WeightsLoaded
from zoo.cli.caffe_tools import TOOLS
from zoo.cli.gflags import FlagError, parse
from zoo.cli.output import print_text
from zoo.cli.signals import signal_actions
from zoo.devices import gpus_of
from zoo.requests.groups import ALLOW_PYTHON, modules_of
from zoo.requests.request import RequestError

if TYPE_CHECKING:
    import torch

    from netdsl.planner.timing import NetTime

_HELP = """\b
Commands:
  train         Train a net.                   -solver, -snapshot or -weights
  test          Test a net on its data.        -model -weights, -iterations
  time          Time a net, layer by layer.    -model, -iterations -phase
  device_query  Show the GPUs.                 -gpu

\b
Caffe's other programs, with their own words and flags:
  convert_imageset    -resize_height N -resize_width N -gray -shuffle -encoded ROOT/ LIST DATABASE
  compute_image_mean  DATABASE [MEAN.binaryproto]
  extract_features    WEIGHTS NET BLOB,... DATABASE,... BATCHES lmdb|leveldb [GPU [DEVICE]]

\b
Flags, as -name value, --name value, -name=value or --name=value:
  -solver FILE           Solver settings, which name the net.
  -model FILE            Net.
  -weights A,B           Weights, matched by layer name.
  -snapshot FILE         Solver state to resume from.
  -gpu 0,1               GPUs to use, or all.
  -iterations N          Number of batches; by default 50.
  -phase PHASE           Phase for time: TRAIN or TEST.
  -level N, -stage A,B   Level and stages for the net's include rules.
  -sigint_effect WHAT    Action on Ctrl-C: stop, snapshot or none.
  -sighup_effect WHAT    Action when the terminal closes: snapshot, stop or none.
  -allow_python A,B      Modules whose Python layers may run; not one of Caffe's flags.
  -plugin A,B            Plug-ins to import; not one of Caffe's flags.
  -dialect NAME          Fork of Caffe that nets are for; not one of Caffe's flags.
  -help                  Show this message.
"""


def _log_info(where: str, text: str) -> None:
    """Log a line. `where` is the line in Caffe's source that logs it."""
    _log_line("I", where, text)


def _log_line(severity: str, where: str, text: str) -> None:
    """Write a log line with a severity to standard error."""
    print_text(f"{glog_line(severity, where, text)}\n", err=True)


class _TrainingLog(CaffeLog):
    """A listener that logs a solver's events as the caffe program does."""

    def __init__(self, param: pb.SolverParameter) -> None:
        super().__init__(param, _log_line)

    def __call__(self, event: Event) -> None:
        """Log an event."""
        if isinstance(event, TrainingStarted):
            _log_info("caffe.cpp:239", "Starting Optimization")
        super().__call__(event)

    def end(self, *, stopped: bool) -> None:
        """Log the end of training: how the solver ended, and then that the program is done."""
        super().end(stopped=stopped)
        _log_info("caffe.cpp:250", "Optimization Done.")


class _TestLog:
    """A listener that logs a test as the caffe program does."""

    def __init__(self, iterations: int) -> None:
        self._iterations = iterations

    def __call__(self, event: object) -> None:
        """Log an event."""
        match event:
            case NetCreated():
                for where, line in creation_lines(event):
                    _log_info(where, line)
                _log_info("caffe.cpp:281", f"Running for {self._iterations} iterations.")
            case WeightsLoaded():
                for severity, line in match_lines(event.report):
                    _log_line(severity, "net.cpp:742", line)
            case BatchTested():
                for output in event.outputs:
                    for value in output.values:
                        _log_info("caffe.cpp:304", f"Batch {event.batch}, {output.name} = {value:g}")


def _log_test(loss: float, outputs: tuple[Output, ...]) -> None:
    """Log the averages of a test."""
    _log_info("caffe.cpp:309", f"Loss: {loss:g}")
    for line in output_lines(outputs):
        _log_info("caffe.cpp:321", line)


def _log_times(times: NetTime) -> None:
    """Log the times of every layer, and of the whole net."""
    both = [timed.forward + timed.backward for timed in times.passes]
    _log_info("caffe.cpp:365", "*** Benchmark begins ***")
    _log_info("caffe.cpp:366", f"Testing for {len(both)} iterations.")
    for index, milliseconds in enumerate(both, 1):
        _log_info("caffe.cpp:394", f"Iteration: {index} forward-backward time: {milliseconds:g} ms.")
    _log_info("caffe.cpp:397", "Average time per layer: ")
    for layer in times.layers:
        _log_info("caffe.cpp:400", f"{layer.name:>10}\tforward: {layer.forward:g} ms.")
        _log_info("caffe.cpp:403", f"{layer.name:>10}\tbackward: {layer.backward:g} ms.")
    _log_info("caffe.cpp:408", f"Average Forward pass: {times.forward:g} ms.")
    _log_info("caffe.cpp:410", f"Average Backward pass: {times.backward:g} ms.")
    _log_info("caffe.cpp:412", f"Average Forward-Backward: {times.forward + times.backward:g} ms.")
    _log_info("caffe.cpp:414", f"Total Time: {sum(both):g} ms.")
    _log_info("caffe.cpp:415", "*** Benchmark ends ***")


@dataclass(frozen=True)
class Flags:
    """The flags of the `caffe` program, with its defaults."""

    solver: str = ""
    model: str = ""
    weights: str = ""
    snapshot: str = ""
    gpu: str = ""
    iterations: int = 50
    phase: str = "TRAIN"
    level: int = 0
    stage: str = ""
    sigint_effect: str = "stop"
    sighup_effect: str = "snapshot"
    allow_python: str = ""
    plugin: str = ""
    dialect: str = ""
    logtostderr: bool = True  # accepted, but the log always goes to standard error
    alsologtostderr: bool = True
    help: bool = False

    @property
    def stages(self) -> list[str]:
        """The stages, split at the commas."""
        return [name for name in self.stage.split(",") if name]


@click.command(
    "caffe",
    short_help="Run the caffe program's own commands, with its flags.",
    epilog=_HELP,
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("words", metavar="COMMAND [FLAGS]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Run the caffe program's commands with its flags, defaults and log, for scripts that call caffe and read its
    output."""
    if words and words[0] in TOOLS:
        TOOLS[words[0]](words[1:], _log_info)
        return
    flags, commands = parse(["--help" if word == "-h" else word for word in words], Flags)
    if flags.help:
        print_text(f"{ctx.get_help()}\n")
        return
    names = ", ".join([*_COMMANDS, *TOOLS])
    if len(commands) != 1:
        count = f"not {len(commands)} ({' '.join(commands)})" if commands else "but none is given"
        raise FlagError(f"caffe needs exactly one command, {count}; give one of {names}")
    if commands[0] not in _COMMANDS:
        raise FlagError(f"caffe has no command '{commands[0]}'; give one of {names}")
    if flags.iterations < 1:
        raise FlagError(f"-iterations is {flags.iterations}; set it to 1 or more")
    with _allowing_modules(flags):
        _COMMANDS[commands[0]](flags)


@contextmanager
def _allowing_modules(flags: Flags) -> Iterator[None]:
    """Allow the Python layers of the named modules to run, and the named plug-ins to be imported."""
    try:
        python, plugins = (
            modules_of(filter(None, [modules]), "")
            for modules in (flags.allow_python or os.environ.get(ALLOW_PYTHON, ""), flags.plugin)
        )
    except RequestError as problem:
        raise FlagError(str(problem)) from None
    with PYTHON_LAYERS.allowing(python), PLUGINS.allowing(plugins):
        yield


def _caffe_train(flags: Flags) -> None:
    solver_file = _needed_file(flags.solver, "train", "solver", "a solver's settings")
    if flags.snapshot and flags.weights:
        raise FlagError("-snapshot already contains weights; give -snapshot or -weights, not both")
    effects = (
        _action_of_flag("sigint_effect", flags.sigint_effect),
        _action_of_flag("sighup_effect", flags.sighup_effect),
    )
    from netdsl.distributed.run import Run
    from netdsl.distributed.supervisor import End
    from netdsl.solver.settings import open_settings, read_settings
    from netdsl.training.job import train_alone, train_on_devices

    param = read_settings(solver_file)
    param.train_state.MergeFrom(pb.NetState(level=flags.level, stage=flags.stages))
    devices = _logged_devices(flags.gpu or _gpu_of(param))
    if flags.snapshot:
        _log_info("caffe.cpp:235", f"Resuming from {flags.snapshot}")
    if flags.snapshot or flags.weights:
        param.ClearField("weights")
    weights = [flags.weights] if flags.weights else []
    folder = Path(solver_file).parent
    run = Run(
        open_settings(param, folder, flags.dialect or None),
        folder=folder,
        weights=tuple(weights),
        snapshot=flags.snapshot or None,
        devices=tuple(devices),
    )
    log = _TrainingLog(param)
    with signal_actions(*effects) as requested:
        if len(devices) > 1:
            end = train_on_devices(run, listeners=[log], requested=requested)
            log.end(stopped=end is End.STOPPED)
        else:
            log.end(stopped=train_alone(run, listeners=[log], requested=requested, test_last=False).stopped)


def _caffe_test(flags: Flags) -> None:
    model = _needed_file(flags.model, "test", "model", "a net")
    weights = _needed_file(flags.weights, "test", "weights", "the net's weights")
    from zoo.requests.using import TestRequest
    from zoo.testing import test

    request = TestRequest(
        net=model,
        weights=(weights,),
        iterations=flags.iterations,
        device=str(_logged_devices(flags.gpu)[0]),
        level=flags.level,
        stages=tuple(flags.stages),
        dialect=flags.dialect or None,
        partial=True,
    )
    result = test.ask(request, _TestLog(flags.iterations))
    assert result.loss is not None  # a net's own data always have batches
    _log_test(result.loss, result.blobs)


def _caffe_time(flags: Flags) -> None:
    model = _needed_file(flags.model, "time", "model", "a net")
    phase = phase_of(flags.phase)
    from netdsl.model.model import open_net
    from netdsl.planner.timing import time_net

    opened = replace(open_net(model, dialect=flags.dialect or None), weights={}, level=flags.level, stages=flags.stages)
    device = _logged_devices(flags.gpu)[0]
    _log_times(time_net(opened, phase, device=device, iterations=flags.iterations))


def _caffe_device_query(flags: Flags) -> None:
    """Log the properties of GPUs. Without -gpu, log all GPUs, where Caffe would log nothing."""
    import torch

    _log_info("caffe.cpp:138", f"Querying GPUs {flags.gpu}")
    every = ",".join(map(str, range(torch.cuda.device_count())))
    devices = [device for device in _devices_of(flags.gpu or every) if device.type == "cuda"]
    if not devices:
        _log_info("caffe.cpp:138", "There are none.")
    for device in devices:
        properties = torch.cuda.get_device_properties(device)
        _log_info("common.cpp:178", f"Device id:                     {device.index}")
        _log_info("common.cpp:179", f"Major revision number:         {properties.major}")
        _log_info("common.cpp:180", f"Minor revision number:         {properties.minor}")
        _log_info("common.cpp:181", f"Name:                          {properties.name}")
        _log_info("common.cpp:182", f"Total global memory:           {properties.total_memory}")
        _log_info("common.cpp:199", f"Number of multiprocessors:     {properties.multi_processor_count}")


_COMMANDS = {"train": _caffe_train, "test": _caffe_test, "time": _caffe_time, "device_query": _caffe_device_query}


def _needed_file(value: str, name: str, flag: str, what: str) -> str:
    if not value:
        raise FlagError(f"caffe {name} needs {what}; give -{flag} FILE")
    return value


def _action_of_flag(flag: str, value: str) -> Action:
    try:
        return Action(value)
    except ValueError:
        raise FlagError(
            f"-{flag} is '{value}'; set it to one of {', '.join(action.value for action in Action)}"
        ) from None


def _gpu_of(param: pb.SolverParameter) -> str:
    """Return the value of the -gpu flag from the solver's settings. As in Caffe, they can select a GPU if there is no
    flag."""
    return str(param.device_id) if names_gpu(param) and sees_gpu(SOLVERS_GPU, _warn_of_gpu) else ""


def _logged_devices(gpus: str) -> list[torch.device]:
    """Return the devices to run on, and log them."""
    devices = _devices_of(gpus)
    if devices[0].type == "cpu":
        _log_info("caffe.cpp:197", "Use CPU.")
    else:
        _log_info("caffe.cpp:204", f"Using GPUs {', '.join(str(device.index) for device in devices)}")
    return devices


def _devices_of(gpus: str) -> list[torch.device]:
    """Return the devices of the -gpu flag."""
    import torch

    if not gpus:
        return [torch.device("cpu")]
    try:
        devices = gpus_of(gpus, torch.cuda.device_count())
    except RequestError as problem:
        raise FlagError(f"-gpu {gpus}: {problem}") from None
    sees_gpu(f"-gpu {gpus}", _warn_of_gpu)
    return devices


def _warn_of_gpu(text: str) -> None:
    _log_line("W", "caffe.cpp:197", text)
