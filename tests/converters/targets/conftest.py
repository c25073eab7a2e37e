"""A target whose environment is ready: this one's Python runs its program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from converters.targets import environment
from converters.targets.target import TARGETS, Target

Ready = Callable[..., Target]


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ready:
    """Return a function that makes a target of this environment's onnxruntime, or of a program's text."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def target_with(program: str | None = None) -> Target:
        target = msgspec.structs.replace(TARGETS["onnxruntime"], packages=("here",), name="here", title="The program")
        if program is not None:
            path = tmp_path / "program.py"
            path.write_text(program)
            target = msgspec.structs.replace(target, program=path)
        folder = environment._folder_of(target)
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        python = folder / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        (folder / "environment.json").write_text(json.dumps({"here": "1.0"}))
        return target

    return target_with
