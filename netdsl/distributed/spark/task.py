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
from netdsl.distributed.member import take_part
from netdsl.distributed.messages import Told, message_of
from netdsl.distributed.record import Record
from netdsl.distributed.spark.channel import Channel
from netdsl.distributed.spark.lively import Lively
from netdsl.distributed.spark.meeting import met
from netdsl.distributed.spark.place import Place
from netdsl.errors import PeerLostError
from netdsl.solver.solver import Action


def work(text: str, ranks: Iterable[int]) -> Iterator[int]:
    """Take part in a run, and tell the driver how that ended."""
    place, (rank,) = Place.of(text), ranks
    with _settled(place), Channel(place, rank) as channel:
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


def _take_place(place: Place, rank: int, channel: Channel) -> None:
    def wanted() -> Action:
        return Action.STOP if channel.wanted() else Action.NONE

    def tell(told: Told) -> None:
        if isinstance(told, Record):
            told = replace(told, host=socket.gethostname())
        channel.tell({"told": message_of(told)})

    with channel.signs.waiting():
        group = met(place, rank, channel.address)
    with closing(group):
        communicator = Lively(group, channel.signs)
        take_part(Path(place.run), communicator, tell, wanted)
        communicator.barrier()  # nobody leaves while others may still ask the first one for something


@contextmanager
def _settled(place: Place) -> Iterator[None]:
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
