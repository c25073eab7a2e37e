"""New files and folders of data: they appear when they are complete, and killed commands leave nothing for long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from netdsl.data.writing.target import new_path

KILLED = """
import os, signal, sys
from pathlib import Path
from netdsl.data.writing.target import new_path

with new_path(Path(sys.argv[1])) as temporary:
    temporary.mkdir()
    (temporary / "data.mdb").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["lm", "p.parquet"])
def test_what_a_killed_command_left_is_removed_by_the_next_one(tmp_path: Path, name: str) -> None:
    (tmp_path / f".{name}.of-the-user").touch()
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with new_path(tmp_path / name) as temporary:
        temporary.write_bytes(b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {name, f".{name}.of-the-user"}
    assert (tmp_path / name).read_bytes() == b"whole"


def test_a_failed_command_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), new_path(tmp_path / "lm") as temporary:
        temporary.mkdir()
        raise KeyError
    assert not list(tmp_path.iterdir())
