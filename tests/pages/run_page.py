"""Runs the commands and programs of a page, each in a separate process, and compares their outputs.

The processes are forked from one that has already loaded torch, because loading takes longer than most steps. To use
it, run `python run_page.py` with a JSON list of steps on standard input.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import torch  # noqa: F401 - loaded for all steps

import netdsl.training.net  # noqa: F401
import zoo.cli

SECONDS_TO_START = 120  # seconds for a program that runs until Ctrl-C, on a busy machine


def run_program(text: str) -> None:
    """Run a Python program as the main module."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(text, "<the page>", "exec"), main.__dict__)


def run_command(line: str) -> None:
    """Run a command. zoo commands call the entry point in this process."""
    words = shlex.split(line)
    if words[0] != "zoo" or ">" in words:
        sys.exit(subprocess.run(line, shell=True).returncode)
    sys.argv = words
    zoo.cli.main()


def start_step(kind: str, text: str, printed: Path) -> int:
    """Start a step in a separate process that writes its output to a file, and return the process ID."""
    child = os.fork()
    if child:
        return child
    code = 0
    try:
        output = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] - in the order in which it is printed
        (run_program if kind == "python" else run_command)(text)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def printed_by(path: Path) -> str:
    """Return the lines that a step has printed until now."""
    text = path.read_text() if path.exists() else ""
    return text if text.endswith("\n") or not text else f"{text}\n"


def run_step(step: dict[str, Any], path: Path) -> tuple[str, str, int | None]:
    """Run a step. Returns the problem, the output, and the process ID if the process is still running."""
    child = start_step(step["kind"], step["text"], path)
    if step["until_stopped"]:
        end = time.monotonic() + SECONDS_TO_START
        while not re.fullmatch(step["pattern"], printed_by(path)):
            if time.monotonic() > end:
                return "did not print what the page shows", printed_by(path), child
            time.sleep(0.1)
        return "", printed_by(path), child
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    output = printed_by(path)
    if step["fails"] != bool(code):
        return f"ended with exit code {code}", output, None
    return "" if re.fullmatch(step["pattern"], output) else "printed something different from the page", output, None


def main() -> None:
    """Run all steps in order, until one fails."""
    sys.path[0] = ""  # lets programs import modules that a step writes, as in an interactive Python
    faults, running = list[str](), list[int]()
    with TemporaryDirectory() as folder:
        for number, step in enumerate(json.load(sys.stdin)):
            fault, output, child = run_step(step, Path(folder, str(number)))
            if child is not None:
                running.append(child)
            if fault:
                shown = f"--- shown\n{step['shown']}\n" if "exit code" not in fault else ""
                faults.append(f"This {fault}:\n{step['text']}\n{shown}--- printed\n{output}")
            if "exit code" in fault:
                break
        for child in running:
            os.kill(child, signal.SIGINT)
            os.waitpid(child, 0)
    sys.exit("\n\n".join(faults) or 0)


if __name__ == "__main__":
    main()
