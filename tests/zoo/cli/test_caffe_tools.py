"""Caffe's other programs as commands of `zoo caffe`."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read
from netdsl.data.sources.open_source import open_source

NET = """
layer { name: "data" type: "Data" top: "data" top: "label"
        data_param { source: "items_lmdb" batch_size: 2 backend: LMDB }
        transform_param { mean_file: "mean.binaryproto" } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "few" snapshot: 1'


@pytest.fixture
def images(zoo) -> None:
    Path("images").mkdir()
    for label in range(3):
        cv2.imwrite(f"images/{label}.png", np.full((8, 9, 3), (label, 10, 20 * label), np.uint8))
    Path("list.txt").write_text("0.png 0\n1.png 1\n2.png 2\ngone.png 1\n")


def test_images_in_a_list_become_a_database_with_a_mean_and_features(zoo, images) -> None:
    words = ["--resize_height=4", "--resize_width=5", "--backend=lmdb", "images/", "list.txt", "items_lmdb"]
    code, out, err = zoo("caffe", "convert_imageset", *words)
    assert (code, out) == (0, "") and "Skipped: images/gone.png: can't be opened" in err
    assert "Processed 3 files." in err
    code, out, err = zoo("caffe", "compute_image_mean", "items_lmdb", "mean.binaryproto")
    assert (code, out) == (0, "") and "mean_value channel [2]: 20" in err
    message = read("mean.binaryproto").message
    assert isinstance(message, pb.BlobProto) and (message.channels, message.height, message.width) == (3, 4, 5)
    Path("net.prototxt").write_text(NET)
    Path("solver.prototxt").write_text(SOLVER)
    assert zoo("caffe", "train", "-solver", "solver.prototxt").code == 0
    words = ["few_iter_1.caffemodel", "net.prototxt", "data,ip", "data_lmdb,ip_lmdb", "2", "lmdb", "GPU", "0"]
    code, out, err = zoo("caffe", "extract_features", *words)
    assert (code, out) == (0, "") and "Extracted features of 4 query images for feature blob ip" in err
    source = open_source("lmdb:ip_lmdb")
    assert len(source) == 4 and source.item(source.fetch(0))[0].shape == (3, 1, 1)
    data = open_source("lmdb:data_lmdb")
    np.testing.assert_allclose(data.item(data.fetch(1))[0][:, 0, 0], [0, 0, 0], atol=1e-5)  # the middle image


def test_wrong_words_are_named(zoo, images) -> None:
    for words, message in (
        (["convert_imageset", "list.txt"], "give ROOTFOLDER/ LISTFILE DATABASE"),
        (["convert_imageset", "-sise", "3"], "there is no flag -sise"),
        (["compute_image_mean"], "give DATABASE [MEAN.binaryproto]"),
        (["extract_features", "a", "b", "c", "d,e", "1", "lmdb"], "1 blobs but 2 databases"),
        (["extract_features", "a", "b", "c", "d", "one", "lmdb"], "'one lmdb' isn't a number of batches"),
    ):
        code, _, err = zoo("caffe", *words)
        assert code == 2 and message in err
