"""What the driver has for the workers of one generation: a hub, and a store or a star."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

from torch._C._distributed_c10d import TCPStore

from netdsl.distributed.spark.cluster import Cluster
from netdsl.distributed.spark.hub import HELLO, Hub, unheard
from netdsl.distributed.spark.meeting import FOREVER
from netdsl.distributed.spark.place import Place
from netdsl.distributed.spark.transport import Transport
from netdsl.distributed.star.star import Star


@contextmanager
def serving(cluster: Cluster, run: Path, size: int, transport: Transport) -> Iterator[tuple[Hub, Place]]:
    """Be there for workers, who are told where."""
    port = cluster.port
    if transport is Transport.DRIVER:
        with closing(Star(size, FOREVER)) as star, Hub(cluster.bound, size, port, star.adopt) as hub:
            yield hub, _place(cluster, run, size, transport, hub, 0)
    else:
        with Hub(cluster.bound, size, port) as hub:
            store = _store(cluster.bound, port and port + 1)
            try:
                yield hub, _place(cluster, run, size, transport, hub, store.port)
            finally:
                del store  # it serves as long as somebody has it


def _place(cluster: Cluster, run: Path, size: int, transport: Transport, hub: Hub, store: int) -> Place:
    return Place(str(run), str(Path.cwd()), size, transport, cluster.host, hub.port, store, hub.token)


def _store(host: str, port: int) -> TCPStore:
    try:
        return TCPStore(host, port, None, True, timedelta(seconds=HELLO), wait_for_workers=False)
    except RuntimeError as problem:
        raise unheard(host, port, problem) from None
