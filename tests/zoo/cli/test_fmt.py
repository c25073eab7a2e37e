"""`zoo fmt`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

UGLY, NEAT = b"layer{name:'a'}# caf\xe9\r\n", b'layer { name: "a" }  # caf\xe9\n'


@pytest.fixture
def files(zoo) -> None:
    Path("ugly.prototxt").write_bytes(UGLY)
    Path("neat.prototxt").write_bytes(NEAT)
    Path("bad.prototxt").write_bytes(b"layer {")


def test_files_are_formatted_in_place(zoo, files) -> None:
    assert zoo("fmt", "ugly.prototxt", "neat.prototxt") == (0, "changed ugly.prototxt\n", "")
    assert Path("ugly.prototxt").read_bytes() == NEAT
    assert zoo("fmt", "ugly.prototxt") == (0, "", "")


def test_check_lists_files_without_changing_them(zoo, files) -> None:
    assert zoo("fmt", "--check", "ugly.prototxt", "neat.prototxt") == (1, "would change ugly.prototxt\n", "")
    assert Path("ugly.prototxt").read_bytes() == UGLY
    assert zoo("fmt", "--check", "neat.prototxt") == (0, "", "")


@pytest.mark.parametrize("check", [[], ["--check"]])
def test_a_bad_file_is_reported_and_the_others_are_formatted(zoo, files, check: list[str]) -> None:
    code, out, err = zoo("fmt", *check, "bad.prototxt", "gone.prototxt", "ugly.prototxt")
    assert (code, out.split()[-1]) == (2, "ugly.prototxt")
    assert err == (
        "zoo: bad.prototxt:1:8: expected '}', found the end of the file; close the block, and check the braces "
        "before this place\nzoo: gone.prototxt: can't be opened: No such file or directory; check the path and "
        "its permissions\n"
    )
    assert (Path("ugly.prototxt").read_bytes() == NEAT) is not bool(check)


def test_standard_input_is_printed(zoo) -> None:
    assert zoo("fmt", "-", stdin=UGLY) == (0, NEAT.decode("utf-8", "surrogateescape"), "")


@pytest.mark.parametrize(("text", "code"), [(UGLY, 1), (NEAT, 0)])
def test_standard_input_can_be_checked(zoo, text: bytes, code: int) -> None:
    assert zoo("fmt", "--check", "-", stdin=text) == (code, "", "")


def test_an_error_in_standard_input_is_reported(zoo) -> None:
    assert zoo("fmt", "-", stdin=b"nam: 'n'") == (
        2,
        "",
        "zoo: <stdin>:1:1: unknown field 'nam' in NetParameter; did you mean name?\n",
    )


def test_json_lists_changed_and_failed_files(zoo, files) -> None:
    code, out, err = zoo("fmt", "--json", "ugly.prototxt", "neat.prototxt", "bad.prototxt")
    assert code == 2
    assert json.loads(out) == {"changed": ["ugly.prototxt"], "failed": ["bad.prototxt"]}
    assert err.count("\n") == 1


def test_a_binary_file_is_not_mistaken_for_prototxt(zoo) -> None:
    Path("w.caffemodel").write_bytes(b"\n\x01n\xa2\x06\x00")
    assert zoo("fmt", "w.caffemodel") == (
        2,
        "",
        "zoo: w.caffemodel: this is a binary file, but only prototxt can be reformatted; show it with `zoo show "
        "w.caffemodel`\n",
    )
