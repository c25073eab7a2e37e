"""`zoo data`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import lmdb
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read
from netdsl.errors import StorageError
from netdsl.storage.drivers import DriverStorage
from netdsl.storage.local_copies import local_copy
from netdsl.storage.transfers import INCOMPLETE
from tests.memory_storage import Put, stored

PIXELS = np.random.default_rng(0).integers(0, 256, (3, 5, 4, 3), np.uint8)

MARKED = "objects:train?count=12&side=48&kinds=circle,square"


@pytest.fixture
def folder(zoo) -> None:
    """Write three images of two classes."""
    for number, name in enumerate(["cat/0.png", "dog/1.png", "dog/2.png"]):
        path = Path("in", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(cv2.imencode(".png", PIXELS[number])[1]))


def test_the_help_explains_names_of_data_sets(zoo) -> None:
    code, out, err = zoo("data", "--help")
    assert (code, err) == (0, "")
    assert all(word in out for word in ("convert", "mean", "show", "lmdb:PATH", "digits[:train|:test]"))


@pytest.mark.parametrize("words", [["data", "--help"], ["data", "convert", "--help"]])
def test_the_help_loads_no_slow_modules(words: list[str]) -> None:
    code = "import sys, zoo.cli\ntry: zoo.cli.main()\nexcept SystemExit: print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stdout.splitlines()[-1]))
    assert "zoo.requests.data" in loaded
    assert not loaded & {"numpy", "google.protobuf", "rich", "torch", "netdsl.data"}


def test_converting_needs_no_torch(zoo, folder) -> None:
    code = "import sys, zoo.cli\ntry: zoo.cli.main()\nexcept SystemExit: print('torch' in sys.modules)"
    words = ["data", "convert", "in", "out_lmdb"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout == "3 items written\nFalse\n"


def test_a_data_set_is_converted_and_shown(zoo, folder) -> None:
    assert zoo("data", "convert", "in", "out_lmdb", "--resize", "6x7", "--encoded", "png") == (
        0,
        "3 items written\n",
        "",
    )
    code, out, err = zoo("data", "show", "out_lmdb", "--count", "2")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["out_lmdb:", "3", "items,", "2", "classes", "(cat,", "dog)"],
        ["array", "0:", "3", "x", "6", "x", "7,", "uint8"],
        ["array", "1:", "one", "number,", "float32"],
        ["labels", "of", "2", "of", "them:"],
        ["0", "1", "cat"],
        ["1", "1", "dog"],
    ]


def test_items_can_be_shuffled_and_converted_to_gray(zoo, folder) -> None:
    zoo("data", "convert", "in", "out.parquet", "--shuffle", "--seed", "3", "--gray")
    found = json.loads(zoo("data", "show", "--json", "out.parquet").out)
    assert found["arrays"][0] == {"types": ["uint8"], "shapes": [[1, 5, 4]]}
    assert found["labels"] == {"0": 1, "1": 2}
    first = json.loads(zoo("data", "show", "--json", "out.parquet", "--count", "1").out)
    assert first["labels"] == {"1": 1}


def test_different_sizes_are_listed(zoo, folder) -> None:
    for number in range(5):
        Path(f"in/cat/{number}.png").write_bytes(bytes(cv2.imencode(".png", np.zeros((4 + number, 9, 3), np.uint8))[1]))
    _, out, _ = zoo("data", "show", "in")
    assert "array 0: 3 x 5 x 4, 3 x 4 x 9, 3 x 5 x 9 and 3 more, uint8" in out


def test_bad_items_are_reported_in_one_line(zoo, folder) -> None:
    Path("in/dog/1.png").write_bytes(b"damaged")
    for words in (["convert", "in", "out_lmdb"], ["show", "in"], ["mean", "in", "m.binaryproto"]):
        code, out, err = zoo("data", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("zoo: in/dog/1.png: can't be decoded as an image")
    assert [path.name for path in Path().iterdir()] == ["in"]


def test_bad_items_can_be_skipped_and_are_listed(zoo, folder) -> None:
    Path("in/dog/1.png").write_bytes(b"damaged")
    code, out, err = zoo("data", "convert", "in", "a_lmdb", "--skip-bad")
    assert (code, out) == (0, "2 items written, 1 damaged item skipped\n")
    assert err.startswith("zoo: skipped: in/dog/1.png: can't be decoded") and err.count("\n") == 1
    found = json.loads(zoo("data", "convert", "in", "b_lmdb", "--skip-bad", "--json").out)
    assert (found["written"], len(found["bad"])) == (2, 1)


def test_the_mean_is_written_and_printed_by_channel(zoo, folder) -> None:
    code, out, err = zoo("data", "mean", "in", "m.binaryproto")
    assert (code, err) == (0, "")
    mean = PIXELS.mean(0, dtype=float)
    file = read("m.binaryproto")
    assert isinstance(file.message, pb.BlobProto)
    np.testing.assert_array_equal(file.blobs.array(file.message)[0], mean.transpose(2, 0, 1).astype(np.float32))
    expected = mean.mean((0, 1))
    assert out == "mean of 3 items of 3 x 5 x 4\n" + "".join(f"channel {c}: {expected[c]:.6g}\n" for c in range(3))
    found = json.loads(zoo("data", "mean", "--json", "in", "m.binaryproto").out)
    assert (found["items"], found["shape"]) == (3, [3, 5, 4])
    assert found["channels"] == pytest.approx(expected.tolist(), rel=1e-6)  # the means were rounded to float32


def test_the_mean_is_of_images_as_the_net_sees_them(zoo, folder) -> None:
    Path("in/cat/large.png").write_bytes(bytes(cv2.imencode(".png", np.full((9, 9, 3), (10, 20, 30), np.uint8))[1]))
    code, _, err = zoo("data", "mean", "in", "m.binaryproto")
    assert code == 2 and "resize them with --resize" in err
    code, out, err = zoo("data", "mean", "in", "--resize", "4x6", "--crop", "2x2", "--scale", "0.5", "--rgb")
    assert (code, err) == (0, "") and out.startswith("mean of 4 items of 3 x 2 x 2\n")
    means = json.loads(zoo("data", "mean", "in", "--resize", "4x6", "--json").out)["channels"]
    scaled = json.loads(zoo("data", "mean", "in", "--resize", "4x6", "--scale", "0.5", "--rgb", "--json").out)
    assert scaled["channels"] == pytest.approx([value / 2 for value in means[::-1]])
    assert not Path("m.binaryproto").exists()


def test_the_mean_is_prepared_like_the_images_of_a_net(zoo, folder) -> None:
    Path("net.prototxt").write_text(
        'layer { name: "data" type: "ImageData" top: "data" top: "label" transform_param { crop_size: 2 scale: 0.1 '
        'mirror: true mean_value: 7 } image_data_param { source: "list.txt" batch_size: 2 new_height: 6 new_width: 5 '
        "is_color: false } }"
    )
    code, out, err = zoo("data", "mean", "in", "m.binaryproto", "--like", "net.prototxt")
    gray = json.loads(zoo("data", "mean", "in", "--gray", "--resize", "6x5", "--json").out)["channels"][0]
    assert (code, err) == (0, "") and out == f"mean of 3 items of 1 x 6 x 5\nchannel 0: {gray:.6g}\n"
    code, _, err = zoo("data", "mean", "in", "--like", "net.prototxt", "--gray")
    assert code == 2 and "--like already sets the size and the channels" in err


def test_a_contact_sheet_is_a_png(zoo, folder) -> None:
    code, _, err = zoo("data", "show", "in", "-o", "sheet.png")
    assert (code, err) == (0, "")
    sheet = cv2.imread("sheet.png")
    shown = {tuple(color) for color in sheet.reshape(-1, 3).tolist()}
    assert shown >= {tuple(color) for color in PIXELS.reshape(-1, 3).tolist()}
    zoo("data", "show", "in", "-o", "sheet.png", "--rgb")
    assert np.array_equal(cv2.imread("sheet.png")[6:60, 6:60], sheet[6:60, 6:60, ::-1])


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["show", "gone"], "zoo: gone: there is no such file or folder; name it as KIND:PATH"),
        (["convert", "in", "out"], "zoo: out: the name doesn't state a format"),
        (["convert", "in", "in.lmdb/x_lmdb"], "zoo: in.lmdb/x_lmdb: there is no folder in.lmdb"),
        (["mean", "in", "m.txt"], "zoo: m.txt: can't tell the format from the name"),
        (["show", "in", "-o", "no/sheet.png"], "zoo: no/sheet.png: can't be written: No such file"),
        (
            ["mean", "digits:none", "m.binaryproto"],
            "zoo: digits:none: there is no such source; choose from digits, digits:train",
        ),
    ],
)
def test_impossible_requests_are_reported_in_one_line(zoo, folder, words: list[str], what: str) -> None:
    code, out, err = zoo("data", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(what)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--resize", "6"], "'6' isn't a height and a width"),
        (["--resize", "6x0"], "'6x0' isn't a height and a width"),
        (["--encoded", "gif"], "'gif' is not one of 'jpg', 'png'"),
    ],
)
def test_a_wrong_call_is_reported(zoo, folder, words: list[str], what: str) -> None:
    code, out, err = zoo("data", "convert", "in", "out_lmdb", *words)
    assert (code, out) == (2, "")
    assert what in err


@pytest.mark.parametrize("target", ["in", "out_lmdb", "out.parquet"])
def test_every_class_is_shown_with_its_name(zoo, target: str) -> None:
    """The first items are all of one class."""
    for name, count in (("cat", 70), ("dog", 3), ("horse", 1)):
        for number in range(count):
            path = Path("in", name, f"{number:02}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(cv2.imencode(".png", PIXELS[0])[1]))
    if target != "in":
        zoo("data", "convert", "in", target)
    done = zoo("data", "show", target, "-o", "sheet.png")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{target}: 74 items, 3 classes (cat, dog, horse)\n")
    assert [line.split() for line in done.out.splitlines()[-4:]] == [
        ["0", "60", "cat"],
        ["1", "3", "dog"],
        ["2", "1", "horse"],
        ["wrote", "sheet.png"],
    ]
    found = json.loads(zoo("data", "show", target, "--count", "2", "--json").out)
    assert (found["classes"], found["labels"]) == (["cat", "dog", "horse"], {"0": 1, "1": 1})


@pytest.fixture
def voc(zoo) -> None:
    """Write a Pascal VOC folder V."""
    assert zoo("data", "convert", MARKED, "voc:V").code == 0


def test_sets_are_converted_and_losses_are_reported(zoo, voc) -> None:
    code, out, err = zoo("data", "convert", "V", "train_lmdb")
    objects = int(out.split()[3])
    assert code == 0 and out == f"12 images with {objects} objects written\n" and objects >= 12
    lost = (
        f"zoo: left out: masks ({objects}), which train_lmdb can't store; `maps:FOLDER` stores the class of each pixel"
    )
    assert err.splitlines()[-1] == lost
    assert sorted(path.name for path in Path("train_lmdb").iterdir()) == [
        "data.mdb",
        "labelmap.prototxt",
        "test_name_size.txt",
    ]
    report = json.loads(zoo("data", "convert", "train_lmdb", "coco:c.json", "--json").out)
    assert (report["written"], report["objects"], report["bad"]) == (12, objects, [])


def test_boxes_of_a_database_equal_those_of_pascal_voc(zoo, voc) -> None:
    """Caffe-SSD's numbers begin at 1, as the files' do, so netdsl reads a database in the form in which it was
    written."""
    zoo("data", "convert", "V", "train_lmdb")
    zoo("data", "convert", "train_lmdb", "voc:again")
    for path in Path("V/Annotations").iterdir():
        lines = [
            text.split("<folder>")[0] for text in path.read_text().splitlines() if "min>" in text or "max>" in text
        ]
        again = Path("again/Annotations", path.name).read_text().splitlines()
        assert sorted(lines) == sorted(text for text in again if "min>" in text or "max>" in text)
    zoo("data", "convert", "train_lmdb?first_pixel=1", "coco:one.json")
    zoo("data", "convert", "V", "coco:voc.json")
    boxes = [
        sorted(annotation["bbox"] for annotation in json.loads(Path(name).read_text())["annotations"])
        for name in ("one.json", "voc.json")
    ]
    assert len(boxes[0]) == len(boxes[1])
    for one, other in zip(*boxes, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_a_set_is_shown_with_its_boxes(zoo, voc) -> None:
    code, out, err = zoo("data", "show", "V", "--sheet", "sheet.png", "--count", "4")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    objects = int(lines[0][3])
    assert lines[0] == ["V:", "12", "images,", str(objects), "objects", "of", "2", "classes"]
    assert lines[1] == ["sizes:", "48", "x", "48", "(12)"]
    assert [line[1] for line in lines[2:4]] == ["circle,", "square,"]
    assert sum(int(line[0]) for line in lines[2:4]) == objects
    assert out.endswith("with masks\n  with maps of classes: 12 images\nwrote sheet.png\n")
    assert cv2.imread("sheet.png").shape[1] > 2 * 192
    found = json.loads(zoo("data", "show", "V", "--json").out)
    assert found["images"] == 12 and found["small"] + found["medium"] == found["objects"] == objects
    assert found["sizes"] == [{"height": 48, "width": 48, "images": 12}]


def test_people_become_records_of_poses_that_are_shown(zoo) -> None:
    zoo("data", "convert", "people:train?count=12", "coco:people.json")
    code, out, err = zoo("data", "convert", "people.json", "poses:people_lmdb", "--shuffle")
    assert (code, out) == (0, "13 records written, one for each person, with 17 joints\n")
    assert "people with joints but without their own record: 6 (too few joints, too small, or too near" in err
    report = json.loads(zoo("data", "convert", "people.json", "poses:again", "--json").out)
    assert report == {"written": 13, "joints": 17, "beside": 6, "bad": []}
    for name in ("people_lmdb", "poses:people_lmdb?joints=17"):
        code, out, _ = zoo("data", "show", name, "--sheet", "sheet.png")
        assert code == 0 and out.startswith(f"{name}: 13 images, 28 objects of 1 classes\n")
        assert "of these: 1 crowds, 1 with masks, 27 with joints" in out
    yellow = (cv2.imread("sheet.png") == (0, 255, 255)).all(2)
    assert yellow.sum() > 1000


def test_image_options_are_refused_for_poses(zoo) -> None:
    code, _, err = zoo("data", "convert", "people:train?count=2", "poses:out", "--gray")
    assert code == 2 and "images of people are copied unchanged" in err
    code, _, err = zoo("data", "convert", "digits", "poses:out")
    assert code == 2 and "this format needs images with marked objects" in err


def test_maps_of_classes_are_shown_laid_over(zoo) -> None:
    zoo("data", "convert", MARKED, "maps:maps")
    for name in Path("maps/images").iterdir():
        cv2.imwrite(str(name), np.zeros((48, 48, 3), np.uint8))
    code, out, _ = zoo("data", "show", "maps", "--sheet", "sheet.png")
    assert code == 0
    shown = ["maps: 12 images, 0 objects of 2 classes (circle, square)", "  sizes: 48 x 48 (12)"]
    assert out.splitlines() == [*shown, "  with maps of classes: 12 images", "wrote sheet.png"]
    sheet = cv2.imread("sheet.png")
    dark_red, dark_green = (np.rint(0.45 * 128 * np.array(color)) for color in ((0, 0, 1), (0, 1, 0)))
    for color in (dark_red, dark_green):  # Pascal VOC's colors of the first two classes, over black
        assert (abs(sheet - color).max(-1) <= 1).sum() > 100


def test_likely_mistakes_are_counted(zoo, voc) -> None:
    path = next(path for path in Path("V/Annotations").iterdir() if path.read_text().count("<object>") == 1)
    text = path.read_text()
    start, end = text.index("<xmax>"), text.index("</xmax>")
    path.write_text(f"{text[:start]}<xmax>99{text[end:]}")
    other = next(each for each in Path("V/Annotations").iterdir() if each != path)
    other.write_text("<annotation>")
    code, out, err = zoo("data", "show", "V")
    assert code == 0 and "1 partly outside" in out
    assert err.startswith(f"zoo: 1 image can't be read; the first: {other}:1: not well-formed XML")
    assert zoo("data", "convert", "V", "out_lmdb") == (2, "", err.replace("1 image can't be read; the first: ", ""))
    done = zoo("data", "convert", "V", "out_lmdb", "--skip-bad")
    assert done.out.endswith(", 1 damaged image skipped\n") and f"zoo: skipped: {other}:1" in done.err


def test_sides_and_parts_can_be_chosen(zoo, voc) -> None:
    zoo("data", "convert", "V?part=test", "small_lmdb", "--max-dim", "24", "--encoded", "jpg")
    with lmdb.open("small_lmdb", readonly=True, lock=False) as environment, environment.begin() as transaction:
        records = [pb.AnnotatedDatum.FromString(value).datum for _, value in transaction.cursor()]
    assert [(datum.height, datum.width) for datum in records] == [(24, 24)] * 2
    assert all(datum.data.startswith(b"\xff\xd8") for datum in records)
    done = zoo("data", "convert", "V", "x_lmdb", "--max-dim", "24", "--resize", "3x4")
    assert done.code == 2 and "give one of them" in done.err
    shutil.rmtree("small_lmdb")
    done = zoo("data", "convert", "digits", "x_lmdb", "--min-dim", "24")
    assert done.code == 2 and "are for images with objects" in done.err
    done = zoo("data", "convert", "V", "x.parquet")
    assert done.code == 2 and "the name doesn't state a format; use lmdb:PATH" in done.err
    done = zoo("data", "convert", "digits", "voc:x")
    assert (
        done.code == 2 and "voc:x: this format needs images with marked objects, and digits contains none" in done.err
    )


@pytest.mark.parametrize(
    ("target", "read", "last"),
    [
        ("lmdb:ADDRESS", "lmdb:ADDRESS", "out/data.mdb"),
        ("leveldb:ADDRESS", "leveldb:ADDRESS", "out/CURRENT"),
        ("ADDRESS.parquet", "ADDRESS.parquet", "out.parquet"),
        ("folder:ADDRESS", "folder:ADDRESS", ""),
        ("shards:ADDRESS?samples=2", "shards:ADDRESS?image=png&label=cls", ""),
    ],
    ids=["lmdb", "leveldb", "parquet", "folder", "shards"],
)
def test_items_are_published_and_read_again(
    zoo, folder, put: Put, published: list[str], target: str, read: str, last: str
) -> None:
    words = ["data", "convert", "../in", target.replace("ADDRESS", "memory://bucket/out")]
    done = zoo(*words)
    assert done.code == 0, done.err
    assert published[-1].endswith(last) and not list(Path.cwd().iterdir())
    assert not [name for name in stored() if INCOMPLETE in name]
    source = read.replace("ADDRESS", "memory://bucket/out")
    shown = zoo("data", "show", source, "--json")
    assert shown.code == 0 and json.loads(shown.out)["items"] == 3, shown.err
    before = stored()
    again = zoo(*words)
    assert again.code == 2 and "the address has files already; remove them, or choose another name" in again.err
    assert stored() == before


@pytest.mark.parametrize("kind", ["voc", "yolo", "maps", "lmdb"])
def test_sets_are_published_and_read_again(zoo, put: Put, kind: str) -> None:
    done = zoo("data", "convert", MARKED, f"{kind}:memory://bucket/set")
    assert done.code == 0, done.err
    option = "?first_pixel=0" if kind == "lmdb" else ""
    shown = zoo("data", "show", f"{kind}:memory://bucket/set{option}", "--json")
    assert shown.code == 0 and json.loads(shown.out)["images"] == 12, shown.err


def test_a_coco_file_is_published_after_its_images(zoo, put: Put, published: list[str]) -> None:
    assert zoo("data", "convert", MARKED, "coco:memory://bucket/set.json").code == 0
    assert published[-1] == "memory://bucket/set.json" and len(published) == 13
    shown = zoo("data", "show", "coco:memory://bucket/set.json?images=memory://bucket/set", "--json")
    assert shown.code == 0 and json.loads(shown.out)["images"] == 12, shown.err
    put("memory://bucket/other/1.png", b"")
    done = zoo("data", "convert", MARKED, "coco:memory://bucket/other.json")
    assert done.code == 2 and "memory://bucket/other: the address has files already" in done.err


def test_data_that_are_not_complete_are_not_read(zoo, folder, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put_file = DriverStorage.put

    def put_or_fail(storage: DriverStorage, path: Path, address: str) -> None:
        if address.endswith("labels.txt"):
            with pytest.raises(StorageError, match=r"^memory://bucket/out: the folder isn't complete"):
                local_copy("memory://bucket/out")
            raise StorageError("the storage is gone")
        put_file(storage, path, address)

    monkeypatch.setattr(DriverStorage, "put", put_or_fail)
    done = zoo("data", "convert", "../in", "folder:memory://bucket/out")
    assert done.code == 2 and "the storage is gone; copy the result from " in done.err
    assert not stored()
    put(f"memory://bucket/out/{INCOMPLETE}", "of a command that was killed")
    done = zoo("data", "convert", "../in", "folder:memory://bucket/out")
    assert done.code == 2 and "remove the folder and write it again" in done.err


def test_streams_need_a_folder_on_this_machine(zoo, put: Put) -> None:
    Path("text.txt").write_text("a text " * 20)
    done = zoo("data", "convert", "text:text.txt?streams=2", "memory://bucket/streams")
    assert done.code == 2 and "memory://bucket/streams: this must be a folder on this machine" in done.err
