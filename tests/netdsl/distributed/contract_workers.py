"""Runs of a launcher in a separate process: `contract_workers.py LAUNCHER FOLDER ...` trains them one by one."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from netdsl.allowed_modules import PYTHON_LAYERS, in_folder
from netdsl.distributed.launcher import Launcher
from netdsl.distributed.launchers.local import LocalLauncher
from netdsl.distributed.run_log import open_run_log
from netdsl.distributed.supervisor import End, train

SPARK = "local-cluster[3,1,1024]"
SMALL = {"spark.ui.enabled": "false", "spark.executor.memory": "1g", "spark.driver.memory": "1g"}


def train_with(launcher: Launcher, folder: Path) -> End:
    with open_run_log(folder) as told:
        return train(folder, launcher, told=told)


def main(launcher: str, folders: list[Path]) -> None:
    with ExitStack() as stack:
        if launcher == "spark":
            from netdsl.spark.launcher import SparkLauncher
            from netdsl.spark.session import SETTINGS, open_session

            session = stack.enter_context(open_session(SPARK, {**SETTINGS, **SMALL}))
        for folder in folders:
            if launcher == "mpi":
                from netdsl.mpi.launcher import train_as_rank

                train_as_rank(lambda ranks, folder=folder: train_with(ranks, folder))
            else:
                train_with(LocalLauncher() if launcher == "local" else SparkLauncher(session), folder)


if __name__ == "__main__":
    PYTHON_LAYERS.allow(in_folder(["seen_items"], Path(__file__).parent))
    main(sys.argv[1], [Path(name) for name in sys.argv[2:]])
