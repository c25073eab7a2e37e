"""Commands whose standard streams are closed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

LOWEST = """
from zoo.cli.output import open_closed_streams
open_closed_streams()
import os, sys
with open(sys.argv[1], "w") as result:
    print("no file gets this")
    print("nor this", file=sys.stderr)
    os.system("echo nor this of a child; echo or this >&2")
    assert sys.stdin.read() == ""
    result.write(str(result.fileno() > 2))
"""
CLOSED = ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]


def with_closed(closed: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    line = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("closed", CLOSED)
def test_no_file_gets_the_descriptor_of_a_closed_stream(tmp_path: Path, closed: str) -> None:
    done = with_closed(closed, [sys.executable, "-c", LOWEST, str(tmp_path / "result")])
    assert (done.returncode, (tmp_path / "result").read_text()) == (0, "True")


def test_an_answer_without_standard_streams_is_written_to_its_file(tmp_path: Path) -> None:
    output = tmp_path / "answers.csv"
    Image.new("RGB", (8, 8)).save(tmp_path / "x.png")
    words = [sys.executable, "-m", "zoo", "predict", "shapes", str(tmp_path / "x.png"), "-o", str(output)]
    done = with_closed("<&- >&- 2>&-", words)
    assert done.returncode == 0 and output.stat().st_size


def test_open_streams_stay_as_they_are() -> None:
    code = "from zoo.cli.output import open_closed_streams; open_closed_streams(); print(input())"
    done = subprocess.run([sys.executable, "-c", code], input="x\n", capture_output=True, text=True, check=True)
    assert done.stdout == f"x{os.linesep}"
