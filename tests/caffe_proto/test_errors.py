"""Errors and warnings never contain a stranger's escape sequences, nor a whole file."""

from __future__ import annotations

import pickle
import traceback
import warnings

import pytest

from caffe_proto.errors import CaffeError, FileError, TextError, UnknownFieldWarning, in_file

ATTACK = "\x1b]52;c;bHM=\x07\x9b1m\u202e"
ESCAPED = r"\x1b]52;c;bHM=\x07\x9b1m\u202e"


def test_a_message_is_escaped_and_short() -> None:
    problem = FileError(f"{ATTACK}: {'x' * 100_000}; copy it again")
    assert str(problem).startswith(f"{ESCAPED}: x")
    assert str(problem).endswith("x; copy it again")
    assert len(str(problem)) <= 1000
    assert ATTACK not in "".join(traceback.format_exception(problem))
    assert str(pickle.loads(pickle.dumps(problem))) == str(problem)


def test_a_warning_is_escaped_and_short() -> None:
    with pytest.warns(UnknownFieldWarning) as caught:
        warnings.warn(f"{ATTACK} {'x' * 100_000}", UnknownFieldWarning, stacklevel=1)
    assert str(caught[0].message).startswith(ESCAPED)
    assert len(str(caught[0].message)) <= 1000
    assert ATTACK not in str(caught[0])


@pytest.mark.parametrize("path", ["net.prototxt", f"{ATTACK}.prototxt", "two\nlines"])
def test_a_file_is_named_once(path: str) -> None:
    problem = CaffeError(f"{path}: damaged")
    assert in_file(path, problem) == str(problem)
    assert in_file(path, TextError("wrong", where=path, line=1, column=2)).endswith(":1:2: wrong")
