"""Images with marked objects are the same items for SSD's data layer, read themselves or from a database of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netdsl.data.sources.annotations.masks import class_map
from netdsl.data.sources.annotations.records import MarkedItems
from netdsl.data.sources.datum import AnnotatedDatumSource
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.sources.open_source import open_annotated_set
from netdsl.data.transforms.decode import Color
from netdsl.data.writing.convert_annotated import convert_annotated
from tests.voc_folder import VocImage, VocObject, write_voc


def test_they_are_those_of_a_database_that_is_made_of_them(tmp_path: Path) -> None:
    objects = [VocObject("cat", (3, 4, 20, 17)), VocObject("ant", (1, 1, 7, 9), difficult=True)]
    objects.append(VocObject("cat", (2, 2, 31, 23)))
    write_voc(tmp_path / "voc", [VocImage("a", 23, 31, objects), VocImage("b", 12, 17)])
    marked = MarkedItems(open_annotated_set(f"voc:{tmp_path}/voc"), Color.COLOR)
    convert_annotated(open_annotated_set(f"voc:{tmp_path}/voc"), f"lmdb:{tmp_path}/lmdb")
    stored = AnnotatedDatumSource(LmdbSource(tmp_path / "lmdb", Color.COLOR))
    assert len(marked) == len(stored) == 2
    assert marked.classes == stored.classes == ("background", "ant", "cat")
    for index in range(2):
        image, rows = marked.item(marked.fetch(index))
        stored_image, stored_rows = stored.item(stored.fetch(index))
        assert np.array_equal(image, stored_image)
        order = np.lexsort((stored_rows[:, 1], stored_rows[:, 0]))  # records have them by class
        assert np.array_equal(rows[np.lexsort((rows[:, 1], rows[:, 0]))], stored_rows[order])
    assert len(marked.item(marked.fetch(0))[1]) == 3
    stored.close()


def test_maps_are_those_of_the_set() -> None:
    objects = open_annotated_set("objects:train?count=1")
    image, rows, labels = MarkedItems(objects, Color.COLOR, maps=True).item((objects.image(0), objects.image(0).read()))
    assert labels.shape == (1, *image.shape[1:])
    assert np.array_equal(labels[0], class_map(objects.image(0)))
    assert set(np.unique(labels)) - {0} <= set(rows[:, 0].astype(int))
