"""The place in the network where workers of several machines meet: the addresses and ports of the control server."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from caffe_proto.whole_numbers import whole_number
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.interfaces import as_ip, is_loopback, own_addresses, own_names
from netdsl.errors import DistributedError

LAST_PORT = 65535
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_ANY_PORT = (0,)
MASTER_ADDRESS, _MASTER_PORT = "MASTER_ADDR", "MASTER_PORT"  # set by torchrun, Kubernetes' operators and SLURM users


class Ports(NamedTuple):
    """A range of ports, of which the first free one is used."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Ports:
        """Parse a port such as `5000`, or a range such as `5000-5010`."""
        match = _RANGE.fullmatch(text)
        first, last = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        if not 1 <= first <= last <= LAST_PORT:
            raise DistributedError(
                f"--port {text}: not a port from 1 to {LAST_PORT}; give a number such as 5000, or a range such as "
                "5000-5010"
            )
        return cls(first, last)


@dataclass(frozen=True)
class NetworkPlace:
    """The place in the network at which a control server listens, and at which workers look for it.

    `hosts` are the addresses and names under which other machines may know this one, the best first. Workers use the
    first that leads to the server. Of the `ports`, the server takes the first that is free, and 0 stands for any.
    """

    hosts: tuple[str, ...]
    bound: str | None = None  # the address at which the server listens; all addresses of this machine if unset
    ports: tuple[int, ...] = _ANY_PORT
    identity: Identity | None = None  # of the server; a new one if unset

    @classmethod
    def at(cls, host: str, port: int = 0) -> NetworkPlace:
        """Return the place at one address of this machine."""
        return cls((host,), host, (port,))

    @classmethod
    def found(
        cls, environment: Mapping[str, str], address: str | None = None, ports: Ports | None = None
    ) -> NetworkPlace:
        """Return the place for workers on several machines. The user may name the address, the ports or both.

        If the user names no ports, the environment's port is used if it is free. The program that started the workers
        may listen there itself.
        """
        named = environment.get(MASTER_ADDRESS, "")
        candidates = [address or "", "" if is_loopback(named) else named, *own_names()]
        candidates += [ip for _, ip in own_addresses()]
        hosts = dict.fromkeys(host for host in candidates if host and (host == address or not is_loopback(host)))
        port = master_port(environment)
        if ports is not None:
            tried = tuple(range(ports.first, ports.last + 1))
        else:
            tried = _ANY_PORT if port is None else (port, *_ANY_PORT)
        return cls(tuple(hosts), address if address is not None and _is_own(address) else None, tried)


def master_port(environment: Mapping[str, str]) -> int | None:
    """Return the port in an environment, or `None` if there is no valid one."""
    return whole_number(environment.get(_MASTER_PORT, ""), 1, LAST_PORT)


def _is_own(host: str) -> bool:
    """Return whether a text is an IP address of this machine. A name can mean another address on other machines."""
    ip = as_ip(host)
    if ip is None:
        return False
    try:
        with socket.socket(socket.AF_INET if ip.version == 4 else socket.AF_INET6) as probe:
            probe.bind((str(ip), 0))
    except OSError:
        return False
    return True
