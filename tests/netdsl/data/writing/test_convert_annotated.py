"""Writing images with objects in every format, and reading them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, Edges, Joint, MarkedObject
from netdsl.data.sources.annotations.drawn import DrawnObjects
from netdsl.data.sources.annotations.masks import class_map, object_map
from netdsl.data.sources.class_names import read_class_names
from netdsl.data.sources.open_source import open_annotated_set, parse_source
from netdsl.data.sources.source import DataSplit
from netdsl.data.sources.source_name import Content
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.data.writing.convert import Conversion
from netdsl.data.writing.convert_annotated import convert_annotated, first_pixel_of
from netdsl.data.writing.image_files import ImageFormat
from netdsl.errors import DataError
from tests.small_data import records_in

OBJECTS = (
    MarkedObject(2, Edges(1, 2, 9, 8), truncated=True),
    MarkedObject(1, Edges(0, 0, 30, 20), difficult=True),
    MarkedObject(2, Edges(11, 5, 12, 6)),
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class ListedImages:
    """A set of images that a test defines."""

    classes = ("background", "cat", "dog")

    def __init__(self, images: Sequence[AnnotatedImage], first_pixel: int = 0) -> None:
        self._images, self.first_pixel = images, first_pixel

    def __len__(self) -> int:
        return len(self._images)

    def image(self, index: int) -> AnnotatedImage:
        return self._images[index]


def picture(
    name: str = "a", *objects: MarkedObject, height: int = 20, width: int = 30, ending: str = "jpg"
) -> AnnotatedImage:
    pixels = np.random.default_rng(3).integers(0, 256, (height, width, 3), np.uint8)
    data = bytes(cv2.imencode(f".{ending}", pixels)[1])
    return AnnotatedImage(name, Path(f"{name}.{ending}"), height, width, objects, encoded=data)


def records(path: str) -> list[tuple[bytes, pb.AnnotatedDatum]]:
    return [(key, pb.AnnotatedDatum.FromString(value)) for key, value in records_in(path)]


def images(annotated: AnnotatedSet) -> list[AnnotatedImage]:
    return [annotated.image(index) for index in range(len(annotated))]


def test_a_record_equals_that_of_ssds_own_program() -> None:
    """The expected record follows convert_annoset's rule by hand: the numbers of the XML divided by the size, in
    groups."""
    image = picture("VOC2007/JPEGImages/000001", *OBJECTS)
    report = convert_annotated(ListedImages([image], first_pixel=1), "train_lmdb")
    assert (report.written, report.objects) == (1, 3)
    assert report.left_out == {"marks of truncated objects": 1}
    ((key, record),) = records("train_lmdb")
    assert key == b"00000000_VOC2007/JPEGImages/000001.jpg"
    assert record.type == pb.AnnotatedDatum.BBOX and record.HasField("type")
    assert record.datum == pb.Datum(data=image.encoded, label=-1, encoded=True)
    dogs, cats = record.annotation_group
    assert (dogs.group_label, cats.group_label) == (2, 1)
    assert [annotation.instance_id for annotation in dogs.annotation] == [0, 1]
    boxes = [annotation.bbox for group in (dogs, cats) for annotation in group.annotation]
    expected = [(2 / 30, 3 / 20, 9 / 30, 8 / 20), (12 / 30, 6 / 20, 12 / 30, 6 / 20), (1 / 30, 1 / 20, 1, 1)]
    corners = [[box.xmin, box.ymin, box.xmax, box.ymax] for box in boxes]
    np.testing.assert_array_equal(np.array(corners, np.float32), np.array(expected, np.float32))
    assert [box.difficult for box in boxes] == [False, False, True]
    assert Path("train_lmdb/labelmap.prototxt").read_text().split() == [
        "item",
        "{",
        "name:",
        '"none_of_the_above"',
        "label:",
        "0",
        "display_name:",
        '"background"',
        "}",
        "item",
        "{",
        "name:",
        '"cat"',
        "label:",
        "1",
        "display_name:",
        '"cat"',
        "}",
        "item",
        "{",
        "name:",
        '"dog"',
        "label:",
        "2",
        "display_name:",
        '"dog"',
        "}",
    ]
    assert Path("train_lmdb/test_name_size.txt").read_text() == "000001 20 30\n"


def test_a_crowd_is_difficult_in_a_record_and_numbers_begin_at_zero() -> None:
    crowd = MarkedObject(1, Edges(1.5, 2.25, 9, 8), crowd=True)
    report = convert_annotated(ListedImages([picture("a", crowd)]), "out_lmdb")
    box = records("out_lmdb")[0][1].annotation_group[0].annotation[0].bbox
    assert box.difficult and box.xmin == np.float32(1.5) / np.float32(30)
    assert report.left_out == {"marks of crowds": 1}


def same_objects(first: AnnotatedImage, second: AnnotatedImage) -> None:
    def sorted_objects(image: AnnotatedImage) -> list[MarkedObject]:
        plain = (replace(marked, runs=None, area=None, truncated=False) for marked in image.objects)
        return sorted(plain, key=lambda marked: (marked.label, marked.edges))

    assert (first.height, first.width, first.read()) == (second.height, second.width, second.read())
    assert sorted_objects(first) == sorted_objects(second)


@pytest.mark.parametrize("database", ["lmdb", "leveldb"])
def test_pascal_voc_survives_a_database(database: str) -> None:
    made = DrawnObjects(DataSplit.TRAIN, count=6, side=64)
    convert_annotated(made, "voc:first?set=train")
    first = open_annotated_set("voc:first?set=train")
    convert_annotated(first, f"{database}:middle")
    assert parse_source("middle").content is Content.MARKED_IMAGES
    middle = open_annotated_set("middle", first_pixel=first_pixel_of("voc:second"))
    convert_annotated(middle, "voc:second")
    second = open_annotated_set("second")
    assert first.classes == middle.classes == second.classes == made.classes
    for one, other in zip(images(first), images(second), strict=True):
        same_objects(one, other)
    for one, other in zip(images(made), images(first), strict=True):
        same_objects(one, other)


@pytest.mark.parametrize("target", ["coco:out/some.json", "yolo:out/some", "lmdb:out/some"])
def test_boxes_survive_other_formats(target: str) -> None:
    Path("out").mkdir()
    made = ListedImages([picture("b", OBJECTS[0], OBJECTS[2]), picture("c", ending="png")])
    report = convert_annotated(made, target)
    assert (report.written, report.objects) == (2, 2)
    read = open_annotated_set(target)
    assert read.classes == made.classes and len(read) == 2
    for one, other in zip(images(made), images(read), strict=True):
        assert (one.name, one.read()) == (other.name, other.read())
        assert [marked.label for marked in one.objects] == [marked.label for marked in other.objects]
        edges = [marked.edges for marked in one.objects]
        np.testing.assert_allclose([marked.edges for marked in other.objects], edges, atol=1e-6)


def test_masks_are_the_same_in_cocos_file_and_in_pascal_vocs_maps() -> None:
    triangle = MarkedObject(1, Edges(2, 2, 12, 12), outlines=(((2, 2), (12, 2), (2, 12)),))
    drawn = images(DrawnObjects(DataSplit.TEST, count=3, kinds=("circle", "star")))
    made = ListedImages([picture("outlined", triangle), *drawn])
    report = convert_annotated(made, "coco:c.json")
    assert set(report.left_out) <= {"marks of truncated objects"}
    coco = images(open_annotated_set("c.json"))
    assert coco[0].objects[0].outlines == triangle.outlines and coco[0].objects[0].area == 50
    convert_annotated(open_annotated_set("c.json"), "voc:v")
    voc = open_annotated_set("v")
    convert_annotated(voc, "coco:again.json")
    for index, one in enumerate(images(made)):
        others = [coco[index], voc.image(index), open_annotated_set("again.json").image(index)]
        for pixels in (class_map, object_map):
            expected = pixels(one)
            assert expected is not None and expected.any()
            for other in others:
                np.testing.assert_array_equal(pixels(other), expected)
    again = open_annotated_set("again.json")
    for index, one in enumerate(drawn, 1):
        assert [marked.area for marked in again.image(index).objects] == [marked.area for marked in one.objects]
    with Image.open("v/SegmentationClass/outlined.png") as map_:
        assert map_.mode == "P" and map_.getpalette()[:9] == [0, 0, 0, 128, 0, 0, 0, 128, 0]
    assert Path("v/ImageSets/Segmentation/trainval.txt").read_text().split() == [image.name for image in images(made)]
    expected = np.tril(np.ones((10, 10), bool), -1)[::-1]  # pixel centers on its edge are outside
    np.testing.assert_array_equal(class_map(made.image(0))[2:12, 2:12] == 1, expected)


def test_the_smaller_of_two_overlapping_objects_is_on_top() -> None:
    def square(side: float) -> tuple[tuple[float, float], ...]:
        return (0.0, 0.0), (side, 0.0), (side, side), (0.0, side)

    small, large = (MarkedObject(side // 4, Edges(0, 0, side, side), outlines=(square(side),)) for side in (4, 8))
    for objects in ((small, large), (large, small)):
        pixels = class_map(picture("a", *objects))
        assert pixels is not None and pixels[2, 2] == 1 and pixels[6, 6] == 2


def test_maps_come_with_a_list_for_layers_and_mark_unknown_pixels() -> None:
    square = tuple((float(x), float(y)) for x, y in ((0, 0), (4, 0), (4, 4), (0, 4)))
    crowd = MarkedObject(2, Edges(6, 0, 9, 3), crowd=True, outlines=(tuple((x + 6, y) for x, y in square),))
    made = ListedImages(
        [
            picture(
                "a",
                MarkedObject(1, Edges(0, 0, 4, 4), outlines=(square,)),
                crowd,
                MarkedObject(2, Edges(10, 10, 13, 12)),
            )
        ]
    )
    convert_annotated(made, "maps:out")
    assert Path("out/list.txt").read_text() == "images/a.jpg labels/a.png\n"
    assert read_class_names("out/labels.txt") == made.classes
    expected = np.zeros((20, 30), np.uint8)
    expected[:4, :4], expected[:4, 6:10], expected[10:12, 10:13] = 1, 255, 255
    np.testing.assert_array_equal(cv2.imread("out/labels/a.png", cv2.IMREAD_UNCHANGED), expected)
    with pytest.raises(DataError, match="the pixels of its objects are unknown"):
        convert_annotated(ListedImages([picture("a", *OBJECTS)]), "maps:other")
    assert not Path("other").exists()


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        (Conversion(size=(40, 90)), (40, 90)),
        (Conversion(min_side=50), (50, 75)),
        (Conversion(min_side=10), (20, 30)),
        (Conversion(min_side=50, max_side=60), (40, 60)),
        (Conversion(max_side=15), (10, 15)),
    ],
)
def test_resized_images_keep_the_boxes_fractions(settings: Conversion, size: tuple[int, int]) -> None:
    """The sizes that SSD's ReadImageToCVMat computes from min_dim and max_dim."""
    made = ListedImages([picture("a", *OBJECTS)], first_pixel=1)
    convert_annotated(made, "plain_lmdb")
    convert_annotated(made, "resized_lmdb", settings)
    ((_, plain),), ((_, resized),) = records("plain_lmdb"), records("resized_lmdb")
    assert plain.annotation_group == resized.annotation_group
    decoded = cv2.imdecode(np.frombuffer(resized.datum.data, np.uint8), cv2.IMREAD_COLOR)
    assert decoded.shape[:2] == size
    if size != (20, 30):
        assert (resized.datum.height, resized.datum.width, resized.datum.channels) == (*size, 3)
    assert Path("resized_lmdb/test_name_size.txt").read_text() == "a 20 30\n"
    if not settings.size and size != (20, 30):
        pixels = cv2.imdecode(np.frombuffer(made.image(0).read(), np.uint8), cv2.IMREAD_COLOR)
        scale = float(np.float32(size[1]) / np.float32(30))
        expected = cv2.resize(pixels, (0, 0), fx=scale, fy=scale)
        convert_annotated(made, "png_lmdb", replace(settings, encoded=ImageFormat.PNG))
        encoded = np.frombuffer(records("png_lmdb")[0][1].datum.data, np.uint8)
        np.testing.assert_array_equal(cv2.imdecode(encoded, cv2.IMREAD_COLOR), expected)
    convert_annotated(made, "coco:resized.json", settings)
    image = open_annotated_set("resized.json").image(0)
    assert (image.height, image.width) == size
    scales = np.array([size[1] / 30, size[0] / 20] * 2)
    np.testing.assert_allclose(image.objects[0].edges, np.array(OBJECTS[0].edges) * scales)


def test_coco_keeps_joints_and_other_formats_report_their_loss() -> None:
    joints = Joint(5, 8, Visibility.SHOWN), Joint(10.5, 4, Visibility.HIDDEN), Joint(0, 0, Visibility.UNKNOWN)
    made = ListedImages(
        [picture("a", MarkedObject(1, Edges(1, 2, 9, 8), joints=joints), MarkedObject(2, OBJECTS[0].edges))]
    )
    assert "joints" not in convert_annotated(made, "coco:same.json").left_out
    assert open_annotated_set("same.json").image(0).objects[0].joints == joints
    convert_annotated(made, "coco:large.json", Conversion(size=(40, 90)))
    assert open_annotated_set("large.json").image(0).objects[0].joints[:2] == ((15, 16, 1), (31.5, 8, 0))
    for target in ("lmdb:lost", "voc:lost_voc", "yolo:lost_yolo"):
        assert convert_annotated(made, target).left_out["joints"] == 1


def test_images_are_encoded_again_only_if_they_must_be() -> None:
    made = ListedImages([picture("a"), picture("b", ending="png"), picture("c", ending="bmp")])
    convert_annotated(made, "kept_lmdb")
    kept = [record.datum for _, record in records("kept_lmdb")]
    assert [datum.data == made.image(index).encoded for index, datum in enumerate(kept)] == [True, True, False]
    assert ImageFormat.PNG.matches(kept[2].data)
    convert_annotated(made, "jpg_lmdb", Conversion(encoded=ImageFormat.JPG))
    assert all(ImageFormat.JPG.matches(record.datum.data) for _, record in records("jpg_lmdb"))
    convert_annotated(made, "gray_lmdb", Conversion(gray=True))
    assert [record.datum.channels for _, record in records("gray_lmdb")] == [1, 1, 1]


def test_a_conversion_is_complete_or_leaves_nothing_unless_bad_images_are_skipped() -> None:
    bad = replace(picture("b"), height=21)
    made = ListedImages([picture("a"), bad, picture("c"), picture("other/a")])
    for target in ("out_lmdb", "voc:out", "coco:out.json", "yolo:out", "maps:out"):
        with pytest.raises(
            DataError, match=r"b\.jpg: the image has 20 x 30 pixels, but its annotations are for 21 x 30"
        ):
            convert_annotated(made, target)
        assert not list(Path().iterdir())
    report = convert_annotated(made, "out_lmdb", Conversion(skip_bad=True))
    assert report.written == 2 and len(report.bad) == 2 and "two images have the name 'a'" in report.bad[1]
    assert [key for key, _ in records("out_lmdb")] == [b"00000000_a.jpg", b"00000002_c.jpg"]
    with pytest.raises(DataError, match="exists already"):
        convert_annotated(made, "out_lmdb")


def test_an_image_that_would_have_no_pixels_is_refused() -> None:
    with pytest.raises(DataError, match=r"a\.jpg: the image has 1 x 90 pixels, too few"):
        convert_annotated(ListedImages([picture("a", height=1, width=90)]), "x_lmdb", Conversion(max_side=9))


def test_a_seed_shuffles_the_images() -> None:
    made = DrawnObjects(DataSplit.TRAIN, count=8, side=32)
    for seed in (1, 2):
        convert_annotated(made, f"lmdb:{seed}", Conversion(seed=seed))
    orders = [[key.partition(b"_")[2] for key, _ in records(str(seed))] for seed in (1, 2)]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1] != sorted(orders[1])


@pytest.mark.parametrize("target", ["out", "voc:", "lmdb:out?set=a", "voc:out?set=../a", "voc:out?set=", "tiff:out"])
def test_a_targets_name_decides_its_format(target: str) -> None:
    with pytest.raises(DataError, match=r"use lmdb:PATH, .*voc:FOLDER|write the name as"):
        convert_annotated(ListedImages([picture()]), target)


def test_in_pascal_voc_fractions_become_the_pixels_that_a_box_touches() -> None:
    made = ListedImages([picture("a", MarkedObject(1, Edges(1.2, 2.0, 8.9, 8.00001)))])
    convert_annotated(made, "voc:out")
    text = Path("out/Annotations/a.xml").read_text()
    assert [
        f"<{name}>{number}</{name}>" in text for name, number in (("xmin", 2), ("ymin", 3), ("xmax", 9), ("ymax", 8))
    ]
    assert open_annotated_set("out").image(0).objects[0].edges == Edges(1, 2, 9, 8)
