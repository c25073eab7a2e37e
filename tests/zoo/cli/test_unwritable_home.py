"""Models by name when the home folder isn't writable: a name is a net in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

COMMANDS = {
    "show": ["show", "cifar-resnet-20"],
    "shapes": ["show", "--shapes", "lenet"],
    "check": ["check", "squeezenet-1.1"],
    "check --data": ["check", "--data", "lenet"],
    "time": ["time", "lenet", "--iterations", "1"],
    "plan": ["plan", "lenet", "--items", "1000"],
    "draw": ["draw", "lenet", "-o", "net.svg"],
    "to onnx": ["export", "shapes", "--to", "onnx", "-o", "net.onnx"],
    "to caffe": ["export", "shapes", "--to", "caffe", "-o", "net"],
    "card": ["card", "lenet"],
    "diff": ["diff", "lenet", "lenet"],
    "as a program": ["import", "lenet", "--as-dsl"],
    "predict": ["predict", "shapes", "digits:test", "-o", "answers.csv"],
    "test": ["test", "shapes", "--iterations", "1"],
    "train": ["train", "lenet", "--data", "digits", "--max-iter", "2"],
    "run": ["train", "lenet", "--data", "digits", "--max-iter", "2", "--run", "run"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_name_needs_no_home(zoo, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()  # not even root can make a folder below a file
    monkeypatch.setenv("HOME", str(tmp_path / "file/home"))
    monkeypatch.setenv("NETDSL_HOME", str(tmp_path / "file/netdsl"))
    code, out, err = zoo(*words)
    assert (code, bool(out)) == (0, True), err


def test_names_of_the_catalogue_write_nothing_to_the_home(
    zoo, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NETDSL_HOME", str(home))
    for name in ("show", "check", "train"):
        assert zoo(*COMMANDS[name]).code == 0
    assert not list(home.iterdir())


STRANGER = "54321"  # a user without an entry in the system's list
# The interpreter may be in the folder of another user, so the stranger may read everything, but not write.
AS_STRANGER = [
    "setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
]  # fmt: skip


@pytest.mark.parametrize(
    ("home", "words"),
    [
        (None, "show lenet"),
        ("/root", "show lenet"),
        (None, "check lenet"),
        (None, "predict shapes x.png"),
        (None, "train lenet --data digits --max-iter 2 --run run"),
    ],
)
def test_a_user_without_a_home_and_a_writable_folder_can_work(tmp_path: Path, home: str | None, words: str) -> None:
    if os.geteuid() or not shutil.which("setpriv") or subprocess.run([*AS_STRANGER, "true"], check=False).returncode:
        pytest.skip("only root can become another user, with setpriv")
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == os.geteuid() and folder.name.startswith(("pytest-", "popen-")):
            folder.chmod(0o755)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("HOME", "XDG_", "NETDSL_", "MPL"))
    } | ({} if home is None else {"HOME": home})
    Image.new("RGB", (8, 8)).save(tmp_path / "x.png")
    done = subprocess.run(
        [
            *AS_STRANGER, sys.executable, "-m", "zoo",
            *(str(tmp_path / word) if word in ("x.png", "run") else word for word in words.split()),
        ],
        cwd="/", env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
