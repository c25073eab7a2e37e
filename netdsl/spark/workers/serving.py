"""What the driver has for the workers of one generation: a hub, and a store or a star."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

from torch._C._distributed_c10d import TCPStore

from netdsl.distributed.supervision.control_server import HELLO, ControlServer, unheard
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.spark.cluster import Cluster
from netdsl.spark.workers.rendezvous import FOREVER
from netdsl.spark.workers.transport import Transport
from netdsl.spark.workers.worker_spec import SparkWorkerSpec


@contextmanager
def serving(
    cluster: Cluster, run: Path, size: int, transport: Transport
) -> Iterator[tuple[ControlServer, SparkWorkerSpec]]:
    """Be there for workers, who are told where."""
    port = cluster.port
    if transport is Transport.DRIVER:
        with closing(Relay(size, FOREVER)) as star, ControlServer(cluster.bound, size, port, star.adopt) as hub:
            yield hub, _place(cluster, run, size, transport, hub, 0)
    else:
        with ControlServer(cluster.bound, size, port) as hub:
            store = _store(cluster.bound, port and port + 1)
            try:
                yield hub, _place(cluster, run, size, transport, hub, store.port)
            finally:
                del store  # it serves as long as somebody has it


def _place(
    cluster: Cluster, run: Path, size: int, transport: Transport, hub: ControlServer, store: int
) -> SparkWorkerSpec:
    return SparkWorkerSpec(str(run), str(Path.cwd()), size, transport, cluster.host, hub.port, store, hub.token)


def _store(host: str, port: int) -> TCPStore:
    try:
        return TCPStore(host, port, None, True, timedelta(seconds=HELLO), wait_for_workers=False)
    except RuntimeError as problem:
        raise unheard(host, port, problem) from None
