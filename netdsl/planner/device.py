"""Devices that train nets, which are read from small files, and clusters of equal machines with them. Doesn't need
torch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from caffe_proto.errors import FileError, name_advice
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.distributed.machines import Link, Machines, SharedMemoryLink
from netdsl.distributed.transports.links import link_over
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import PlanError

_FOLDER = Path(__file__).parent / "devices"
_LARGEST = 1 << 22  # bytes of a file
_UNSOURCED = {"name", "title", "type", "sources"}
_MAY_BE_ZERO = {"overhead"}


class NumberType(Enum):
    """The number types in which a device computes products."""

    FLOAT32 = "float32"
    TF32 = "tf32"  # float32 in memory, rounded when a product is computed
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"

    @property
    def bytes(self) -> int:
        """The bytes of one number in memory."""
        return 2 if self in (NumberType.FLOAT16, NumberType.BFLOAT16) else 4


@dataclass(frozen=True)
class Arithmetic:
    """The speed with one number type.

    `peak` is in operations per second. The others are the shares of the peak that large operations reach.
    """

    peak: float
    convolution: float
    convolution_gradient: float
    product: float  # matrix products


@dataclass(frozen=True)
class MeasuredOperation:
    """The seconds that an operation took. Its speed depends on `sizes`, whose number is the same for all operations of
    a name."""

    name: str
    sizes: tuple[float, ...]
    flops: float
    bytes: float
    seconds: float


@dataclass(frozen=True)
class Device:
    """A CPU or GPU that trains nets. Sizes are in bytes, and links in bytes per second in one direction.

    `arithmetic` contains the speed for each number type. `tile` is the number of values that its matrix units process
    at once. `bandwidth` is the memory's, and `bandwidth_share` is the share of it that long operations reach.
    `overhead` is the additional seconds of every operation. `host_link` connects the device with the memory into which
    data are loaded, if that is separate. `node_link` connects it with other devices of its machine. `sources` contains
    the source of every fact.
    """

    name: str
    title: str
    type: str  # torch's device type: cpu or cuda
    memory: int
    bandwidth: float
    bandwidth_share: float
    arithmetic: Mapping[NumberType, Arithmetic]
    tile: int
    overhead: float
    sources: Mapping[str, str]
    host_link: float | None = None
    node_link: float | None = None
    measured: tuple[MeasuredOperation, ...] = field(default=(), repr=False)


_FIELDS = {each.name for each in fields(Device)}


def device_names() -> list[str]:
    """Return the names of the devices that come with netdsl."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def read_device(name_or_path: str | Path) -> Device:
    """Read one of netdsl's devices by its name, or a device's file by its path."""
    text = str(name_or_path)
    if text in device_names():
        return _read_file(_FOLDER / f"{text}.json")
    path = Path(name_or_path)
    if path.suffix != ".json" and not path.exists():
        advice = name_advice(text, device_names())
        raise FileError(f"there is no device and no file with the name '{text}'; {advice}")
    return _read_file(path)


def device_text(device: Device) -> str:
    """Return the text of a device's file."""
    plain = {name: value for name, value in msgspec.to_builtins(device).items() if value not in (None, [], ())}
    measured = plain.pop("measured", None)
    text = json.dumps(plain, indent=2)
    if not measured:
        return f"{text}\n"
    rows = ",\n".join(f"    {json.dumps(row)}" for row in measured)  # one line for each row
    return f'{text.removesuffix("}").rstrip()},\n  "measured": [\n{rows}\n  ]\n}}\n'


def _read_file(path: Path) -> Device:
    with file_errors(path):
        data = regular_file(path).read_bytes()[: _LARGEST + 1]
    if len(data) > _LARGEST:
        raise FileError(
            f"{path}: the file is longer than 4 MB, so it can't describe a device; write one with `zoo plan "
            "--measure FILE`"
        )
    try:
        values = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise FileError(
            f"{path}: not valid JSON: {problem}; write the file again with `zoo plan --measure FILE`"
        ) from None
    if not isinstance(values, dict):
        raise FileError(
            f'{path}: not an object with fields such as "memory": 16e9; write the file again with `zoo plan '
            "--measure FILE`"
        )
    return _checked_device(values, path)


def _checked_device(values: dict[str, Any], path: Path) -> Device:
    for name in values:
        if name not in _FIELDS:
            raise FileError(f"{path}: unknown field '{name}'; {name_advice(name, sorted(_FIELDS))}")
    try:
        device = msgspec.convert(_with_whole_bytes(values), Device)
    except msgspec.ValidationError as problem:
        raise FileError(f"{path}: {_sentence_of(str(problem))}") from None
    for complaint in _complaints(device, set(values)):
        raise FileError(f"{path}: {complaint}")
    return device


def _with_whole_bytes(values: dict[str, Any]) -> dict[str, Any]:
    """Convert bytes to a whole number, even if they are written as 16e9."""
    memory = values.get("memory")
    return values | {"memory": int(memory)} if isinstance(memory, float) and memory.is_integer() else values


def _sentence_of(problem: str) -> str:
    """Return a message of msgspec's with the name of the field instead of a path such as `$.bandwidth`."""
    what, _, where = problem.partition(" - at `")
    place = where.rpartition("`$.")[2].removeprefix("$.").rstrip("`")
    return f"{place}: {what}" if place else what.replace("Object missing required field", "a field is missing:")


def _complaints(device: Device, given: set[str]) -> Iterator[str]:
    if device.type not in ("cpu", "cuda"):
        yield f"type '{device.type}' is unknown; set it to cpu or cuda"
    if not device.arithmetic:
        yield "arithmetic is empty; add a number type, such as float32"
    for name, value in _numbers_of(device):
        least = "set it to 0 or more" if name in _MAY_BE_ZERO else "set it to more than 0"
        if not math.isfinite(value) or value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
            yield f"{name} is {value:g}; {least}"
        if (
            name.rpartition(".")[2] in ("bandwidth_share", "convolution", "convolution_gradient", "product")
            and value > 1
        ):
            yield f"{name} is {value:g}; set it to the share that the device reaches, which is at most 1"
    for name in sorted(given - _UNSOURCED):
        if not device.sources.get(name):
            yield f"sources lacks '{name}'; add the source of its value"
    lengths: dict[str, int] = {}
    for operation in device.measured:
        if lengths.setdefault(operation.name, len(operation.sizes)) != len(operation.sizes):
            yield f"measured: operations '{operation.name}' have different numbers of sizes"
        if min(operation.flops, operation.bytes) < 0 or min(operation.seconds, *operation.sizes) <= 0:
            yield f"measured: an operation '{operation.name}' has a number that isn't above 0"


def _numbers_of(device: Device) -> Iterator[tuple[str, float]]:
    for each in fields(Device):
        value = getattr(device, each.name)
        if isinstance(value, int | float):
            yield each.name, value
    for number_type, arithmetic in device.arithmetic.items():
        for each in fields(Arithmetic):
            yield f"arithmetic.{number_type.value}.{each.name}", getattr(arithmetic, each.name)


@dataclass(frozen=True)
class DeviceCluster:
    """Equal machines with `devices` devices each. The last `stragglers` machines are slower.

    `bandwidth` and `latency` describe a machine's connection to a switch, in bytes per second and seconds. Devices of
    one machine exchange over its own links. `transport` is the one between machines, by default the one that a training
    on these devices chooses.
    """

    device: Device
    devices: int = 1
    machines: int = 1
    bandwidth: float = math.inf
    latency: float = 0.0
    stragglers: int = 0  # number of machines
    slowdown: float = 2.0
    jitter: float = 0.0
    transport: Transport | None = None

    def __post_init__(self) -> None:
        if self.devices < 1 or self.machines < 1:
            raise PlanError(
                f"there can't be {self.machines} machines with {self.devices} devices; give at least one of each"
            )
        if self.stragglers >= self.machines > 1:
            raise PlanError(
                f"{self.stragglers} of {self.machines} machines can't be slower than the others; lower --stragglers"
            )

    @property
    def workers(self) -> int:
        """The number of workers, one for each device."""
        return self.devices * self.machines

    def link(self, workers: int) -> Link:
        """Return the connections of this many workers, which fill one machine after the other."""
        inside = self._link_inside()
        if workers <= self.devices:
            return inside
        transport = self.transport or (Transport.GLOO if self.device.type == "cpu" else Transport.NCCL)
        return link_over(transport, self.bandwidth, self.latency, inside=inside, per_machine=self.devices)

    def _link_inside(self) -> Link:
        """Return the connection between the devices of a machine: their own links, or the memory that CPUs share."""
        device = self.device
        if device.node_link is None and device.type == "cpu":
            return SharedMemoryLink(device.bandwidth * device.bandwidth_share)
        return Link(device.node_link or device.host_link or device.bandwidth)

    def pace(self, workers: int, step: float) -> Machines:
        """Return the speed of this many workers whose iterations take `step` seconds. Slow machines are used last."""
        quick = (self.machines - self.stragglers) * self.devices if self.machines > 1 else workers
        return Machines(step, workers, max(0, workers - quick), self.slowdown, self.jitter)

    def with_bandwidth(self, factor: float) -> DeviceCluster:
        """Return the same machines on a network with `factor` times the bandwidth."""
        return replace(self, bandwidth=factor * self.bandwidth)

    def without_stragglers(self) -> DeviceCluster:
        """Return the same machines without slow ones."""
        return replace(self, stragglers=0)
