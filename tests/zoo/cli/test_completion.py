"""Tab completion, which runs no command and doesn't load torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ZOO = Path(sys.executable).with_name("zoo")
COMPLETE = "import sys, zoo.cli\ntry: zoo.cli.main()\nfinally: assert 'torch' not in sys.modules"


def complete(line: str, folder: Path) -> list[str]:
    """Return the completions of the last word of a line."""
    request = {"_ZOO_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE],
        env={**os.environ, **request},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("zoo comp", ["plain,completion"]),
        ("zoo completion z", ["plain,zsh"]),
        ("zoo train --test", ["plain,--test-data"]),
        ("zoo time le", ["plain,lenet", "plain,left.prototxt", "plain,letters/"]),
        ("zoo show ", ["plain,lenet", "plain,left.prototxt", "plain,letters/"]),
        ("zoo show letters/a", ["file,letters/a"]),
        ("zoo data show dig", ["plain,digits"]),
        ("zoo train --solver so", ["file,so"]),
        ("zoo report r", ["dir,r"]),
    ],
)
def test_commands_options_choices_models_and_files_are_completed(
    line: str, completions: list[str], tmp_path: Path
) -> None:
    (tmp_path / "letters").mkdir()
    for name in ("left.prototxt", ".hidden"):
        (tmp_path / name).touch()
    names = complete(line, tmp_path)
    assert set(completions) <= set(names)
    assert not any("hidden" in name for name in names)


def test_completing_has_no_side_effects(tmp_path: Path) -> None:
    assert complete("zoo simulate speedup -o results --ta", tmp_path) == ["plain,--taus"]
    assert complete("zoo check --allow-python made_up --ru", tmp_path) == ["plain,--run"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(zoo, shell: str) -> None:
    code, out, err = zoo("completion", shell)
    assert (code, err) == (0, "")
    assert f"_ZOO_COMPLETE={shell}_complete" in out


@pytest.mark.skipif(not ZOO.exists(), reason="the console script isn't installed")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    press = "COMP_WORDS=(zoo ver); COMP_CWORD=1; _zoo_completion zoo; echo ${COMPREPLY[@]}"
    program = f'eval "$(zoo completion bash)"; {press}'
    path = os.pathsep.join((str(ZOO.parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", program], env={**os.environ, "PATH": path}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "verify\n"
