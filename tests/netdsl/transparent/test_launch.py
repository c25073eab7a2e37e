"""`zoo run`: scripts as local processes and under torchrun, their output and files, and the end after a lost rank."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from netdsl.mpi.installation import SETTINGS, mpiexec
from tests.patience import PATIENCE
from tests.test_house import ROOT

ZOO = [sys.executable, "-c", "from zoo.cli import main; main()"]
RANK = "from netdsl.transparent.batch_tensor import BatchTensor\nrank = BatchTensor.ranks.rank\n"
EXAMPLES = (  # with the numbers of ranks
    ("train_digits", (1, 2)),
    pytest.param("train_digits", (1, 4), marks=pytest.mark.slow),
    pytest.param("train_sequences", (1, 2, 4), marks=pytest.mark.slow),
    pytest.param("train_pycaffe", (1, 2, 4), marks=pytest.mark.slow),
)


def zoo_run(folder: Path, script: Path, *words: str, workers: int = 2) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    folder.mkdir(exist_ok=True)
    command = [*ZOO, "run", "--workers", str(workers), "--deadline", str(PATIENCE), *words, str(script)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE)


def program(folder: Path, text: str) -> Path:
    script = folder / "program.py"
    script.write_text(text)
    return script


@pytest.mark.parametrize(("example", "sizes"), EXAMPLES)
def test_an_example_prints_the_same_curve_under_several_ranks(
    example: str, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    script = ROOT / "examples" / f"{example}.py"
    alone, *together = (zoo_run(tmp_path / str(workers), script, workers=workers) for workers in sizes)
    assert alone.returncode == 0, alone.stderr
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", alone.stdout)]
    for each in together:
        assert each.returncode == 0, each.stderr
        # Five digits are printed, and the losses are equal except for the last bits of float32.
        assert [float(number) for number in re.findall(r"-?\d+\.?\d*", each.stdout)] == pytest.approx(numbers, abs=2e-5)
    files = [sorted(path.name for path in (tmp_path / str(workers)).iterdir()) for workers in sizes]
    assert all(names == files[0] for names in files)


def test_only_the_first_rank_prints_and_writes(tmp_path: Path) -> None:
    script = program(
        tmp_path,
        "import sys, os, torch\nfrom pathlib import Path\nimport helper\n"
        "Path('made').mkdir()\n"
        "with open('lines', 'w') as file: print(*sys.argv[1:], helper.NAME, file=file)\n"
        "print(Path('lines').read_text().strip(), len(sys.argv))\n"
        "torch.save(torch.ones(2), 'made/ones.pt')\nprint(torch.load('made/ones.pt').sum().item())\n"
        "print('torch._dynamo' in sys.modules)\n",  # loading it would take each rank seconds
    )
    (tmp_path / "helper.py").write_text("NAME = 'helper'")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "torch.py").write_text("raise SystemExit('the current folder is on the path')")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*ZOO, "run", "--workers", "2", "--run", "logs", str(script), "--rate", "0.1", "two words"]
    command[1:1] = ["-P"]
    done = subprocess.run(command, cwd=tmp_path / "here", env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "--rate 0.1 two words helper 4\n2.0\nFalse\n"
    assert (tmp_path / "here" / "lines").read_text() == "--rate 0.1 two words helper\n"
    assert (tmp_path / "here" / "made" / "ones.pt").exists()
    assert (tmp_path / "here" / "logs" / "logs" / "worker-1.log").read_text() == done.stdout


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("raise ValueError('no such picture')", "worker 1 crashed: ValueError: no such picture"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "worker 1 was lost: ended by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", "worker 1 gave no sign of life for 5 s"),
        pytest.param("sys.exit(3)", "worker 1 crashed: the script ended with exit code 3", marks=pytest.mark.slow),
        ("sys.exit()", "rank 1 has reached the end of the script"),
    ],
)
def test_a_lost_rank_ends_the_run_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, sentence: str
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    text = f"import os, signal, sys, torch\n{RANK}if rank == 1:\n    {what}\nBatchTensor.ranks.mean(torch.ones(1))\n"
    done = zoo_run(tmp_path, program(tmp_path, text), *(["--deadline", "5"] if "SIGSTOP" in what else []))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not [*(tmp_path / "temporary").iterdir()]


def test_an_error_in_the_script_is_shown_as_in_python(tmp_path: Path) -> None:
    done = zoo_run(tmp_path, program(tmp_path, "def find():\n    raise KeyError('here')\n\nfind()\n"))
    assert done.returncode == 2
    assert "line 2, in find\n    raise KeyError('here')\nKeyError: 'here'" in done.stderr
    assert "run_rank" not in done.stderr


def test_torchrun_starts_the_ranks(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    script = program(tmp_path, f"{RANK}import torch\nprint(BatchTensor.ranks.mean(torch.tensor(float(rank))).item())\n")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python", "--"]
    words = ["run", "--backend", "external", "--run", "logs", str(script)]
    done = subprocess.run([*torchrun, *ZOO, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0.5\n"


def test_mpiexec_starts_the_ranks(tmp_path: Path) -> None:
    script = program(tmp_path, f"{RANK}import torch\nprint(BatchTensor.ranks.mean(torch.tensor(float(rank))).item())\n")
    environment = {**SETTINGS, **os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [mpiexec(), "-n", "2", *ZOO, "run", str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0.5\n"
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_wrong_calls_are_refused(tmp_path: Path) -> None:
    script = program(tmp_path, "")
    assert "add --run FOLDER" in zoo_run(tmp_path, script, "--backend", "external").stderr
    assert "does not exist" in zoo_run(tmp_path, tmp_path / "missing.py").stderr
