"""`zoo data convert text:` and `zoo predict --text`."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl import Net


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the weights of an untrained net, with an alphabet of all its characters except one."""
    monkeypatch.chdir(tmp_path)
    Path("labels.txt").write_text("".join(f"{chr(ord('0') + number)}\n" for number in range(61)))
    Net("char-rnn").save("net.caffemodel")
    return "net.caffemodel"


def test_a_net_of_the_catalogue_continues_a_text(zoo, written: str) -> None:
    words = ["predict", "char-rnn", "--weights", written, "--text", "AB", "--length", "7"]
    done = zoo(*words)
    assert done.code == 0 and done.out.startswith("AB") and len(done.out) == len("AB") + 7 + 1
    assert zoo(*words).out == done.out != zoo(*words, "--seed", "1").out
    assert zoo(*words, "-o", "out.txt").out == "wrote out.txt\n"
    assert Path("out.txt").read_text() == done.out


def test_problems_are_reported_and_no_file_is_written(zoo, written: str) -> None:
    words = ["predict", "char-rnn", "--weights", written]
    for options, problem in (
        (["--text", "a b"], "the character ' ' isn't in the alphabet"),
        (["--text", "A", "photo.jpg"], "--text doesn't allow INPUT"),
        (["--text", "A", "--top", "3"], "--text doesn't allow INPUT"),
        (["--text", "A", "--beam", "3"], "--text doesn't allow INPUT"),
        (["photo.jpg", "--seed", "3"], "needs more than an image"),
        ([], "Missing argument 'INPUT...'"),
    ):
        done = zoo(*words, *options, *(["-o", "out.txt"] if options else []))
        assert done.code == 2 and problem in done.err
        assert not Path("out.txt").exists()
    Path("labels.txt").unlink()
    assert "has no alphabet; put a labels.txt" in zoo(*words, "--text", "A").err


def test_a_text_is_converted(zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("abcabcab")
    done = zoo("data", "convert", "text:a.txt?streams=2", "out")
    assert (done.code, done.out) == (0, "3 steps of 2 streams written, 3 characters in the alphabet\n")
    assert done.err == "zoo: left out: the last 1, too few for a step of all streams\n"
    assert zoo("data", "convert", "text:a.txt", "again", "--gray").code == 2
