"""The rendezvous of workers at a port of the first worker's machine, for workers that share a secret and no folder.

Their control server's identity follows from the secret, so that the others recognize it, and it recognizes them.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

import msgspec

from netdsl.distributed.control.address import ControlAddress, NetworkPort
from netdsl.distributed.control.client import posted_at
from netdsl.distributed.control.heartbeat import START
from netdsl.distributed.control.identity import SECRET, Identity
from netdsl.distributed.control.place import LAST_PORT, MASTER_ADDRESS, NetworkPlace, Ports, master_port
from netdsl.distributed.control.protocol import Posted
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers.rendezvous import Rendezvous, first_failed, reason_of
from netdsl.errors import DistributedError
from netdsl.ranks import Ranks, job_in, started_by_torchrun

_NAP = 0.2  # seconds between two tries to reach the first worker, which may not have begun
_TELLING = 30.0  # seconds for the others to ask for the reason of the first worker's failure
_KNOWN = "_is_known_to_other_workers"  # an attribute of an error that the first worker needn't tell again


class PortRendezvous(Rendezvous):
    """The rendezvous at a port. The supervisor itself tells the others what they need to know."""

    def __init__(self, worker: Ranks, secret: str, address: str | None, ports: Ports | None) -> None:
        self._size, self._is_published = worker.size, False
        identity, port = Identity.of_secret(secret, job_in(os.environ)), _port(os.environ, ports)
        place = NetworkPlace.found(os.environ, address, Ports(port, port))
        super().__init__(replace(place, identity=identity))
        host = address or os.environ.get(MASTER_ADDRESS)
        if worker.rank and not host:
            raise DistributedError(
                f"the first worker's machine isn't known; name it with --address or {MASTER_ADDRESS}, since workers "
                f"with {SECRET} don't look for it in a folder"
            )
        self._address = ControlAddress(NetworkPort.of(identity, (host or "",), port), identity.token)

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Tell the others the reason if the context fails before the supervisor listens."""
        try:
            yield
        except Exception as problem:
            if not self._is_published and not hasattr(problem, _KNOWN):
                with suppress(DistributedError), ControlServer(self.place, self._size) as server:
                    server.post(Posted(host=socket.gethostname(), reason=reason_of(problem)))
                    server.await_told(self._size - 1, _TELLING)
            setattr(problem, _KNOWN, True)
            raise

    def publish(self, spec: WorkerSpec) -> None:
        """Do nothing else, since the supervisor tells the spec to all processes that know the secret."""
        self._is_published = True

    def await_spec(self, rank: int) -> WorkerSpec:
        """Return the spec of the supervisor, which may not listen yet."""
        until = time.monotonic() + START
        while True:
            try:
                posted, place = posted_at(self._address, rank)
            except OSError as problem:
                if time.monotonic() > until:
                    raise DistributedError(
                        f"worker {rank} on {socket.gethostname()} can't reach the first worker at "
                        f"{self._address.place} within {START:g} s: {problem}; read that worker's output, check that "
                        f"{SECRET} is the same for all workers, and name its address with --address and an open port "
                        "with --port"
                    ) from None
                time.sleep(_NAP)
                continue
            if not posted.spec:
                raise first_failed(posted.host, posted.reason)
            spec = WorkerSpec.of(posted.spec)
            return msgspec.structs.replace(spec, control=msgspec.structs.replace(spec.control, place=place))


def _port(environment: Mapping[str, str], ports: Ports | None) -> int:
    """Return the port at which workers meet. torchrun itself listens at its own port, so they use the next one."""
    if ports is not None:
        if ports.first != ports.last:
            raise DistributedError(
                f"--port {ports.first}-{ports.last}: workers with {SECRET} meet at one port; name one, such as "
                f"--port {ports.first}"
            )
        return ports.first
    port = master_port(environment)
    if port is not None and started_by_torchrun(environment):
        port += 1
    if port is None or port > LAST_PORT:
        raise DistributedError(
            f"the port at which workers with {SECRET} meet isn't known; name a free one with --port, the same for all"
        )
    return port
