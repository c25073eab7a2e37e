"""A program that runs `zoo`, or one of its workers, and records the files and nets that it opens, upgrades and builds.

    python counted_calls.py FOLDER zoo WORDS...

Each process writes a file into FOLDER: the files that it read below the current folder, the nets that it upgraded, and
the phases of the nets that it built. Nets for use, which begin with an input, are counted separately.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER, PROGRAM = Path(sys.argv[1]), sys.argv[2]
HERE = Path.cwd()
OPENED, UPGRADES, BUILDS, FOR_USE = list[str](), list[str](), list[str](), list[str]()


def note_opening(event: str, arguments: tuple[Any, ...]) -> None:
    """Note that an existing file is opened for reading."""
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        path, mode = Path.cwd() / arguments[0], arguments[1] or "r"
        if path.is_relative_to(HERE) and path.is_file() and not set("wxa+") & set(mode):
            OPENED.append(str(path.relative_to(HERE)))


def note_build(graph: Any) -> None:
    """Note that a net is built."""
    (FOR_USE if graph.nodes and graph.nodes[0].layer.type == "Input" else BUILDS).append(graph.phase.name)


def counted(module: ModuleType, name: str, note: Callable[[Any], object]) -> None:
    """Wrap a function, so that each call notes its first argument."""
    function = getattr(module, name)

    def count(first: Any, *arguments: Any, **settings: Any) -> Any:
        note(first)
        return function(first, *arguments, **settings)

    setattr(module, name, count)


def write() -> None:
    """Write this process's notes."""
    found = {"program": PROGRAM, "opened": OPENED, "upgrades": UPGRADES, "builds": BUILDS, "for_use": FOR_USE}
    (FOLDER / f"{os.getpid()}.json").write_text(json.dumps(found))


def main() -> None:
    """Run the program."""
    from netdsl.distributed.launchers import local
    from netdsl.model import data_shapes, model
    from netdsl.net import build

    atexit.register(write)
    sys.addaudithook(note_opening)
    counted(model, "upgrade_net", lambda net: UPGRADES.append(net.name))
    for module in (build, data_shapes):
        counted(module, "infer", note_build)
    local.COMMAND[:] = [sys.executable, "-P", __file__, str(FOLDER), "worker"]
    sys.argv = [PROGRAM, *sys.argv[3:]]
    if PROGRAM == "worker":
        runpy.run_module("netdsl.distributed.launchers.worker_process", run_name="__main__")
    else:
        from zoo.cli import main

        main()


if __name__ == "__main__":
    main()
