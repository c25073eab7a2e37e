"""Pascal VOC folders."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.annotations.annotated_image import Edges, MarkedObject
from netdsl.data.sources.annotations.voc import VOC_CLASSES, VocFolder
from netdsl.errors import DataError

OBJECT = """<object>
  <name>{name}</name><truncated>{truncated}</truncated><difficult>{difficult}</difficult>
  <part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>
  <bndbox><xmax>9</xmax><xmin>2</xmin><ymin>3</ymin><ymax>8</ymax></bndbox>
</object>
"""
SIZE = "<size><width>30</width><height>20</height><depth>3</depth></size>"


def put_image(folder: Path, name: str, *objects: str, size: str = SIZE) -> None:
    for part in ("Annotations", "JPEGImages"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "Annotations" / f"{name}.xml").write_text(f"<annotation>\n{size}\n{''.join(objects)}</annotation>")
    assert cv2.imwrite(str(folder / "JPEGImages" / f"{name}.jpg"), np.zeros((20, 30, 3), np.uint8))


def cat(name: str = "cat", *, truncated: int = 0, difficult: int = 0) -> str:
    return OBJECT.format(name=name, truncated=truncated, difficult=difficult)


def test_boxes_count_pixels_from_one_and_include_their_last(tmp_path: Path) -> None:
    put_image(tmp_path / "VOC2007", "000005", cat(difficult=1), cat("person", truncated=1))
    voc = VocFolder(tmp_path)
    image = voc.image(0)
    assert (image.name, image.height, image.width) == ("000005", 20, 30)
    assert image.path == tmp_path / "VOC2007" / "JPEGImages" / "000005.jpg"
    assert image.objects == (
        MarkedObject(8, Edges(1, 2, 9, 8), difficult=True),
        MarkedObject(15, Edges(1, 2, 9, 8), truncated=True),
    )
    assert voc.classes == ("background", *VOC_CLASSES) and voc.first_pixel == 1


def test_custom_classes_are_found_in_the_annotations_or_named_by_a_file(tmp_path: Path) -> None:
    put_image(tmp_path, "a", cat("zebra"), cat("cat"))
    assert VocFolder(tmp_path).classes == ("background", "cat", "zebra")
    (tmp_path / "labelmap.prototxt").write_text(
        'item { name: "none_of_the_above" label: 0 display_name: "background" }'
        'item { name: "cat" label: 2 display_name: "Cat" } item { name: "zebra" label: 1 }'
    )
    voc = VocFolder(tmp_path)
    assert voc.classes == ("background", "zebra", "Cat")
    assert [marked.label for marked in voc.image(0).objects] == [1, 2]
    (tmp_path / "names").write_text("dog\ncat\n")
    with pytest.raises(DataError, match=r"a\.xml:3: there is no class 'zebra' among dog, cat"):
        VocFolder(tmp_path, classes=tmp_path / "names").image(0)


def test_a_list_selects_the_images(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        put_image(tmp_path, name)
    for part in ("Main", "Segmentation"):
        (tmp_path / "ImageSets" / part).mkdir(parents=True)
    (tmp_path / "ImageSets" / "Main" / "cat_train.txt").write_text("c -1\na  1\n")
    (tmp_path / "ImageSets" / "Segmentation" / "val.txt").write_text("b\n")
    named = [VocFolder(tmp_path, image_set=name) for name in (None, "cat_train", "Segmentation/val")]
    assert [[voc.image(i).name for i in range(len(voc))] for voc in named] == [["a", "b", "c"], ["c", "a"], ["b"]]
    with pytest.raises(DataError, match=r"trainval\.txt: there is no such list of images; choose from cat_train"):
        VocFolder(tmp_path, image_set="trainval")
    with pytest.raises(DataError, match="isn't below"):
        VocFolder(tmp_path, image_set="../../secret")


def test_an_images_size_is_read_from_its_file_if_its_xml_lacks_it(tmp_path: Path) -> None:
    put_image(tmp_path, "a", size="")
    image = VocFolder(tmp_path).image(0)
    assert (image.height, image.width) == (20, 30)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<annotation>\n<object></annotation>", ":2: not well-formed XML: mismatched tag"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>\n<annotation>&b;</annotation>', ":1: the file has a DTD"),
        ("<a>" * 70 + "</a>" * 70, "more than 64 deep"),
        ("<other/>", ":1: the root is <other>, but annotations begin with <annotation>"),
        (f"<annotation>\n{SIZE}\n<object>\n<name>cat</name></object></annotation>", ":3: <object> has no <bndbox>"),
        (f"<annotation>{SIZE}{cat().replace('>9<', '>nine<')}</annotation>", ":4: 'nine' isn't a number"),
        (f"<annotation>{SIZE}{cat().replace('>9<', '>nan<')}</annotation>", ":4: 'nan' isn't a number"),
        (f"<annotation>{SIZE}{cat().replace('>9<', '>0<')}</annotation>", ":4: the box .* ends before it begins"),
        (f"<annotation>{SIZE}{cat().replace('>9<', '>1e30<')}</annotation>", ":4: a box has edges .* where no image"),
        ("<annotation><size><width>1</width><height>-1</height></size></annotation>", "an image can't have height"),
        ("<?xml version='1.0' encoding='nothing'?><annotation/>", "encoding"),
    ],
)
def test_bad_annotations_are_reported_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    put_image(tmp_path, "a", cat())
    (tmp_path / "Annotations" / "b.xml").write_text(text)
    voc = VocFolder(tmp_path)
    assert len(voc.image(0).objects) == 1
    with pytest.raises(DataError, match=message):
        voc.image(1)
