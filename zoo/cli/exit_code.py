"""The exit codes of all commands, which docs/shell.md lists."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. 0 and 1 are answers, as those of diff and grep are; from 2 on there is none."""

    FINE = 0
    NO = 1  # files differ, a check fails, something is broken
    WRONG = 2  # a wrong call, a file or data that can't be read, a disk that is full
    MISTAKE = 70  # of zoo's own
    INTERRUPTED = 130  # by Ctrl-C
    READER_GONE = 141  # who read standard output, as `head` does
    TERMINATED = 143  # by SIGTERM
