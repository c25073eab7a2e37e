"""Models that run in the environments of targets."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from caffe_proto.errors import FileError, LimitError
from converters import export_caffe, export_onnx
from converters.targets.session import open_target_session
from converters.targets.target import TARGETS
from netdsl import ConvLayer, LinearLayer, Net, NetParams, RDDLayer, Softmax
from netdsl.errors import ConversionError
from netdsl.model.opening import open_model
from tests.converters.targets.conftest import Ready
from tests.patience import PATIENCE

pytest.importorskip("onnxruntime")

WRITES = "import os\nfrom pathlib import Path\n"
RUN = "def run(files, inputs, outputs):\n    "


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Net, Path]:
    """Return a net with two inputs and its ONNX model, whose batch is open."""
    net = Net(
        NetParams(
            "two",
            RDDLayer("a/b", shape=[1, 2, 5, 5]),
            RDDLayer("more", shape=[1, 3]),
            ConvLayer("conv", ["a/b"], kernel=(3, 3), num_filters=2),
            LinearLayer("ip", ["conv"], num_outputs=4),
            Softmax("p/q", ["ip"]),
            LinearLayer("other", ["more"], num_outputs=2),
        )
    )
    export_onnx(net, tmp_path / "net.onnx")
    return net, tmp_path / "net.onnx"


def test_a_target_computes_the_outputs_by_name(ready: Ready, exported: tuple[Net, Path]) -> None:
    net, path = exported
    session = open_target_session(ready(), [path])
    assert (dict(session.inputs), session.outputs) == (
        {"a/b": ["batch", 2, 5, 5], "more": ["batch", 3]},
        ("p/q", "other"),
    )
    random = np.random.default_rng(0)
    arrays = {"a/b": random.random((2, 2, 5, 5), np.float32), "more": random.random((2, 3), np.float32)}
    found = session({**arrays, "unused": np.zeros(3, np.float32)})
    expected = net.forward(**arrays)
    assert list(found) == ["p/q", "other"]
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('operator Magic\\nis unknown')", "operator Magic is unknown"),
        ("raise KeyError", "KeyError"),
        ("return {}", "'p/q'"),
        ("os.kill(os.getpid(), 11)", "its process ends with SIGSEGV"),
        ("os._exit(7)", "its process ends with code 7"),
        ("os._exit(0)", "its program writes no outputs"),
        ("Path('outputs.npz').write_bytes(b'no archive'); os._exit(0)", "its program writes no outputs"),
        (
            "import pickle; Path('outputs.npz').write_bytes(pickle.dumps([1])); os._exit(0)",
            "its program writes no outputs",
        ),
        ("return {name: 'text' for name in outputs}", "could not convert string to float: 'text'"),
    ],
)
def test_a_program_that_fails_gives_its_reason(
    ready: Ready, exported: tuple[Net, Path], body: str, reason: str
) -> None:
    session = open_target_session(ready(WRITES + RUN + body), [exported[1]])
    arrays = {"a/b": np.zeros((1, 2, 5, 5), np.float32), "more": np.zeros((1, 3), np.float32)}
    with pytest.raises(ConversionError) as caught:
        session(arrays)
    assert str(caught.value).startswith(f"The program can't run net.onnx: {reason}; use another target")


def test_a_program_that_never_ends_is_stopped_with_its_children(
    ready: Ready, exported: tuple[Net, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    body = f"import subprocess; Path({str(pid)!r}).write_text(str(subprocess.Popen(['/bin/sleep', '1000']).pid))"
    session = open_target_session(ready(f"{WRITES}{RUN}{body}\n    while True: pass"), [exported[1]])
    monkeypatch.setenv("NETDSL_LIMITS", "process-seconds=3")
    arrays = {"a/b": np.zeros((1, 2, 5, 5), np.float32), "more": np.zeros((1, 3), np.float32)}
    with pytest.raises(LimitError, match=r"net\.onnx .*process-seconds"):
        session(arrays)
    end = time.monotonic() + PATIENCE
    while _runs(pid.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _runs(pid.read_text())


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_a_program_sees_neither_another_python_nor_an_index(ready: Ready, exported: tuple[Net, Path]) -> None:
    body = "raise ValueError(f\"{os.environ['PATH']} {os.environ['PIP_NO_INDEX']} {os.environ.get('PYTHONPATH')}\")"
    target = ready(WRITES + RUN + body)
    session = open_target_session(target, [exported[1]])
    arrays = {"a/b": np.zeros((1, 2, 5, 5), np.float32), "more": np.zeros((1, 3), np.float32)}
    with pytest.raises(ConversionError, match=r"can't run net.onnx: /\S+/netdsl/targets/here-\w+/bin 1 "):
        session(arrays)


def test_what_a_program_leaves_among_temporary_files_goes(ready: Ready, exported: tuple[Net, Path]) -> None:
    body = "import tempfile; raise ValueError(tempfile.mkstemp()[1])"
    session = open_target_session(ready(RUN + body), [exported[1]])
    arrays = {"a/b": np.zeros((1, 2, 5, 5), np.float32), "more": np.zeros((1, 3), np.float32)}
    with pytest.raises(ConversionError, match=r"can't run net.onnx: (/\S+);") as caught:
        session(arrays)
    assert not Path(str(caught.value).partition(": ")[2].partition(";")[0]).exists()


def test_files_of_caffe_are_opened_with_the_nets_own_names(ready: Ready, tmp_path: Path) -> None:
    net = Net(NetParams("n", RDDLayer("x", shape=[2, 3]), LinearLayer("y", ["x"], num_outputs=2)))
    net.save(tmp_path / "w.caffemodel")
    files = export_caffe(open_model(tmp_path / "w.caffemodel"), tmp_path / "out").files
    target = msgspec.structs.replace(ready(RUN + "return {'y': inputs['x'][:, :2]}"), format="caffe")
    session = open_target_session(target, sorted(files, reverse=True))
    assert (dict(session.inputs), session.outputs) == ({"x": [2, 3]}, ("y",))
    assert session({"x": np.ones((2, 3), np.float32)})["y"].tolist() == [[1, 1], [1, 1]]


def test_other_files_are_refused_with_the_way_to_write_them(ready: Ready, exported: tuple[Net, Path]) -> None:
    target = ready()
    for files in ([Path("net.prototxt")], [exported[1], exported[1]], []):
        with pytest.raises(FileError, match=r"target 'here' reads MODEL\.onnx; write such files with: zoo export"):
            open_target_session(target, files)


def test_a_target_that_is_not_installed_names_its_command(
    exported: tuple[Net, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    with pytest.raises(ConversionError, match=r"'opencv5' isn't installed; .*: zoo targets install opencv5"):
        open_target_session(TARGETS["opencv5"], [exported[1]])
