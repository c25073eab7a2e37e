"""A worker's place: what it is given when it is started, and how it and the supervisor talk."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from caffe_proto.errors import CaffeError
from netdsl.errors import PeerLostError


class Exit(IntEnum):
    """How a worker ends, if not well. With anything else it has crashed."""

    FAILED = 2  # it said why, and it would happen again
    LOST = 3  # another worker was lost


@dataclass(frozen=True)
class LocalWorkerSpec:
    """Which worker this is; a new generation begins when somebody was lost."""

    rank: int
    size: int
    generation: int
    memory: int  # the descriptor of what all share
    events: int  # the descriptor of a pipe to the supervisor
    deadline: float  # seconds that a worker may be without a sign of life

    def text(self) -> str:
        """For a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> LocalWorkerSpec:
        """The place that a command line names."""
        return cls(**json.loads(text))


class Control:
    """A worker's ends of both pipes: events go out, and wishes come in by the standard input.

    Where the input ends the supervisor is gone, however that came, and the worker goes too with all it started.
    """

    def __init__(self, place: LocalWorkerSpec) -> None:
        self._events, self._telling = place.events, threading.Lock()
        os.set_inheritable(place.events, False)
        os.set_inheritable(place.memory, False)
        self._stop = threading.Event()
        threading.Thread(target=self._listen, name="control", daemon=True).start()

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send the supervisor an event, as JSON can say it."""
        line = f"{json.dumps(message)}\n".encode()
        with self._telling:
            while line:
                line = line[os.write(self._events, line) :]

    def wanted(self) -> bool:
        """Whether the worker shall stop when it has finished a round."""
        return self._stop.is_set()

    def _listen(self) -> None:
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as pipe:
            while line := pipe.readline():
                if json.loads(line).get("stop"):
                    self._stop.set()
        _vanish()


def work(place: LocalWorkerSpec, task: Callable[[Control], None]) -> int:
    """Do a worker's task, and give its exit code. What isn't an error of ours is a crash and goes its way."""
    control = Control(place)
    try:
        task(control)
    except PeerLostError as problem:
        print(problem, file=sys.stderr)  # noqa: T201 - this is the worker's log
        return Exit.LOST
    except CaffeError as problem:
        control.tell({"error": str(problem), "kind": type(problem).__name__})
        return Exit.FAILED
    return 0


def _vanish() -> None:
    """End at once, with whatever runs in this process's group if that is its own."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(Exit.LOST)
