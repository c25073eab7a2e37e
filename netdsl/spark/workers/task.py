"""A worker's task, from its place to its end."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from caffe_proto.errors import CaffeError
from netdsl.distributed.messages import Told, message_of
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.supervision.control_client import ControlClient
from netdsl.distributed.supervision.heartbeat import Lively
from netdsl.errors import PeerLostError
from netdsl.solver.solver import Action
from netdsl.spark.workers.rendezvous import met
from netdsl.spark.workers.worker_spec import SparkWorkerSpec


def work(text: str, ranks: Iterable[int]) -> Iterator[int]:
    """Take part in a run, and tell the driver how that ended."""
    place, (rank,) = SparkWorkerSpec.of(text), ranks
    with _settled(place), ControlClient(place, rank) as channel:
        try:
            _take_place(place, rank, channel)
        except PeerLostError as problem:
            channel.tell({"lost": str(problem)})
        except CaffeError as problem:
            channel.tell({"error": str(problem)})
        except Exception as problem:
            channel.tell({"crash": f"{type(problem).__name__}: {problem}"})
            raise
        else:
            channel.tell({"done": True})
    yield rank


def _take_place(place: SparkWorkerSpec, rank: int, channel: ControlClient) -> None:
    def wanted() -> Action:
        return Action.STOP if channel.wanted() else Action.NONE

    def tell(told: Told) -> None:
        if isinstance(told, RoundRecord):
            told = replace(told, host=socket.gethostname())
        channel.tell({"told": message_of(told)})

    with channel.signs.waiting():
        group = met(place, rank, channel.address)
    with closing(group):
        communicator = Lively(group, channel.signs)
        run_worker(Path(place.run), communicator, tell, wanted)
        communicator.barrier()  # nobody leaves while others may still ask the first one for something


@contextmanager
def _settled(place: SparkWorkerSpec) -> Iterator[None]:
    """In the folder of the driver, and without torch's many objects in every garbage collection."""
    before = Path.cwd()
    os.chdir(place.folder)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.collect()  # lets go of connections that nets in circles have
        os.chdir(before)
