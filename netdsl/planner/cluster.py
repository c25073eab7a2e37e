"""The machines of a training, with their devices and the network between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from netdsl.distributed.machines import Link, Machines, SharedMemoryLink, TwoLevelLink
from netdsl.errors import PlanError
from netdsl.planner.device import Device


@dataclass(frozen=True)
class DeviceCluster:
    """So many equal machines with so many devices each, of which the last `stragglers` are slower.

    `bandwidth` and `latency` are those of a machine's connection to a switch, in bytes a second and seconds. Devices of
    one machine exchange over its own links.
    """

    device: Device
    devices: int = 1
    machines: int = 1
    bandwidth: float = math.inf
    latency: float = 0.0
    stragglers: int = 0  # machines
    slowdown: float = 2.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if self.devices < 1 or self.machines < 1:
            raise PlanError(f"{self.machines} machines with {self.devices} devices; there must be one of each at least")
        if self.stragglers >= self.machines > 1:
            raise PlanError(f"{self.stragglers} of {self.machines} machines can't be slower than the others")

    @property
    def workers(self) -> int:
        """The workers that there is a device for."""
        return self.devices * self.machines

    def link(self, workers: int) -> Link:
        """The connections of so many workers, which fill one machine after the other."""
        inside = self._link_inside()
        if workers <= self.devices:
            return inside
        if self.devices == 1:
            return Link(self.bandwidth, self.latency)
        return TwoLevelLink(self.bandwidth, self.latency, inside=inside, per_machine=self.devices)

    def _link_inside(self) -> Link:
        """What connects the devices of a machine: links of their own, or the memory that processors share."""
        device = self.device
        if device.node_link is None and device.type == "cpu":
            return SharedMemoryLink(device.bandwidth * device.bandwidth_share)
        return Link(device.node_link or device.host_link or device.bandwidth)

    def pace(self, workers: int, step: float) -> Machines:
        """The pace of so many workers whose iterations take `step` seconds; slow machines are used last."""
        quick = (self.machines - self.stragglers) * self.devices if self.machines > 1 else workers
        return Machines(step, workers, max(0, workers - quick), self.slowdown, self.jitter)

    def with_bandwidth(self, factor: float) -> DeviceCluster:
        """The same machines on a network that is so many times as wide."""
        return replace(self, bandwidth=factor * self.bandwidth)

    def without_stragglers(self) -> DeviceCluster:
        """The same machines, all equally fast."""
        return replace(self, stragglers=0)
