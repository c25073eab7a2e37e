"""Real signals to a command that is at work."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from caffe_proto import read
from netdsl.solver.events import read_event_log
from tests.patience import PATIENCE

SOLVER = """
base_lr: 0.01 lr_policy: "fixed" max_iter: 10000000 display: 10 random_seed: 1 snapshot_prefix: "net"
net_param {
  layer { name: "data" type: "Data" top: "data" top: "label"
    data_param { source: "digits:train" batch_size: 4 } transform_param { scale: 0.004 } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
    inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
}
"""
WRITING = """
import sys, time
from pathlib import Path
from caffe_proto.storage import atomic_path
from zoo import cli

def write(**_):
    with atomic_path("whole") as temporary:
        temporary.write_text("half")
        print("writing", flush=True)
        while True:  # a signal that comes just before a long sleep would be heard after it
            time.sleep(0.1)

cli.zoo.main = write
cli.main()
"""


@contextmanager
def training(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Start a `zoo train` that would never end, and wait for its first line."""
    (folder / "solver.prototxt").write_text(SOLVER)
    command = [sys.executable, "-c", "from zoo.cli import main; main()", "train", "--solver", "solver.prototxt"]
    with subprocess.Popen(
        [*command, "--log", "log.jsonl", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_training_is_stopped_with_a_snapshot(tmp_path: Path, number: signal.Signals) -> None:
    with training(tmp_path) as process:
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    (state,) = tmp_path.glob("*.solverstate")
    assert state.name == f"net_iter_{read(state).message.iter}.solverstate"
    assert state.with_suffix(".caffemodel").exists()


def test_a_closed_terminal_saves_and_an_interrupt_can_be_ignored(tmp_path: Path) -> None:
    with training(tmp_path, "--on-interrupt", "none") as process:
        assert process.stdout is not None
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        while "saved" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    saved = [line["iteration"] for line in read_event_log(tmp_path / "log.jsonl") if line["event"] == "snapshot"]
    assert len(saved) == 2
    assert saved[0] < saved[1]


def test_no_partial_file_is_left(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITING]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_is_stopped_at_its_very_end_shows_no_traceback() -> None:
    ending = "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGTERM)"
    command = [sys.executable, "-c", f"{ending}; from zoo.cli import main; main()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")


@pytest.mark.parametrize("module", ["zoo.cli", "zoo.cli.commands", "click"])
def test_ctrl_c_while_the_program_is_imported_leaves_no_traceback(module: str) -> None:
    program = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

from zoo.__main__ import main
sys.meta_path.insert(0, Interrupts())
sys.argv = ["zoo", "list"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_that_is_ignored_stays_ignored() -> None:
    program = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from zoo.__main__ import main
sys.argv = ["zoo", "--version"]
os.kill(os.getpid(), signal.SIGINT)
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("zoo, version ")
