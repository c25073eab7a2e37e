"""Devices by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from caffe_proto import caffe_pb2 as pb
from caffe_proto.whole_numbers import whole_number
from netdsl.missing_gpu import SOLVERS_GPU, names_gpu, sees_gpu
from netdsl.solver.events import Notice
from zoo.requests.events import Listen, ignore
from zoo.requests.request import RequestError

if TYPE_CHECKING:
    import torch

ALL = "all"
_MOST_GPUS = 1024


def one_device(name: str | None, listen: Listen) -> torch.device:
    """Return the named device. Without a name, return the first GPU of this machine, or the CPU."""
    return devices_of(name, listen=listen)[0]


def devices_of(
    name: str | None,
    mode: pb.SolverParameter.SolverMode = pb.SolverParameter.GPU,
    listen: Callable[[Notice], object] = ignore,
) -> list[torch.device]:
    """Return the named devices: cpu, cuda, cuda:1, several with commas, or `all` GPUs. Without a name, the solver's
    mode decides."""
    import torch

    count = torch.cuda.device_count()
    if name is None:
        return [torch.device("cuda" if count and mode == pb.SolverParameter.GPU else "cpu")]
    if name == ALL:
        return _every_gpu(count) if sees_gpu("--device all", _warning_to(listen)) else [torch.device("cpu")]
    return [_device(part.strip(), count) for part in name.split(",")]


def remote_devices_of(name: str) -> list[torch.device]:
    """Return the named devices of other machines, without checking that they exist: cpu, cuda, cuda:1, or several.

    Without a number, or with `all`, each worker gets its own GPU.
    """
    return [_parsed("cuda" if name == ALL else part.strip()) for part in name.split(",")]


def training_devices(
    name: str | None,
    gpus: str | None,
    param: pb.SolverParameter,
    workers: int | None = None,
    *,
    remote: bool = False,
    listen: Callable[[Notice], object] = ignore,
) -> list[torch.device]:
    """Return the devices to train on: the named devices, the solver's one device, or every GPU for several workers.

    Sends a warning if GPUs are named and there is none, or if the numbers of workers and devices differ. If
    workers run on `remote` machines, each finds its devices there, and the list is empty without a name.
    """
    import torch

    if remote:
        return _named_elsewhere(name, gpus)
    count, warn, unnamed = torch.cuda.device_count(), _warning_to(listen), name is None and gpus is None
    devices = devices_of(name, param.solver_mode, listen) if gpus is None else gpus_of(gpus, count)
    if gpus is not None:
        sees_gpu(f"--gpus {gpus}", warn)
    elif unnamed and names_gpu(param):
        sees_gpu(SOLVERS_GPU, warn)
    if (unnamed or name == "cuda") and (workers or 1) > 1 and devices[0].type == "cuda":
        devices = _every_gpu(count)[:workers]
    if workers is not None and (note := note_on_devices(devices, workers)):
        listen(Notice(note))
    return devices


def _named_elsewhere(name: str | None, gpus: str | None) -> list[torch.device]:
    if gpus is not None and gpus != ALL:
        name = ",".join(f"cuda:{number.strip()}" for number in gpus.split(","))
    name = name or gpus
    return [] if name is None else remote_devices_of(name)


def gpus_of(numbers: str, count: int) -> list[torch.device]:
    """Return the GPUs with these comma-separated numbers, or `all`. `count` is the number of available GPUs.

    Without a GPU, every number means the CPU, so that several numbers stand for as many processes there too.
    """
    import torch

    if numbers == ALL:
        return _every_gpu(count) or [torch.device("cpu")]
    devices = []
    for name in numbers.split(","):
        number = whole_number(name.strip(), 0, _MOST_GPUS - 1)
        if number is None:
            raise _wrong_numbers(f"'{name.strip()}' isn't the number of a GPU; write 0, or 0,1, or all")
        if count and number >= count:
            raise _wrong_numbers(f"there is no GPU {number}; choose from 0 to {count - 1}")
        devices.append(torch.device("cuda", number))
    if len(set(devices)) < len(devices):
        raise _wrong_numbers(f"{numbers} names a GPU twice; for workers that share GPUs, give --workers too")
    return devices if count else [torch.device("cpu") for _ in devices]


def _every_gpu(count: int) -> list[torch.device]:
    """Return the first `count` GPUs."""
    import torch

    return [torch.device("cuda", index) for index in range(count)]


def note_on_devices(devices: list[torch.device], workers: int) -> str:
    """Return a note if some workers share a GPU or a device has no worker, or else an empty string."""
    if workers < len(devices):
        return f"warning: --workers {workers} leaves {', '.join(map(str, devices[workers:]))} without a worker"
    if devices[0].type == "cuda" and workers > len(devices):
        names = ", ".join(map(str, devices))
        return f"{workers} workers share {names}; they exchange models through main memory"
    return ""


def _parsed(name: str) -> torch.device:
    import torch

    try:
        return torch.device(name)
    except RuntimeError:
        raise _wrong_device(f"'{name}' isn't a device; try cpu, cuda:0 or all") from None


def _device(name: str, count: int) -> torch.device:
    device = _parsed(name)
    if device.type == "cuda" and (device.index or 0) >= count:
        raise _wrong_device(f"there is no '{name}'; {_available(count, 'cuda:')}")
    return device


def _available(count: int, prefix: str) -> str:
    """Return advice that names the available GPUs."""
    if count:
        return f"choose from {prefix}0 to {prefix}{count - 1}"
    return "torch sees no GPU here, so use the CPU, or run `zoo doctor` for the reason"


def _warning_to(listen: Callable[[Notice], object]) -> Callable[[str], object]:
    return lambda text: listen(Notice(f"warning: {text}"))


def _wrong_numbers(problem: str) -> RequestError:
    return RequestError(problem, "gpus")


def _wrong_device(problem: str) -> RequestError:
    return RequestError(problem, "device")
