"""Texts and captions written as streams: the order of words, and the images that belong to captions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.hdf5 import Hdf5Source
from netdsl.data.sources.images import ImageSource
from netdsl.data.sources.open_source import parse_source
from netdsl.data.writing.streams import CaptionReport, TextReport, write_caption_streams, write_text_streams
from netdsl.errors import DataError


def test_streams_are_parts_of_the_text_and_targets_the_next_characters(tmp_path: Path) -> None:
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


def test_another_text_can_reuse_the_alphabets_numbers(tmp_path: Path) -> None:
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
        (b"abc", "?streams=3", "the text has 3 characters, too few for 3 streams"),
        (b"", "", "has 0 characters"),
        (b"\xff\xfe", "", "not UTF-8 text"),
        (b"abc", "?streams=0", "streams is '0'"),
        (b"abc", "?steps=3", "there is no option 'steps'"),
    ],
)
def test_problems_are_reported(tmp_path: Path, content: bytes, options: str, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        write_text_streams(parse_source(f"text:{tmp_path / 'a.txt'}{options}"), tmp_path / "out")


CAPTIONS = {"a.png": ["A dog.", "a red dog runs"], "b c.png": ["A cat"]}
TOPS = ["input_sentence", "target_sentence", "cont_sentence"]


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    images = [{"id": number, "file_name": name} for number, name in enumerate(CAPTIONS)]
    annotations = [
        {"image_id": number, "caption": caption}
        for number, captions in enumerate(CAPTIONS.values())
        for caption in captions
    ]
    for name in CAPTIONS:
        (tmp_path / name).touch()
    path = tmp_path / "captions.json"
    path.write_text(json.dumps({"images": images, "annotations": annotations}))
    return path


def rows(folder: Path) -> list[np.ndarray]:
    source = Hdf5Source(folder / "list.txt", TOPS)
    return list(source.take(np.arange(len(source))) or ())


def test_streams_have_lrcns_format(captions: Path, tmp_path: Path) -> None:
    spec = parse_source(f"captions:{captions}?images={tmp_path}&streams=2&steps=4&least=2")
    assert write_caption_streams(spec, tmp_path / "h5") == CaptionReport(3, 1, streams=2, words=4, cut=1)
    assert class_names_in(tmp_path / "h5") == ("<EOS>", "<unk>", "a", "dog")
    inputs, targets, cont = rows(tmp_path / "h5")
    assert inputs[:4].T.tolist() == [[0, 2, 3, 0], [0, 2, 1, 3]]  # inputs after the end aren't used; here they are 0
    assert targets[:4].T.tolist() == [[2, 3, 0, -1], [2, 1, 3, 1]]  # the second caption is cut
    assert cont[:4].T.tolist() == [[0, 1, 1, 0], [0, 1, 1, 1]]
    # the first caption is repeated to fill the last stream
    assert targets[4:].T.tolist() == [[2, 1, 0, -1], [2, 3, 0, -1]]
    source = ImageSource(tmp_path / "h5/images.txt")
    assert [source.name(index) for index in range(4)] == [f"{tmp_path}/{x}.png" for x in ("a", "a", "b c", "a")]


def test_a_seed_shuffles_captions_with_their_images(captions: Path, tmp_path: Path) -> None:
    spec = parse_source(f"captions:{captions}?images={tmp_path}&streams=3&steps=6&least=1")
    orders = []
    for seed in (1, 2, 3, 4):
        write_caption_streams(spec, folder := tmp_path / str(seed), seed)
        words, images = class_names_in(folder), ImageSource(folder / "images.txt")
        targets = rows(folder)[1].T.astype(int).tolist()
        sentences = [" ".join(words[number] for number in stream if number > 0) for stream in targets]
        names = [Path(images.name(index)).name for index in range(3)]
        known = {(name, text.lower().rstrip(".")) for name, texts in CAPTIONS.items() for text in texts}
        assert set(zip(names, sentences, strict=True)) == known
        orders.append(sentences)
    assert any(order != orders[0] for order in orders)


def test_another_set_can_reuse_the_vocabulary(captions: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("<unk>\ncat\na\n")  # as LRCN writes them, without the end marker
    spec = parse_source(f"captions:{captions}?classes={tmp_path}/words.txt&streams=3&steps=3")
    write_caption_streams(spec, tmp_path / "h5")
    assert rows(tmp_path / "h5")[1].T.tolist() == [[3, 1, 0], [3, 1, 1], [3, 2, 0]]


def test_missing_images_are_an_error_or_left_out(captions: Path, tmp_path: Path) -> None:
    (tmp_path / "b c.png").unlink()
    spec = parse_source(f"captions:{captions}?images={tmp_path}&streams=1")
    with pytest.raises(
        DataError, match=r"b c.png: no such file; copy it there, or leave missing images out with --skip-bad"
    ):
        write_caption_streams(spec, tmp_path / "h5")
    assert not (tmp_path / "h5").exists()
    report = write_caption_streams(spec, tmp_path / "h5", skip_bad=True)
    assert (report.captions, report.missing) == (2, (f"{tmp_path}/b c.png: no such file",))


@pytest.mark.parametrize(
    ("options", "message"),
    [("streams=0", "streams is '0'; set it to"), ("steps=x", "steps is 'x'"), ("min=3", "there is no option 'min'")],
)
def test_wrong_options_are_refused(tmp_path: Path, options: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_caption_streams(parse_source(f"captions:a.json?{options}"), tmp_path / "h5")
