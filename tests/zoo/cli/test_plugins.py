"""The complete package in `examples/plugin`, installed and allowed by name, with commands and workers of all kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caffe_proto import CaffeFile, from_text, register_dialect, write
from caffe_proto import caffe_pb2 as pb
from netdsl.plugins import GROUP
from tests.registered import forget_dialects, installed_as_package
from zoo.cli import grouped

PACKAGE = Path(__file__).parents[3] / "examples/plugin"
ALLOWED = "--plugin", "netdsl_waves"
TRAIN = "train", "--solver", "solver.prototxt", "--data", "waves:200", "--max-iter", "20", "--run", "run"
TWO = "--workers", "2", "--strategy", "partial:tau=10,alpha=0.3"

WAYS = """
from pathlib import Path
from netdsl.distributed.launchers.local import LocalLauncher
from netdsl.distributed.transports.connect import connect
from netdsl.distributed.transports.transport import Transport
from netdsl.registry import register_launcher, register_transport

@register_launcher
class AtHome(LocalLauncher):
    name = "at-home"

@register_transport("twin")
def connect_twin(control, rank, size, device):
    Path("twins").write_text(str(size))
    return connect(Transport.GLOO, control, rank, size, device)
"""

FILES = """
from pathlib import Path
from netdsl import LinearLayer, NetParams, RDDLayer
from netdsl.model import open_model
from netdsl.registry import register_dialect, register_format, register_model

@register_format(".sizes")
def read_sizes(path):
    inputs, outputs = map(int, path.read_text().split())
    layers = RDDLayer("x", shape=[1, inputs]), LinearLayer("y", ["x"], num_outputs=outputs)
    return open_model(NetParams("of sizes", *layers))

@register_model("our-net")
def our_net():
    return Path(__file__).parent / "ours"

register_dialect(Path(__file__).with_name("our-fork.toml"))
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run `zoo` in a separate process, since a plug-in stays where it was imported."""
    for name in ("waves.prototxt", "solver.prototxt"):
        shutil.copy(PACKAGE / name, tmp_path)

    def run(*words: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-P", "-c", "from zoo.cli import main; main()", *words]
        inherited = {name: value for name, value in os.environ.items() if name != "NETDSL_PLUGINS"}
        done = subprocess.run(program, cwd=tmp_path, env=inherited | environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert not code or done.stderr.startswith(("zoo: ", "Usage: "))
        return done

    return run


@pytest.fixture
def in_folder(tmp_path: Path) -> None:
    """Put the module in the current folder, where it must be allowed."""
    shutil.copy(PACKAGE / "netdsl_waves.py", tmp_path)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the package where Python finds packages."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    ((_, module),) = project["entry-points"][GROUP].items()
    installed_as_package(tmp_path / "site", module, f"{project['name']} {project['version']}")
    shutil.copy(PACKAGE / f"{module}.py", tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)


def export_and_check(command: Command, folder: Path) -> None:
    """Export the trained net with a proof, and check it."""
    net = ("waves.prototxt",)
    weights = "--weights", "run/model.caffemodel"
    assert "as onnx: outputs differ by" in command("export", *net, *weights, "--to", "onnx", "-o", "waves.onnx").stdout
    command("export", *net, *weights, "--to", "caffe", "-o", "caffe")
    assert 'type: "SoftSign"' in (folder / "caffe/deploy.prototxt").read_text()
    assert command("check", "--run", *net).stdout == "waves.prototxt: good for TEST and TRAIN, runs\n"


def test_every_command_supports_plugins(zoo) -> None:
    for name in (name for names in grouped().values() for name in names):
        words = ("-plugin", "a b", "train", "-solver", "nowhere") if name == "caffe" else ("--plugin", "a b")
        code, _, err = zoo(name, *words)
        assert code == 2 and "'a b' isn't the name of a module; give a name such as voc_layers" in err, name
    assert "'a b' isn't the name of a module" in zoo("data", "show", "digits", "--plugin", "a b").err


def test_an_installed_package_is_part_of_every_command(command: Command, installed: None, tmp_path: Path) -> None:
    assert "accuracy 1" in command(*TRAIN, *TWO).stdout
    assert '"plugins"' not in (tmp_path / "run/run.json").read_text()
    export_and_check(command, tmp_path)


def test_a_module_of_the_current_folder_is_allowed_by_name(command: Command, in_folder: None) -> None:
    assert "waves:200: there is no such file" in command(*TRAIN, *TWO, code=2).stderr
    assert "accuracy 1" in command(*ALLOWED, *TRAIN, *TWO).stdout
    assert command("check", "waves.prototxt", *ALLOWED).stdout == "waves.prototxt: good for TEST and TRAIN\n"
    resume = "train", "--resume", "run", "--workers", "3"
    assert "zoo train --resume run --plugin netdsl_waves" in command(*resume, code=2).stderr
    command(*resume, NETDSL_PLUGINS="netdsl_waves")


def test_a_launcher_and_a_transport_are_chosen_by_name(command: Command, in_folder: None, tmp_path: Path) -> None:
    (tmp_path / "own_ways.py").write_text(WAYS)
    allowed = *ALLOWED, "--plugin", "own_ways"
    wrong = command(*TRAIN, "--backend", "at-hime", *allowed, code=2).stderr
    assert "'at-hime' is not one of 'local', 'spark', 'mpi', 'external', 'at-home'" in wrong
    command(*TRAIN, *TWO, *allowed, "--backend", "at-home", "--transport", "twin")
    assert '"transport": "twin"' in (tmp_path / "run/run.json").read_text()
    assert (tmp_path / "twins").read_text() == "2" and (tmp_path / "run/model.caffemodel").exists()


def test_formats_models_and_dialects_reach_every_command(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own_files.py").write_text(FILES)
    (tmp_path / "small.sizes").write_text("3 4")
    table = tmp_path / "our-fork.toml"
    table.write_text('title = "Ours"\n[fields.LayerParameter]\npermute_param = 391\n')
    folder = tmp_path / "ours"
    folder.mkdir()
    (folder / "README.md").write_text("---\nname: Our net\nsummary: Turns images.\n---\n")
    text = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 2, 3, 4] } } }
        layer { name: "p" type: "Permute" bottom: "x" top: "y" permute_param { order: [0, 2, 3, 1] } }"""
    (folder / "deploy.prototxt").write_text(text)
    register_dialect(table)
    write(CaffeFile(from_text(text, pb.NetParameter)), tmp_path / "net.caffemodel", dialect="our-fork")
    forget_dialects()
    allowed = "--plugin", "own_files"
    found = command("check", "small.sizes", "net.caffemodel", *allowed).stdout
    assert found.count("good for TEST and TRAIN\n") == 2
    assert "Our net: Turns images." in command("card", "our-net", *allowed).stdout
    assert "our-net" in command("list", *allowed).stdout
    assert "1 x 3 x 4 x 2" in command("show", "--shapes", "our-net", *allowed).stdout
    assert "(binary, our-fork)" in command("show", "net.caffemodel", *allowed).stdout


def test_mpi_ranks_may_import_their_starters_modules(command: Command, in_folder: None, tmp_path: Path) -> None:
    command(*TRAIN, *TWO, *ALLOWED)
    pytest.importorskip("mpi4py")
    command(*TRAIN[:-1], "mpi", *TWO, *ALLOWED, "--backend", "mpi")
    assert np.array_equal(*(np.fromfile(tmp_path / name / "model.caffemodel", np.uint8) for name in ("run", "mpi")))


@pytest.mark.spark
def test_spark_tasks_may_import_the_drivers_modules(command: Command, in_folder: None, tmp_path: Path) -> None:
    assert "accuracy 1" in command(*TRAIN, *TWO, *ALLOWED, "--backend", "spark").stdout
    table, made = tmp_path / "rows.parquet", tmp_path / "predicted"
    pq.write_table(pa.table({"wave": list(np.ones((4, 16), np.float32))}), table)
    weights = "--weights", "run/model.caffemodel"
    command("predict", "waves.prototxt", *weights, str(table), "-o", str(made), "--backend", "spark", *ALLOWED)
    assert pq.read_table(made).num_rows == 4
