"""Texts written as streams: what follows what, and where a stream goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.hdf5 import Hdf5Source
from netdsl.data.sources.open_source import parse_source
from netdsl.data.writing.streams import TextReport, write_text_streams
from netdsl.errors import DataError


def test_streams_are_parts_of_the_text_and_targets_what_follows(tmp_path: Path) -> None:
    text, streams = "the owl sees a mouse.\r\n", 3
    (tmp_path / "a.txt").write_bytes(text.encode())
    report = write_text_streams(parse_source(f"text:{tmp_path / 'a.txt'}?streams={streams}"), tmp_path / "out")
    assert report == TextReport(steps=7, streams=streams, characters=14, left_out=1)
    source = Hdf5Source(tmp_path / "out/list.txt", ["data", "target", "cont"])
    data, target, cont = source.take(np.arange(len(source))) or ()
    characters = dict(enumerate(sorted(set(text))))
    read = ["".join(characters[int(number)] for number in stream) for stream in data.T]
    assert "".join(read) == text[:21]
    assert "".join(characters[int(number)] for number in target.T.ravel()) == text[1:22]
    assert not cont[0].any() and (cont[1:] == 1).all()
    assert source.classes == class_names_in(tmp_path / "out") == Alphabet.of(text).names


def test_another_text_may_have_the_same_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abc")
    (tmp_path / "b.txt").write_text("cab")
    (tmp_path / "c.txt").write_text("cabd")
    write_text_streams(parse_source(f"text:{tmp_path}/a.txt"), tmp_path / "a")
    write_text_streams(parse_source(f"text:{tmp_path}/b.txt?classes={tmp_path}/a/labels.txt"), tmp_path / "b")
    assert [int(row[0][0]) for row in map(Hdf5Source(tmp_path / "b/list.txt", ["data"]).fetch, range(2))] == [2, 0]
    with pytest.raises(DataError, match=r"c.txt: the character 'd' isn't in the alphabet"):
        write_text_streams(parse_source(f"text:{tmp_path}/c.txt?classes={tmp_path}/a/labels.txt"), tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"abc", "?streams=3", "has 3 characters; 3 streams need more"),
        (b"", "", "has 0 characters"),
        (b"\xff\xfe", "", "isn't text in UTF-8"),
        (b"abc", "?streams=0", "streams is '0'"),
        (b"abc", "?steps=3", "has no option 'steps'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: bytes, options: str, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        write_text_streams(parse_source(f"text:{tmp_path / 'a.txt'}{options}"), tmp_path / "out")
