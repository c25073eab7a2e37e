"""Samples in tar files in WebDataset's form."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto.errors import LimitError
from caffe_proto.limits import VARIABLE
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import BadItems, Loading, Reading
from netdsl.data.reader import open_reader
from netdsl.data.sources import files
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import find_source, open_source
from netdsl.data.sources.shards import ShardSource
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from tests.memory_storage import Put, put
from tests.small_data import png_of, write_tar

__all__ = ["put"]

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 3, 4, 5), np.uint8)
LABELS = [3, 0, 2, 9, 1, 7, 5]
ENDLESS = b"9" * 5000


def npy(array: np.ndarray, **options: Any) -> bytes:
    file = BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def samples(numbers: range, folder: str = "") -> dict[str, bytes]:
    pairs = ((f"{folder}{number:04}", number) for number in numbers)
    return {
        name: data
        for key, number in pairs
        for name, data in ((f"{key}.png", png_of(IMAGES[number])), (f"{key}.cls", b"%d" % LABELS[number]))
    }


@pytest.fixture
def tars(tmp_path: Path) -> Path:
    """Write seven samples to three tar files."""
    for number, part in enumerate((range(3), range(3, 4), range(4, 7))):
        write_tar(tmp_path / f"tars/train-{number:06}.tar", samples(part))
    return tmp_path / "tars"


def one(tmp_path: Path, members: Mapping[str, bytes], **options: Any) -> ShardSource:
    return ShardSource(write_tar(tmp_path / "x.tar", members), **options)


def items(source: Any) -> list[Item]:
    with closing(source):
        return [source.item(source.fetch(index)) for index in range(len(source))]


def item(tmp_path: Path, members: Mapping[str, bytes], **options: Any) -> Item:
    (found,) = items(one(tmp_path, members, **options))
    return found


def check(found: list[Item], images: np.ndarray = IMAGES, labels: list[int] = LABELS) -> None:
    assert all(image.dtype == np.uint8 and label.dtype == np.float32 for image, label in found)
    np.testing.assert_array_equal([image for image, _ in found], images)
    assert [label.item() for _, label in found] == labels


def test_all_tars_of_a_folder_are_read_in_their_order(tars: Path) -> None:
    source = ShardSource(tars)
    assert (len(source), source.name(3)) == (7, "0003.png")
    assert source.labels() is not None and source.labels().tolist() == LABELS  # type: ignore[union-attr]
    for index in (6, 0, 3, 3, 5):
        check([source.item(source.fetch(index))], IMAGES[index : index + 1], LABELS[index : index + 1])
    check(items(source))
    check(items(ShardSource(tars / "train-000002.tar")), IMAGES[4:], LABELS[4:])


def test_parts_items_and_classes_are_chosen_as_in_other_data(tars: Path) -> None:
    (tars / "labels.txt").write_text("".join(f"c{number}\n" for number in range(10)))
    (tars.parent / "items.txt").write_text("6\n2\n")
    check(items(open_source(f"{tars}?part=test")), IMAGES[:1], LABELS[:1])
    check(items(open_source(f"shards:{tars}?items={tars.parent / 'items.txt'}")), IMAGES[[6, 2]], [5, 2])
    with closing(open_source(str(tars))) as source:
        assert classes_of(source)[:2] == ("c0", "c1")
    assert ShardSource(tars / "train-000000.tar").classes == ShardSource(tars).classes


def test_gray_images_are_decoded_in_color_unless_gray_is_wanted(tmp_path: Path) -> None:
    members = {"a.png": png_of(IMAGES[0, :1]), "a.cls": b"1"}
    np.testing.assert_array_equal(item(tmp_path, members)[0], IMAGES[0, :1].repeat(3, axis=0))
    np.testing.assert_array_equal(item(tmp_path, members, color=Color.GRAY)[0], IMAGES[0, :1])


def test_neighbors_with_the_same_name_up_to_the_first_dot_are_a_sample(tmp_path: Path) -> None:
    image = png_of(IMAGES[0])
    names = ["v1.0/a.PNG", "v1.0/a.cls", "v1.0/a.seg.png", "b/a.cls", "b/a.png", "b.png", "b.cls"]
    members = {name: b"4" if name.endswith("cls") else image for name in names}
    source = one(tmp_path, members)
    assert [source.name(index) for index in range(len(source))] == ["v1.0/a.png", "b/a.png", "b.png"]
    check(items(source), IMAGES[[0, 0, 0]], [4, 4, 4])


def test_other_files_belong_to_no_sample(tmp_path: Path) -> None:
    others = {
        "README": b"",
        "__meta__.json": b"{",
        "__about__/a.png": b"",
        "._0000.png": b"",
        ".hidden": b"",
        "d/": b"",
    }
    check(items(one(tmp_path, others | samples(range(2)))), IMAGES[:2], LABELS[:2])


LABELED: dict[str, tuple[dict[str, bytes], str, Any]] = {
    "text": ({"txt": b" -12\n"}, "txt", -12),
    "class first": ({"json": b"{}", "cls": b"1"}, "", 1),
    "key": ({"json": b'{"label": 7, "other": "x"}'}, "", 7),
    "other key": ({"json": b'{"label": "x", "a": {"b": 2.5}}'}, "json.a.b", 2.5),
    "flag": ({"json": b'{"on": true}'}, "json.on", 1),
    "plain": ({"json": b"8"}, "json", 8),
    "dots": ({"meta.json": b'{"n": 6}'}, "meta.json.n", 6),
    "numbers": ({"json": b'{"label": [[1, 2], [3, 4.5]]}'}, "", [[1, 2], [3, 4.5]]),
    "array": ({"npy": npy(np.array([5, 6]))}, "npy", [5, 6]),
}


@pytest.mark.parametrize(("members", "label", "value"), LABELED.values(), ids=LABELED)
def test_labels_are_found(tmp_path: Path, members: dict[str, bytes], label: str, value: Any) -> None:
    files = {"a.png": png_of(IMAGES[0])} | {f"a.{ending}": data for ending, data in members.items()}
    found = item(tmp_path, files, label=label)[1]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, value)
    labels = one(tmp_path, files, label=label).labels()
    assert labels is None if isinstance(value, list) else labels is not None and labels.tolist() == [value]


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_an_array_takes_the_place_of_an_image(tmp_path: Path, kind: type) -> None:
    values = np.arange(24).reshape(2, 3, 4).astype(kind)
    members = {"a.npy": npy(values), "a.cls": b"1", "a.txt": b"x"}
    found, _ = item(tmp_path, members)
    assert found.dtype == (np.uint8 if kind is np.uint8 else np.float32)
    np.testing.assert_array_equal(found, values)
    members["a.jpg"] = png_of(IMAGES[0])
    assert item(tmp_path, members)[0].shape == (3, 4, 5)
    assert item(tmp_path, members, images=["npy"])[0].shape == (2, 3, 4)


def test_the_image_is_chosen_among_several(tmp_path: Path) -> None:
    members = {"a.jpg": png_of(IMAGES[0]), "a.png": png_of(IMAGES[1]), "a.cls": b"1"}
    with pytest.raises(DataError, match=r"x\.tar: sample 'a': the sample has several images, jpg, png; choose one, as"):
        one(tmp_path, members)
    for extension, image in (("jpg", IMAGES[0]), ("png", IMAGES[1]), ("PNG,webp", IMAGES[1])):
        np.testing.assert_array_equal(item(tmp_path, members, images=extension.split(","))[0], image)


def test_two_files_of_a_sample_with_one_extension_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.tar: sample 'a' has two files \.png; give each sample of the tar its own"):
        one(tmp_path, {"a.png": b"", "a.cls": b"1", "a.PNG": b""})


def test_a_sample_without_an_image_or_a_label_is_named(tmp_path: Path) -> None:
    members = samples(range(4))
    del members["0001.png"], members["0002.cls"]
    source = one(tmp_path, members)
    check([source.item(source.fetch(index)) for index in (0, 3)], IMAGES[[0, 3]], [3, 9])
    for index, what in ((1, "image"), (2, "label")):
        with pytest.raises(DataError, match=rf"x\.tar: sample '000{index}': the sample has no {what}; add it to"):
            source.fetch(index)
    with pytest.raises(DataError, match="'0002': the sample has no label"):
        source.labels()
    assert [source.name(index) for index in (1, 2)] == ["0001", "0002.png"]


@pytest.mark.parametrize(
    ("members", "options", "what"),
    [
        ({}, {}, "the tar has no samples; name its files as in 0001.jpg and 0001.cls"),
        ({"README": b""}, {}, "the tar has no samples"),
        ({"a.txt": b"", "a.cls": b"1"}, {}, r"no sample has an image; its first sample, 'a', has \.txt, \.cls; name"),
        ({"a.jpg": b"", "a.txt": b""}, {}, r"no sample has a label; .*x\.tar\?label=json\.category"),
        ({"a.jpg": b"", "a.cls": b"1"}, {"images": ["png"]}, "no sample has an image"),
        ({"a.jpg": b"", "a.cls": b"1"}, {"label": "json.b"}, "no sample has a label"),
    ],
)
def test_data_without_images_or_labels_are_refused(
    tmp_path: Path, members: dict[str, bytes], options: Any, what: str
) -> None:
    with pytest.raises(DataError, match=rf"x\.tar: {what}"):
        one(tmp_path, members, **options)


@pytest.mark.parametrize(
    ("ending", "data", "label", "what"),
    [
        ("cls", b"", "", r"\.cls: '' isn't a label; store a whole number as text"),
        ("cls", b"cat", "", r"\.cls: 'cat' isn't a label"),
        ("cls", b"1_0", "", r"\.cls: '1_0' isn't a label"),
        ("cls", b"9999999999", "", r".*isn't a label"),
        ("cls", ENDLESS, "", r"\.cls: a text of 5,000 bytes isn't a label"),
        ("json", b"{", "", r"\.json can't be read: .*; write it again as JSON"),
        ("json", b"[" * 100_000, "", r"\.json can't be read: .*; write it again as JSON"),
        ("json", b"\xff", "", r"\.json can't be read"),
        ("json", b"{}", "", r"\.json has no key 'label'; it has no keys; name the label"),
        ("json", b'{"a": 1, "b": 2}', "json.c", r"\.json has no key 'c'; it has a, b; name the label"),
        ("json", b'{"a": 1}', "json.a.b", r"\.json has no key 'b'; it has no keys"),
        ("json", b'{"label": "cat"}', "", r"\.json: 'cat' isn't a label"),
        ("json", b'{"label": null}', "", r".*isn't a label"),
        ("json", b'{"label": []}', "", r".*isn't a label"),
        ("json", b'{"label": [1, [2]]}', "", r".*isn't a label"),
        ("json", b'{"label": [1, "2"]}', "", r".*isn't a label"),
        ("json", b'{"label": 1e300}', "", r".*isn't a label"),
        ("json", b'{"label": ' + ENDLESS + b"}", "", r".*(isn't a label|can't be read)"),
        ("npy", b"x", "npy", r"\.npy can't be read: it isn't an \.npy file; write it again with numpy\.save"),
        ("npy", npy(np.array([print]), allow_pickle=True), "npy", r"\.npy can't be read: its header doesn't describe"),
    ],
)
def test_bad_labels_are_reported(tmp_path: Path, ending: str, data: bytes, label: str, what: str) -> None:
    source = one(tmp_path, {"a.png": png_of(IMAGES[0]), f"a.{ending}": data}, label=label)
    with pytest.raises(DataError, match=rf"x\.tar: sample 'a': {what}") as caught:
        source.item(source.fetch(0))
    assert len(str(caught.value)) < 1000
    with pytest.raises(DataError, match=what):
        source.labels()


def test_bad_images_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = one(tmp_path, {"a.jpg": b"damaged", "a.cls": b"1"})
    with pytest.raises(DataError, match=r"x\.tar: sample 'a': \.jpg: can't be decoded as an image"):
        source.item(source.fetch(0))
    monkeypatch.setattr(files, "_LARGEST_IMAGE", 6)
    with pytest.raises(DataError, match=r"x\.tar: sample 'a': its image has 7 bytes, more than the largest image, 6"):
        source.fetch(0)


def test_a_long_label_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = one(tmp_path, {"a.jpg": b"", "a.json": json.dumps({"label": 1, "text": "x" * 100}).encode()})
    monkeypatch.setenv(VARIABLE, "text-characters=99")
    with pytest.raises(LimitError, match=r"x\.tar: sample 'a': its label needs .* the limit 'text-characters' allows"):
        source.fetch(0)


def test_a_tar_that_has_changed_is_reported(tars: Path) -> None:
    source = ShardSource(tars)
    with (tars / "train-000002.tar").open("r+b") as file:
        file.truncate(600)
    with pytest.raises(DataError, match=r"train-000002\.tar: sample '0004': \.png is cut short, because the file has"):
        source.fetch(4)
    (tars / "train-000001.tar").unlink()
    with pytest.raises(DataError, match=r"train-000001\.tar"):
        source.fetch(3)


def test_members_of_all_tars_count(tars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "shard-members=14")
    assert len(ShardSource(tars)) == 7
    monkeypatch.setenv(VARIABLE, "shard-members=13")
    with pytest.raises(LimitError, match=r"train-000002\.tar: the data needs 14 members or more"):
        ShardSource(tars)


def test_a_path_shows_whether_it_contains_shards(tars: Path, tmp_path: Path) -> None:
    kinds = {tars: "shards", tars / "train-000000.tar": "shards"}
    write_tar(tmp_path / "texts.tar", {"net.prototxt": b"", "a.txt": b""})
    (tmp_path / "damaged.tar").write_bytes(b"x")
    kinds |= {tmp_path / "texts.tar": "", tmp_path / "damaged.tar": "shards", tmp_path / "no.tar": ""}
    for path, kind in kinds.items():
        found = find_source(str(path))
        assert (found.kind if found else "") == kind, path
    (tars / "labels.txt").write_text("a\n")
    assert find_source(str(tars)) is not None
    (tars / "notes.md").write_text("")
    assert find_source(str(tars)) is None and find_source(f"shards:{tars}") is not None


def test_paths_without_tars_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"the folder has no \.tar files; name the folder .* unpack compressed ones"):
        ShardSource(tmp_path)
    with pytest.raises(DataError, match=r"no\.tar"):
        ShardSource(tmp_path / "no.tar")
    with pytest.raises(DataError, match=r"there is no option 'images'; write the name as shards:PATH\?image=EXTENSION"):
        open_source(f"shards:{tmp_path}?images=jpg")


def test_links_are_not_followed(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        member = tarfile.TarInfo("a.png")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(member)
    with pytest.raises(DataError, match=r"x\.tar: 'a\.png' is a link, which isn't followed"):
        ShardSource(tmp_path / "x.tar")


def test_each_of_several_processes_reads_its_share(tars: Path) -> None:
    read: list[int] = []
    for rank in range(2):
        with open_reader(str(tars), batch_size=2, rank=rank, size=2) as reader:
            read += [int(label) for batch in reader for label in batch["label"]]
    assert read == LABELS[::2] + LABELS[1::2]


def test_bad_samples_can_be_skipped(tmp_path: Path) -> None:
    members = samples(range(4))
    members["0001.png"], members["0002.cls"] = b"damaged", b"cat"

    reading = Reading(one(tmp_path, members), 2)
    with closing(Batches(reading, Loading(bad=BadItems.SKIP))) as batches:
        found = next(iter(batches))
    assert [int(label) for label in found[1].tolist()] == [3, 9]


def test_shards_are_read_from_an_address(put: Put, tars: Path) -> None:
    for path in tars.iterdir():
        put(f"memory://bucket/train/{path.name}", path.read_bytes())
    with open_reader("shards:memory://bucket/train/?part=train", batch_size=6, rank=0, size=1) as reader:
        (batch,) = reader
    np.testing.assert_array_equal(batch["data"], IMAGES[1:])
