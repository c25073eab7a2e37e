"""How what workers exchange gets from one to the other, and that a run keeps to it."""

from __future__ import annotations

import json
from contextlib import suppress
from enum import Enum
from pathlib import Path

from caffe_proto.storage import atomic_path

_FILE = "spark.json"


class Transport(Enum):
    """Which way buffers go."""

    PEER = "peer"  # from task to task
    DRIVER = "driver"  # to the driver, which adds them up; tasks needn't reach each other


def remembered(run: Path) -> Transport | None:
    """The one that a run was begun with; with three workers or more another one adds up in another order."""
    with suppress(OSError, ValueError, KeyError, TypeError):  # there is none, or it can't be told any more
        return Transport(json.loads((run / _FILE).read_text())["transport"])
    return None


def remember(run: Path, transport: Transport) -> None:
    """Keep it for when the run is resumed."""
    with atomic_path(run / _FILE) as temporary:
        temporary.write_text(json.dumps({"transport": transport.value}) + "\n")
