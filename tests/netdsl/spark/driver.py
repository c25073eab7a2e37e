"""A driver in a separate process: `python driver.py RUN MASTER SETTINGS` trains, and prints the reasons for its
restarts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from caffe_proto.errors import CaffeError
from netdsl.distributed.run_log import Told
from netdsl.distributed.supervisor import train
from netdsl.solver.events import WorkersRestarted
from netdsl.spark.launcher import SparkLauncher
from netdsl.spark.session import SETTINGS, open_session

if __name__ == "__main__":
    _, run, master, settings = sys.argv
    reasons: list[str] = []
    try:
        with open_session(master, {**SETTINGS, **json.loads(settings)}) as session:

            def told(what: Told) -> None:
                if isinstance(what, WorkersRestarted):
                    reasons.append(what.reason)

            train(Path(run), SparkLauncher(session), told=told)
    except CaffeError as problem:
        sys.exit(f"refused: {problem}")
    print(json.dumps(reasons))
