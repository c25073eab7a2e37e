"""Models by name when the home folder isn't writable: a name is a net in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

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
