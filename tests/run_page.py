"""Runs the commands and programs of a documentation page, each in a separate process.

The processes are forked from one that has already loaded torch, since loading takes longer than most of them. Run it as
`python run_page.py` with a list of steps as JSON on standard input.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import traceback
from types import ModuleType

import torch  # noqa: F401 - loaded for all steps

import netdsl.training.net  # noqa: F401
import zoo.cli


def run_program(text: str) -> None:
    """Run a Python program as the main program."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(text, "<the page>", "exec"), main.__dict__)


def run_command(line: str) -> None:
    """Run a command. The command line's own entry point is called in this process."""
    words = shlex.split(line)
    if words[0] != "zoo":
        sys.exit(subprocess.run(line, shell=True).returncode)
    sys.argv = words
    zoo.cli.main()


def run_step(kind: str, text: str) -> int:
    """Run one step in a forked process. Returns its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 0
    try:
        (run_program if kind == "python" else run_command)(text)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Run all steps in order, until one fails."""
    sys.path[0] = ""  # finds modules that a step writes, as in an interactive Python
    for kind, text in json.load(sys.stdin):
        sys.stdout.flush()
        code = run_step(kind, text)
        if code:
            sys.exit(f"exit code {code} of: {text}")


if __name__ == "__main__":
    main()
