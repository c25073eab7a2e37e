"""Ranks of a user's mpiexec meet at the first rank's supervisor, or all learn why they can't."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from netdsl.mpi.installation import SETTINGS, mpiexec
from tests.patience import PATIENCE

PROGRAM = """
import sys
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.launcher import WorkerSpec
from netdsl.errors import DistributedError
from netdsl.mpi.launcher import gather_texts, share
from netdsl.mpi.library import world

assert gather_texts("é" * world().rank) == ["", "é", "éé"]
spec, closed = None, sys.argv[1] == "closed"
if world().rank == 0:
    server = ControlServer(NetworkPlace(("127.0.0.3", "127.0.0.2"), "127.0.0.2"), 3)
    spec = WorkerSpec("run", ".", 3, server.address(), 1.0)
    if closed:
        server.__exit__()
try:
    text = str(share(spec).control.place).partition(":")[0]
except DistributedError as problem:
    text = str(problem)
open(f"{sys.argv[2]}/{world().rank}", "w").write(text)
world().Barrier()
"""


def texts_of(folder: Path, how: str) -> list[str]:
    words = [mpiexec(), "-n", "3", sys.executable, "-c", PROGRAM, how, str(folder)]
    subprocess.run(words, env={**SETTINGS, **os.environ}, check=True, timeout=4 * PATIENCE)
    return [(folder / str(rank)).read_text() for rank in range(3)]


def test_all_ranks_use_an_address_that_answers(tmp_path: Path) -> None:
    assert texts_of(tmp_path, "open") == ["127.0.0.2"] * 3


def test_all_ranks_learn_who_cannot_reach_the_first(tmp_path: Path) -> None:
    (text,) = set(texts_of(tmp_path, "closed"))
    for rank in range(3):
        assert f"worker {rank} on " in text
    assert "can't reach the first worker: 127.0.0.3 refuses the connection (a firewall" in text
    assert text.endswith("with --address, and a port that no firewall closes with --port")
