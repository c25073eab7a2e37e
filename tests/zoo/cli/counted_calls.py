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
from typing import Any


class CallNotes:
    """The files below a folder that a process reads, and the nets that it upgrades and builds, until `end`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._has_ended = False
        self.found: dict[str, list[str]] = {name: [] for name in ("opened", "upgrades", "builds", "for_use")}

    def begin(self, put: Callable[[Any, str, Any], object] = setattr) -> None:
        """Begin to note. `put` replaces the attribute of a module."""
        from netdsl.model import data_shapes, model
        from netdsl.net import build

        put(
            model,
            "upgrade_net",
            _noting(vars(model)["upgrade_net"], lambda net: self.found["upgrades"].append(net.name)),
        )
        for module in (build, data_shapes):
            put(module, "infer", _noting(module.infer, self._note_build))
        sys.addaudithook(self._note_opening)

    def end(self) -> None:
        """Note no more files. Python can't remove a hook."""
        self._has_ended = True

    def _note_opening(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note that an existing file is opened for reading."""
        if self._has_ended or event != "open" or not isinstance(arguments[0], (str, os.PathLike)):
            return
        path, mode = Path.cwd() / arguments[0], arguments[1] or "r"
        if path.is_relative_to(self._folder) and path.is_file() and not set("wxa+") & set(mode):
            self.found["opened"].append(str(path.relative_to(self._folder)))

    def _note_build(self, graph: Any) -> None:
        is_for_use = graph.nodes and graph.nodes[0].layer.type == "Input"
        self.found["for_use" if is_for_use else "builds"].append(graph.phase.name)


def _noting(function: Callable[..., Any], note: Callable[[Any], object]) -> Callable[..., Any]:
    """Wrap a function, so that each call notes its first argument."""

    def count(first: Any, *arguments: Any, **settings: Any) -> Any:
        note(first)
        return function(first, *arguments, **settings)

    return count


def main() -> None:
    """Run the program."""
    from netdsl.distributed.launchers import local

    folder, program = Path(sys.argv[1]), sys.argv[2]
    notes = CallNotes(Path.cwd())
    report = folder / f"{os.getpid()}.json"
    atexit.register(lambda: report.write_text(json.dumps({"program": program, **notes.found})))
    notes.begin()
    local.COMMAND[:] = [sys.executable, "-P", __file__, str(folder), "worker"]
    sys.argv = [program, *sys.argv[3:]]
    if program == "worker":
        runpy.run_module("netdsl.distributed.launchers.worker_process", run_name="__main__")
    else:
        from zoo.cli import main

        main()


if __name__ == "__main__":
    main()
