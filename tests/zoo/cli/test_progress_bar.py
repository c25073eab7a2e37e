"""Progress bars on a terminal: they appear late, show the remaining time, vanish when the work is done, and don't
disturb output."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import sys
from zoo.cli import output
output.BAR_DELAY = 0.01
with output.progress_bar({total}, "counting") as advance:
    advance()
    print("for a script", flush=True)
    sys.stdin.readline()
    advance()
"""


@contextmanager
def terminal(*command: str, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a command whose standard error is a terminal. Returns it and the other end of the terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **environment}
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        yield process, ours
    os.close(ours)


def read_until(end: int, what: bytes) -> bytes:
    """Return the output until some bytes appear, or until the terminal is closed."""
    seen = b""
    while what not in seen:
        try:
            seen += os.read(end, 1 << 16)
        except OSError:  # the terminal is closed
            break
    return seen


def test_a_bar_counts_and_vanishes_without_touching_standard_output() -> None:
    with terminal("-c", PROGRAM.format(total=2)) as (process, end):
        assert b"counting" in read_until(end, b"1/2")
        out, _ = process.communicate(b"\n")
        rest = read_until(end, b"never")
    assert out == b"for a script\n"
    assert rest.endswith(b"\x1b[2K")  # the bar's line is cleared


def test_a_bar_without_a_total_shows_the_elapsed_time() -> None:
    with terminal("-c", PROGRAM.format(total=None)) as (process, end):
        assert b"counting" in read_until(end, b"0:00:0")
        process.communicate(b"\n")


def test_quick_work_and_dumb_terminals_have_no_bar(tmp_path: Path) -> None:
    main = "from zoo.cli import output, main; output.BAR_DELAY = 600; main()"
    with terminal("-c", main, "data", "mean", "digits", str(tmp_path / "m.binaryproto")) as (process, end):
        out, _ = process.communicate()
        assert read_until(end, b"never") == b""
    assert out.startswith(b"mean of 1,797 items")
    with terminal("-c", PROGRAM.format(total=2), TERM="dumb") as (process, end):
        process.communicate(b"\n")
        assert read_until(end, b"never") == b""


def test_the_first_sign_of_a_computing_command_comes_before_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import os, sys; os.write(2, b'torch is loaded'); sys.stdin.readline()")
    command = ("-m", "zoo", "export", str(tmp_path / "net.prototxt"), "--to", "onnx")
    search = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    with terminal(*command, PYTHONPATH=search) as (process, end):
        assert b"exporting" in read_until(end, b"torch is loaded")
        process.kill()


LONG = """
import sys, time
from zoo.cli import display, output
from zoo.requests.events import WorkDone, WorkEnded, WorkStarted
from zoo.requests.request import Request
output.LINE_DELAY = 0.01
display._LINE_PAUSE = 0.0
shown = display.Display(Request(), "exporting", quiet={quiet}, err=False)
time.sleep(0.1)
shown(WorkStarted("running the net", 4))
time.sleep(0.1)
shown(WorkDone(3))
shown(WorkEnded())
shown.close()
"""


def lines_of(*, quiet: bool = False, **environment: str) -> list[str]:
    environment = {**os.environ, "NETDSL_PROGRESS": "", **environment}
    command = [sys.executable, "-c", LONG.format(quiet=quiet)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr.splitlines()


def test_long_work_writes_lines_where_there_is_no_terminal() -> None:
    assert lines_of() == ["zoo: exporting ...", "zoo: running the net ...", "running the net: 3 of 4 done"]


def test_json_and_a_setting_turn_the_lines_off() -> None:
    assert lines_of(quiet=True) == lines_of(NETDSL_PROGRESS="no") == []
