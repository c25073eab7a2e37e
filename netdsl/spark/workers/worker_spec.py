"""A worker's place: what a task is told when it begins."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from netdsl.spark.workers.transport import Transport


@dataclass(frozen=True)
class SparkWorkerSpec:
    """Where the others are. The number of the task's part is the worker's rank."""

    run: str  # the folder of the run
    folder: str  # from which the names of files begin
    size: int
    transport: Transport
    host: str  # of the driver
    hub: int  # the port where workers connect to the driver
    store: int  # the port where peers find each other; 0 if they don't
    token: str  # by which the driver knows its workers; each generation has its own

    def text(self) -> str:
        """For a task."""
        return json.dumps(asdict(self) | {"transport": self.transport.value})

    @classmethod
    def of(cls, text: str) -> SparkWorkerSpec:
        """The place that a task was given."""
        values = json.loads(text)
        return cls(**values | {"transport": Transport(values["transport"])})
