"""The exit codes of docs/shell.md, from commands that end with them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.patience import PATIENCE
from tests.test_house import ROOT
from zoo.cli.output import ExitCode

NET = "layer { name: 'a' }\n"
MAIN = "from zoo.cli import main; main()"


@pytest.fixture
def files(zoo, tmp_path: Path) -> None:
    """Write a net, another one, invalid text, and a folder, in the current folder."""
    (tmp_path / "net.prototxt").write_text('layer {\n  name: "a"\n  type: "Input"\n  top: "a"\n}\n')
    (tmp_path / "other.prototxt").write_text(NET)
    (tmp_path / "notes.txt").write_text("hello world\n")
    (tmp_path / "folder").mkdir()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("show net.prototxt", ExitCode.FINE),
        ("diff net.prototxt net.prototxt", ExitCode.FINE),
        ("diff net.prototxt other.prototxt", ExitCode.NO),
        ("fmt --check net.prototxt", ExitCode.FINE),
        ("fmt --check other.prototxt", ExitCode.NO),
        ("fmt --check notes.txt", ExitCode.WRONG),
        ("check other.prototxt", ExitCode.NO),
        ("nothing", ExitCode.WRONG),
        ("show --nothing", ExitCode.WRONG),
        *((f"{command} folder", ExitCode.WRONG) for command in ("show", "upgrade", "fmt", "time", "report")),
        *((f"{command} notes.txt", ExitCode.WRONG) for command in ("show", "upgrade", "time", "import --as-dsl")),
        ("test notes.txt --weights notes.txt", ExitCode.WRONG),
        ("train notes.txt", ExitCode.WRONG),
        ("export notes.txt --to onnx", ExitCode.WRONG),
        ("convert notes.txt x.npz", ExitCode.WRONG),
        ("verify notes.txt notes.txt", ExitCode.WRONG),
        ("features lenet --blob a --data notes.txt -o x.parquet", ExitCode.WRONG),
        ("data show notes.txt", ExitCode.WRONG),
        ("data convert nothing x_lmdb", ExitCode.WRONG),
        ("simulate run nothing", ExitCode.WRONG),
        ("caffe time -model notes.txt", ExitCode.WRONG),
        ("card nothing", ExitCode.WRONG),
        ("completion csh", ExitCode.WRONG),
    ],
)
def test_a_command_ends_with_the_documented_code(zoo, files, words: str, code: ExitCode) -> None:
    done = zoo(*words.split())
    assert done.code == code, done
    if code is ExitCode.WRONG:
        sentence = done.err.strip().splitlines()[-1]
        assert re.match(r"zoo: \S+: ?\S|zoo: .* can't be converted|zoo: \S+:\d+:\d+: |Error: ", sentence), sentence


@pytest.mark.parametrize(
    ("problem", "code"), [(KeyboardInterrupt(), ExitCode.INTERRUPTED), (BrokenPipeError(), ExitCode.READER_GONE)]
)
def test_interruptions_have_their_own_codes(
    zoo, monkeypatch: pytest.MonkeyPatch, problem: BaseException, code: ExitCode
) -> None:
    @click.command("fail")
    def fail() -> None:
        raise problem

    monkeypatch.setattr("zoo.cli.request_command.Command.command", lambda *_: fail)
    monkeypatch.setattr("zoo.cli._drop_output", lambda: None)  # it would close the output that pytest captures
    assert zoo("show").code == code


def test_a_bug_has_its_own_code(tmp_path: Path) -> None:
    program = "import zoo.files\nzoo.files.reformat_file = lambda *_, **__: 1 / 0\n" + MAIN
    done = subprocess.run([sys.executable, "-c", program, "fmt", "x"], capture_output=True, text=True)
    assert done.returncode == ExitCode.MISTAKE
    assert "ZeroDivisionError" in done.stderr


@pytest.mark.parametrize("command", ["show", "upgrade"])
def test_a_closed_pipe_gives_neither_an_answer_nor_a_traceback(tmp_path: Path, command: str) -> None:
    """This includes rich's output: rich would end the program with the exit code that means that files differ."""
    layers = 20_000 if command == "upgrade" else 600
    (tmp_path / "big.prototxt").write_text(f"layer {{ name: '{'a' * 150}' }}\n" * layers)
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, command, "big.prototxt"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(PATIENCE) == ExitCode.READER_GONE


@pytest.mark.parametrize("words", ["list", "show net.prototxt", "diff net.prototxt net.prototxt", "card lenet --json"])
def test_a_closed_output_is_not_an_error(tmp_path: Path, words: str) -> None:
    (tmp_path / "net.prototxt").write_text(NET)
    command = f"exec {sys.executable} -c '{MAIN}' {words} >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_lists_all_codes() -> None:
    rows = re.findall(r"(?m)^\| (\d+) \|", (ROOT / "docs/shell.md").read_text())
    assert [int(code) for code in rows] == sorted(ExitCode)
