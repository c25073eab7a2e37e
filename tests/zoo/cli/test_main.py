"""The command as a whole: its help, its exit codes and its failures."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import CliRunner

from caffe_proto.errors import CaffeError
from netdsl.distributed.strategies.settings import STRATEGIES
from netdsl.model.weights.tensor_files import Precision
from tests.patience import PATIENCE
from zoo import cli as command_line
from zoo.requests.groups import StoredType
from zoo.requests.training import STRATEGIES as NAMES_OF_STRATEGIES

ZOO = Path(sys.executable).with_name("zoo")
COMMANDS = ["show", "upgrade", "fmt", "diff"]
needs_script = pytest.mark.skipif(not ZOO.exists(), reason="the console script isn't installed")


def script(*words: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict", **environment}
    return subprocess.run([ZOO, *words], cwd=folder, capture_output=True, env=environment, timeout=PATIENCE)


@pytest.mark.parametrize("words", [("--help",), ("-h",)])
def test_the_help_has_every_command_with_a_line(zoo, words: tuple[str, ...]) -> None:
    code, out, err = zoo(*words)
    assert (code, err) == (0, "")
    commands = command_line.zoo.list_commands(click.Context(command_line.zoo))
    assert set(COMMANDS) <= set(commands)
    for command in commands:
        assert any(line.startswith(f"  {command} ") and line.endswith(".") for line in out.splitlines())


def test_every_command_is_in_one_group(zoo) -> None:
    names = [name for group in command_line.grouped().values() for name in group]
    assert sorted(names) == sorted(command_line.zoo.list_commands(click.Context(command_line.zoo)))
    assert len(set(names)) == len(names)
    out = zoo("--help").out
    assert "Other:" not in out
    assert out.index("\nTrain:") < out.index("\n  train ") < out.index("\nUse:") < out.index("\n  predict ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(zoo, command: str) -> None:
    code, out, err = zoo(command, "-h")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: zoo {command} [OPTIONS] ")
    assert "--json" in out and "--lenient" in out


def test_without_a_command_only_the_help_is_shown(zoo) -> None:
    _, out, err = zoo()
    assert "Find and get models:" in out + err


def test_the_version_is_printed(zoo) -> None:
    assert zoo("--version").out.startswith("zoo, version ")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["tran"], "Error: No such command 'tran'. Did you mean 'train'?\n"),
        (["data", "sho"], "Error: No such command 'sho'."),
        (["xyz"], "Error: No such command 'xyz'. The commands are list, card, "),
        (["show"], "Error: Missing argument 'FILE...'."),
        (["diff", "a"], "Error: Missing argument 'B'."),
        (["show", "--jsn", "a"], "--jsn"),
    ],
)
def test_a_wrong_call_is_reported(zoo, words: list[str], what: str) -> None:
    code, out, err = zoo(*words)
    assert (code, out) == (2, "")
    assert what in err


@pytest.mark.parametrize("package", ["netdsl", "zoo"])
def test_the_packages_can_be_run_as_commands(package: str) -> None:
    done = subprocess.run([sys.executable, "-m", package, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("zoo, version ")


def test_the_help_loads_no_slow_modules() -> None:
    code = "import sys, zoo.cli\ntry: zoo.cli.main()\nexcept SystemExit: print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stdout.splitlines()[-1]))
    assert "Find and get models:" in done.stdout
    assert {"click", "caffe_proto.errors"} <= loaded
    assert not loaded & {"numpy", "google.protobuf", "rich", "torch", "zoo.cli.files", "caffe_proto.files"}


WRONG_CALLS = """
train --nonsense
train
train lenet --strategy averaging
test
time --phase X x
check --ran
predict
features x --invalid no
export x --to tflite
export x --to caffe --opset 9
verify a
convert a b --precision int8
convert a b.onnx --precision float16
import x
simulate run
simulate speedup --seeds 0
caffe train -solvr x
caffe train
"""


def test_a_wrong_call_is_reported_without_loading_torch() -> None:
    code = f"""
import sys, zoo.cli
for words in {WRONG_CALLS.strip().splitlines()}:
    sys.argv = ["zoo", *words.split()]
    try: zoo.cli.main()
    except SystemExit as end: assert end.code == 2, words
    assert "torch" not in sys.modules, words
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_shell_completes_commands_and_choices_without_loading_torch() -> None:
    code = "import sys, zoo.cli\ntry: zoo.cli.main()\nfinally: assert 'torch' not in sys.modules"
    for words, found in (("zoo t", ["targets", "test", "time", "train"]), ("zoo export --to t", ["torch"])):
        request = {"_ZOO_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env={**os.environ, **request}, capture_output=True, text=True)
        assert (done.stderr, sorted(done.stdout.split())) == ("", [f"plain,{name}" for name in found])


def test_options_known_without_torch_match_torchs() -> None:
    assert [name.upper() for name in get_args(StoredType)] == list(Precision.__members__)
    assert list(NAMES_OF_STRATEGIES) == list(STRATEGIES)


ERRORS = {
    "typo.prototxt": (
        "layer {\n  name: 'c'\n  convolution_param { kernal_size: 3 }\n}",
        "3:23: layer 'c': unknown field 'kernal_size' in convolution_param; did you mean kernel_size?",
    ),
    "open.prototxt": ("layer {", "1:8: expected '}', found the end of the file"),
    "merge.prototxt": ("<<<<<<< HEAD\n", "1:1: '<<<<<<<' is the mark of an unfinished merge; keep one of the two"),
    "lines.prototxt": ("layer { name: 'a\nb' x: 1 }", "2:4: layer 'a\\nb': unknown field 'x'"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ERRORS)
def test_a_bad_file_is_reported_in_one_line_with_its_place(zoo, command: str, name: str) -> None:
    text, what = ERRORS[name]
    Path(name).write_text(text)
    code, out, err = zoo(command, *[name] * (2 if command == "diff" else 1))
    assert (code, out) == (2, "")
    assert err.startswith(f"zoo: {name}:{what}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_reported_in_one_line(zoo, command: str) -> None:
    code, out, err = zoo(command, *["gone.prototxt"] * (2 if command == "diff" else 1))
    assert (code, out) == (2, "")
    assert err == "zoo: gone.prototxt: can't be opened: No such file or directory; check the path and its permissions\n"


@pytest.mark.parametrize("command", ["upgrade", "diff"])
def test_an_old_net_that_cannot_be_upgraded_is_reported_with_its_file(zoo, command: str) -> None:
    Path("old.prototxt").write_text("name: 'n' layers { name: 'a\nb' } layer { name: 'b' }")
    code, out, err = zoo(command, *["old.prototxt"] * (2 if command == "diff" else 1))
    assert (code, out) == (2, "")
    assert err.startswith("zoo: old.prototxt: net 'n': the net uses both")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_lenient_reading_continues_with_a_one_line_warning(zoo, command: str) -> None:
    Path("odd.prototxt").write_text('layer {\n  name: "a"\n  zyx: 1\n}\n')
    words = [command, "--lenient", *["odd.prototxt"] * (2 if command == "diff" else 1)]
    with warnings.catch_warnings(action="always"):
        code, _, err = zoo(*words)
    assert code == 0
    line = "zoo: warning: odd.prototxt:3:3: layer 'a': unknown field 'zyx' (skipped)\n"
    assert line in err
    assert err.replace(line, "") in ("", "already in the current format\n")


@pytest.mark.parametrize(
    ("problem", "code", "line"),
    [
        (CaffeError("net: two\nlines"), 2, "zoo: net: two lines\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "zoo: No space left on device\n"),
        (PermissionError(errno.EACCES, "Permission denied", "out"), 2, "zoo: out: Permission denied\n"),
        (MemoryError(), 2, "zoo: there isn't enough memory; use a smaller batch\n"),
        (KeyboardInterrupt(), 130, "\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_is_reported_in_one_line(
    zoo, monkeypatch: pytest.MonkeyPatch, problem: BaseException, code: int, line: str
) -> None:
    @click.command("fail")
    def fail() -> None:
        raise problem

    monkeypatch.setattr("zoo.cli.request_command.Command.command", lambda *_: fail)
    assert zoo("show") == (code, "", line)


@needs_script
def test_the_console_script_prints_and_fails_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "good.prototxt").write_text("name: 'n' layer { name: 'a' }")
    (tmp_path / "bad.prototxt").write_text("nam: 'n'")
    good, bad = (script("show", "--json", f"{name}.prototxt", folder=tmp_path) for name in ("good", "bad"))
    assert (good.returncode, good.stderr) == (0, b"")
    assert json.loads(good.stdout)["name"] == "n"
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert bad.stderr == b"zoo: bad.prototxt:1:1: unknown field 'nam' in NetParameter; did you mean name?\n"


@needs_script
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_names_that_the_terminal_cannot_print_are_escaped(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "net.prototxt").write_text('name: "日" layer { name: "層" }', encoding="utf-8")
    for command in ("show", "upgrade"):
        done = script(command, "net.prototxt", folder=tmp_path, PYTHONIOENCODING=encoding)
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
    assert '"日"' in done.stdout.decode()  # a net is printed in the form in which it would be written


@needs_script
def test_a_closed_pipe_gives_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text("layer { name: 'a' }\n" * 20_000)
    with subprocess.Popen(
        [ZOO, "upgrade", "net.prototxt"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b"already in the current format\n"


@needs_script
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text("layer { name: 'a' }\n")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([ZOO, "show", "net.prototxt"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"zoo: No space left on device\n")


def test_commands_can_be_run_from_python() -> None:
    done = CliRunner().invoke(command_line.zoo, ["--help"])
    assert done.exit_code == 0
    assert "Find and get models:" in done.output
