"""`zoo caffe`: the `caffe` program's own commands, flags and log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caffe_proto import caffe_pb2 as pb
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.net.graph import phase_of
from netdsl.solver.events import Action
from zoo.cli import options
from zoo.cli.caffe_log import TestLog, TrainingLog, info, log_test, log_times, warn
from zoo.cli.devices import ALL, gpus_of
from zoo.cli.gflags import FlagError, parse
from zoo.cli.signals import signal_actions

if TYPE_CHECKING:
    import torch


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
    logtostderr: bool = True  # the log goes there whatever they say
    alsologtostderr: bool = True
    help: bool = False

    @property
    def stages(self) -> list[str]:
        """The stages, which commas separate."""
        return [name for name in self.stage.split(",") if name]


_HELP = """\b
Commands:
  train         Train a net.                   -solver, -snapshot or -weights
  test          What a net gives on its data.  -model -weights, -iterations
  time          Time a net, layer by layer.    -model, -iterations -phase
  device_query  What GPUs there are.           -gpu

\b
Flags, as -name value, --name value, -name=value or --name=value:
  -solver FILE           The solver's settings, which name the net.
  -model FILE            The net.
  -weights A,B           Weights, by layer names.
  -snapshot FILE         A solver state to go on from.
  -gpu 0,1               GPUs to use, or all.
  -iterations N          How many batches; 50 if not given.
  -phase PHASE           TRAIN or TEST, for time.
  -level N, -stage A,B   For the net's include rules.
  -sigint_effect WHAT    What Ctrl-C does: stop, snapshot or none.
  -sighup_effect WHAT    What a closed terminal does: snapshot, stop or none.
  -allow_python A,B      Modules whose Python layers may run; not a flag of Caffe's.
  -plugin A,B            Plug-ins to import; not a flag of Caffe's.
  -dialect NAME          The fork of Caffe that nets are for; not a flag of Caffe's.
  -help                  Show this message.
"""


@click.command(
    "caffe",
    short_help="The caffe program's own commands and flags.",
    epilog=_HELP,
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("words", metavar="COMMAND [FLAGS]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """The caffe program's commands with its flags, defaults and log, for scripts that call it and read what it
    writes.
    """
    flags, commands = parse(["--help" if word == "-h" else word for word in words], Flags)
    if flags.help:
        click.echo(ctx.get_help())
        return
    names = ", ".join(_COMMANDS)
    if len(commands) != 1:
        count = f"not {len(commands)} ({' '.join(commands)})" if commands else "and none is given"
        raise FlagError(f"caffe takes one command, {count}; the commands are {names}")
    if commands[0] not in _COMMANDS:
        raise FlagError(f"caffe has no command '{commands[0]}'; the commands are {names}")
    if flags.iterations < 1:
        raise FlagError(f"-iterations is {flags.iterations}; it must be 1 or more")
    with _allowing(flags), _in_dialect(flags.dialect):
        _COMMANDS[commands[0]](flags)


@contextmanager
def _allowing(flags: Flags) -> Iterator[None]:
    """Let the Python layers of modules run, and plug-ins be imported."""
    python, plugins = (options.modules_of(filter(None, [modules])) for modules in (flags.allow_python, flags.plugin))
    with PYTHON_LAYERS.allowing(python), PLUGINS.allowing(plugins):
        yield


def _in_dialect(name: str) -> AbstractContextManager[None]:
    """Name the dialect of the nets that are opened."""
    if not name:
        return nullcontext()
    from netdsl.open_net import in_dialect

    return in_dialect(name)


def _train(flags: Flags) -> None:
    solver_file = _needed(flags.solver, "train", "solver", "a solver's settings")
    if flags.snapshot and flags.weights:
        raise FlagError("a snapshot has its own weights; give -snapshot or -weights, not both")
    effects = _effect("sigint_effect", flags.sigint_effect), _effect("sighup_effect", flags.sighup_effect)
    from netdsl.distributed.run import Run
    from netdsl.distributed.supervisor import End
    from netdsl.solver.settings import read_settings
    from zoo.distributed_run import train_on_devices
    from zoo.training import train

    param = read_settings(solver_file)
    param.train_state.MergeFrom(pb.NetState(level=flags.level, stage=flags.stages))
    devices = _devices(flags.gpu or _gpu_of(param))
    if flags.snapshot:
        info("caffe.cpp:235", f"Resuming from {flags.snapshot}")
    if flags.snapshot or flags.weights:
        param.ClearField("weights")
    weights = [flags.weights] if flags.weights else []
    run = Run(
        param,
        folder=Path(solver_file).parent,
        weights=tuple(weights),
        snapshot=flags.snapshot or None,
        devices=tuple(devices),
    )
    log = TrainingLog(param)
    with signal_actions(*effects) as requested:
        if len(devices) > 1:
            end = train_on_devices(run, listeners=[log], requested=requested)
            log.end(stopped=end is End.STOPPED)
        else:
            log.end(stopped=train(run, listeners=[log], requested=requested, test_last=False).stopped)


def _test(flags: Flags) -> None:
    model = _needed(flags.model, "test", "model", "a net")
    weights = _needed(flags.weights, "test", "weights", "the net's weights")
    from zoo.testing import TestRequest, test

    device = _devices(flags.gpu)[0]
    request = TestRequest(
        model, (weights,), batches=flags.iterations, level=flags.level, stages=flags.stages, partial=True
    )
    result = test(request, device=device, listen=TestLog(flags.iterations))
    assert result.loss is not None  # the net's own data have batches
    log_test(result.loss, result.outputs)


def _time(flags: Flags) -> None:
    model = _needed(flags.model, "time", "model", "a net")
    phase = phase_of(flags.phase)
    from netdsl.open_net import open_net
    from netdsl.planner.timing import time_net

    net = open_net(model).net
    device = _devices(flags.gpu)[0]
    log_times(time_net(net, phase, level=flags.level, stages=flags.stages, device=device, iterations=flags.iterations))


def _device_query(flags: Flags) -> None:
    """Log the properties of GPUs: of all without -gpu, where Caffe would log nothing."""
    import torch

    info("caffe.cpp:138", f"Querying GPUs {flags.gpu}")
    every = ",".join(map(str, range(torch.cuda.device_count())))
    devices = [device for device in _devices_of(flags.gpu or every) if device.type == "cuda"]
    if not devices:
        info("caffe.cpp:138", "There are none.")
    for device in devices:
        properties = torch.cuda.get_device_properties(device)
        info("common.cpp:178", f"Device id:                     {device.index}")
        info("common.cpp:179", f"Major revision number:         {properties.major}")
        info("common.cpp:180", f"Minor revision number:         {properties.minor}")
        info("common.cpp:181", f"Name:                          {properties.name}")
        info("common.cpp:182", f"Total global memory:           {properties.total_memory}")
        info("common.cpp:199", f"Number of multiprocessors:     {properties.multi_processor_count}")


_COMMANDS = {"train": _train, "test": _test, "time": _time, "device_query": _device_query}


def _needed(value: str, name: str, flag: str, what: str) -> str:
    if not value:
        raise FlagError(f"caffe {name} needs {what}; give -{flag} FILE")
    return value


def _effect(flag: str, value: str) -> Action:
    try:
        return Action(value)
    except ValueError:
        raise FlagError(f"-{flag} is '{value}'; it can be {', '.join(action.value for action in Action)}") from None


def _gpu_of(param: pb.SolverParameter) -> str:
    """The -gpu flag by the solver's settings. Caffe's rule: without the flag they can ask for a GPU."""
    if not param.HasField("solver_mode") or param.solver_mode != pb.SolverParameter.GPU:
        return ""
    import torch

    if torch.cuda.device_count():
        return str(param.device_id)
    warn("caffe.cpp:197", "The solver asks for a GPU, but there is none; it runs on the CPU.")
    return ""


def _devices(gpus: str) -> list[torch.device]:
    """The devices to run on, which are logged."""
    devices = _devices_of(gpus)
    if devices[0].type == "cpu":
        info("caffe.cpp:197", "Use CPU.")
    else:
        info("caffe.cpp:204", f"Using GPUs {', '.join(str(device.index) for device in devices)}")
    return devices


def _devices_of(gpus: str) -> list[torch.device]:
    """The devices of the -gpu flag. Caffe's rule: `all` is the CPU where there are no GPUs."""
    import torch

    count = torch.cuda.device_count()
    if gpus == ALL and not count:
        warn("caffe.cpp:197", "-gpu all: torch sees no GPU here; it runs on the CPU.")
        gpus = ""
    try:
        return gpus_of(gpus, count) if gpus else [torch.device("cpu")]
    except click.BadParameter as problem:
        raise FlagError(f"-gpu {gpus}: {problem.message}") from None
