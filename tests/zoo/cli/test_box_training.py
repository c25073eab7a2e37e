"""`zoo train` on a small SSD and a database of images with boxes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.netdsl.layers.test_annotated_data import NET, TRAINED

SOLVER = """net: "net.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: 6 snapshot: 3 display: 2
snapshot_prefix: "%s" random_seed: 7
"""


@pytest.fixture
def files(zoo) -> None:
    """Write a database of 20 drawn pictures, a net that augments them, and two solvers whose snapshots have other
    names."""
    assert zoo("data", "convert", "objects:train?count=20&side=48", "boxes_lmdb").code == 0
    settings = TRAINED.replace("transform_param {", "transform_param { scale: 0.004", 1)
    Path("net.prototxt").write_text((NET % settings).replace('"boxes"', '"boxes_lmdb"'))
    for prefix in ("whole", "parts"):
        Path(f"{prefix}.prototxt").write_text(SOLVER % prefix)


def test_an_interrupted_run_resumes_to_the_same_bits(zoo, files) -> None:
    done = zoo("train", "--solver", "whole.prototxt")
    assert done.code == 0 and "trains on boxes_lmdb: 20 items, 5 classes (background, circle, " in done.out
    assert zoo("train", "--solver", "parts.prototxt", "--max-iter", "3").code == 0
    resumed = zoo("train", "--solver", "parts.prototxt", "--snapshot", "auto")
    assert resumed.code == 0 and "from iteration 3\n" in resumed.out
    whole, parts = (Path(f"{name}_iter_6.caffemodel").read_bytes() for name in ("whole", "parts"))
    assert whole == parts != Path("whole_iter_3.caffemodel").read_bytes()


def test_a_database_without_boxes_is_refused_with_the_layer_that_reads_it(zoo, files) -> None:
    assert zoo("data", "convert", "digits:test", "digits_lmdb").code == 0
    Path("net.prototxt").write_text(Path("net.prototxt").read_text().replace("boxes_lmdb", "digits_lmdb"))
    done = zoo("train", "--solver", "whole.prototxt")
    assert done.code == 2
    assert "not an AnnotatedDatum with an image; read records of Datum with a Data layer" in done.err
