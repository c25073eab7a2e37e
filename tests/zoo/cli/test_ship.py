"""`--ship`: trainings whose workers run in another folder, without the code that the command allows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.netdsl.distributed.launchers.test_rendezvous_at_port import HERE, SECRET, free_port
from tests.patience import PATIENCE
from tests.zoo.cli.test_allow_python import ALLOWED, CODE, NET, SOLVER
from tests.zoo.cli.test_plugins import PACKAGE

WAVES = "--data", "waves:200", "--max-iter", "20", "--strategy", "partial:tau=10,alpha=0.3", "--plugin", "netdsl_waves"
ROWS = "--solver", "solver.prototxt", "--data", "parquet:../rows.parquet", "--strategy", "averaging:tau=2"
ROOT = Path(__file__).parents[3]
Train = Callable[..., list[tuple[int, str]]]


@pytest.fixture
def train(tmp_path: Path) -> Train:
    """Return a function that trains with two processes in folders of their own, and returns how they ended.

    Only the folder of the first one contains the net and its modules. `library` is on Python's path there.
    """
    first, other, library = tmp_path / "first", tmp_path / "other", tmp_path / "library"
    first.mkdir(), other.mkdir(), library.mkdir(), (tmp_path / "temporary").mkdir()
    for name, text in (
        ("layers_in_this_folder.py", CODE),
        ("factor_of_layers.py", "FACTOR = 2"),
        ("net.prototxt", NET),
        ("solver.prototxt", SOLVER),
    ):
        (first / name).write_text(text)
    rows = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    pq.write_table(pa.table({"data": list(rows), "label": (rows[:, 0] > 0).astype(int)}), tmp_path / "rows.parquet")

    def run(*words: str) -> list[tuple[int, str]]:
        settings = {
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "1",
            "LOCAL_RANK": "0",
            "NETDSL_SECRET": SECRET,
            "MASTER_ADDR": HERE,
            "MASTER_PORT": str(free_port()),
            "OMP_NUM_THREADS": "1",
            "TMPDIR": str(tmp_path / "temporary"),
        }
        program = [sys.executable, "-P", "-m", "zoo", "train", *words, "--backend", "external"]
        processes = [
            subprocess.Popen(
                [*program, *(() if "--resume" in words else ("--run", "run"))],
                cwd=folder,
                env={**os.environ, **settings, "RANK": str(rank), "PYTHONPATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank, (folder, path) in enumerate(((first, f"{library}{os.pathsep}{ROOT}"), (other, str(ROOT))))
        ]
        texts = [process.communicate(timeout=3 * PATIENCE)[0] for process in processes]
        return [(process.returncode, text) for process, text in zip(processes, texts, strict=True)]

    return run


def test_a_worker_elsewhere_runs_the_code_of_the_command(train: Train, tmp_path: Path) -> None:
    (first, text), (other, said) = train(*ROWS, *ALLOWED)
    assert (first, other) == (2, 2), f"{text}\n{said}"
    assert "worker 1: layer 'times': module 'layers_in_this_folder' can't be imported" in text
    assert "or add --ship, or ship=True in a program, which sends allowed modules to the workers\n" in text
    (tmp_path / "other/factor_of_layers.py").write_text("raise AssertionError('not the code that was sent')")
    for words in (ROWS, ("--resume", "run")):
        ended = train(*words, *ALLOWED, "--ship")
        assert [code for code, _ in ended] == [0, 0], "\n".join(text for _, text in ended)
        (tmp_path / "first/run/model.caffemodel").unlink()
    assert not list((tmp_path / "temporary").iterdir())


def test_a_module_that_only_the_first_machine_has_is_named(train: Train, tmp_path: Path) -> None:
    (tmp_path / "first/factor_of_layers.py").rename(tmp_path / "library/factor_of_layers.py")
    (_, text), _ = train(*ROWS, *ALLOWED[:1], "layers_in_this_folder", "--ship")
    assert (
        "worker 1: layer 'times': module 'layers_in_this_folder' can't be imported: No module named 'factor_of" in text
    )
    assert "allow it too with `--allow-python factor_of_layers`; --ship then sends it to the workers\n" in text


def test_a_plugin_reaches_a_worker_elsewhere(train: Train, tmp_path: Path) -> None:
    for name in ("waves.prototxt", "solver.prototxt", "netdsl_waves.py"):
        shutil.copy(PACKAGE / name, tmp_path / "first")
    ended = train("--solver", "solver.prototxt", *WAVES, "--ship")
    assert [code for code, _ in ended] == [0, 0], "\n".join(text for _, text in ended)
    assert (tmp_path / "first/run/model.caffemodel").exists()
