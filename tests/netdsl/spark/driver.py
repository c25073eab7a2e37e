"""A driver in a process of its own: `python driver.py RUN MASTER SETTINGS [TRANSPORT]` trains a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from netdsl.errors import CaffeError
from netdsl.spark.session import SETTINGS, open_session
from netdsl.spark.workers.train import train
from netdsl.spark.workers.transport import Transport

if __name__ == "__main__":
    _, run, master, settings, *named = sys.argv
    starts: list[str] = []
    transport = Transport(named[0]) if named else None
    try:
        with open_session(master, {**SETTINGS, **json.loads(settings)}) as session:
            train(Path(run), session, transport=transport, restarted=lambda number, why: starts.append(why))
    except CaffeError as problem:
        sys.exit(f"refused: {problem}")
    print(json.dumps(starts))
