"""Exports of training settings to BVLC's Caffe: only fields, types and data that it reads, and the same batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net, read_solver
from caffe_proto.descriptors import descriptor_of
from caffe_proto.dialects import BVLC, mark
from converters.caffe import export_caffe
from converters.caffe_training import CaffeTraining, training_for_caffe
from netdsl.data.batches.batches import Batches
from netdsl.data.sources.open_source import open_source
from netdsl.data.writing.mean_image import mean_image, write_mean
from netdsl.errors import ConversionError
from netdsl.layer import BringsData
from netdsl.layers import LAYERS
from netdsl.model.model import Model, open_net
from netdsl.net.graph import Phase, resolve
from zoo.catalogue.writing import write_model

TESTED = "net: 'old.prototxt' base_lr: 0.1 test_iter: 3 test_interval: 5 type: 'Adam' snapshot_prefix: 'x'"
BODY = """
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 4 } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
"""


def net_of(*layers: str) -> pb.NetParameter:
    return from_text("\n".join(layers) + BODY, pb.NetParameter)


def data(settings: str, transform: str = "", *, kind: str = "Data", phase: str = "TRAIN") -> str:
    return f"""layer {{ name: 'data' type: '{kind}' top: 'data' top: 'label' include {{ phase: {phase} }}
      {f"transform_param {{ {transform} }}" if transform else ""} {settings} }}"""


def solver_of(text: str) -> pb.SolverParameter:
    return from_text(text, pb.SolverParameter)


def exported(training: CaffeTraining, folder: Path) -> Path:
    """Return the exported files of a training run, with a deploy net that the tests ignore."""
    deploy = from_text("layer { name: 'in' type: 'Input' top: 'x' }", pb.NetParameter)
    export_caffe(
        Model(deploy, {}), folder, train_val=training.net, solver=training.solver, databases=training.databases
    )
    return folder


def batches(net: pb.NetParameter, phase: Phase, count: int) -> Iterator[tuple[torch.Tensor, ...]]:
    """Return the first batches of a net's data layer."""
    (layer,) = [node.layer for node in resolve(net, phase).nodes if not node.bottoms]
    kind = LAYERS[layer.type]
    assert issubclass(kind, BringsData)
    with closing(Batches(kind(layer, []).reading(seed=0))) as endless:
        yield from islice(endless, count)


def assert_same_batches(
    net: pb.NetParameter, folder: Path, monkeypatch: pytest.MonkeyPatch, phase: Phase, count: int
) -> None:
    expected = list(batches(net, phase, count))
    monkeypatch.chdir(folder)
    found = list(batches(open_net("train_val.prototxt").net, phase, count))
    for one, other in zip(expected, found, strict=True):
        assert torch.equal(one[0], other[0].reshape(one[0].shape)) and torch.equal(one[1], other[1])


def assert_bvlc_reads(message: Message) -> None:
    """Check that each field and value has a BVLC number, with an encoder that has no others."""
    BVLC.encode(message.SerializePartialToString(), descriptor_of(message))


def test_lenets_exported_training_files_are_readable_by_caffe(tmp_path, monkeypatch) -> None:
    model = tmp_path / "lenet"
    write_model("lenet", model)
    net, solver = open_net(model / "train_val.prototxt").net, read_solver(model / "solver.prototxt").message
    mark(net, ["intel"])  # as a snapshot's is, since its fields exist in several dialects
    training = training_for_caffe(net, solver, with_databases=True)
    assert (training.unread, training.notes) == ((), ())
    folder = exported(training, tmp_path / "out")
    text = (folder / "train_val.prototxt").read_text()
    assert "dialect" not in text and "resize_param" not in text
    written = read_net(folder / "train_val.prototxt").message
    assert_bvlc_reads(written)
    assert_bvlc_reads(read_solver(folder / "solver.prototxt").message)
    assert [(folder / layer.data_param.source / "data.mdb").is_file() for layer in written.layer[:2]] == [True, True]
    assert all(layer.data_param.backend == pb.DataParameter.LMDB for layer in written.layer[:2])
    for phase in Phase:
        assert_same_batches(net, folder, monkeypatch, phase, 5)


def test_sources_that_caffe_cannot_read_are_reported() -> None:
    digits = data(
        "data_param { source: 'digits:train' batch_size: 4 shuffle: true }",
        "crop_size: 6 resize_param { resize_mode: WARP height: 9 width: 9 }",
    )
    net = net_of(digits)
    training = training_for_caffe(net, None)
    assert training.net == net and not training.databases
    assert training.unread == ("layer 'data': Caffe can't read source 'digits:train', resize_param, shuffle",)
    assert training_for_caffe(net_of(data("data_param { source: 'some_lmdb' batch_size: 4 }")), None).unread == ()


def test_images_are_cropped_during_export_if_caffe_lacks_the_crop(tmp_path, monkeypatch) -> None:
    names = []
    for number in range(5):
        pixels = np.random.default_rng(number).integers(0, 255, (20 + number, 30, 3), np.uint8)
        cv2.imwrite(str(tmp_path / f"{number}.png"), pixels)
        names.append(f"{tmp_path / f'{number}.png'} {number % 4}")
    (tmp_path / "list.txt").write_text("\n".join(names))
    settings = f"image_data_param {{ source: '{tmp_path / 'list.txt'}' batch_size: 2 shuffle: true }}"
    warp = "resize_param { resize_mode: WARP height: 12 width: 10 }"
    transform = f"{warp} crop_h: 8 crop_w: 6 mirror: true mean_value: [104, 117, 123] scale: 0.5"
    net = net_of(data(settings, transform, kind="ImageData", phase="TEST"))
    training = training_for_caffe(net, None, with_databases=True)
    folder = exported(training, tmp_path / "out")
    layer = read_net(folder / "train_val.prototxt").message.layer[0]
    assert (layer.type, layer.data_param.source, list(layer.transform_param.mean_value)) == (
        "Data",
        "test_lmdb",
        [104, 117, 123],
    )
    assert_same_batches(net, folder, monkeypatch, Phase.TEST, 2)
    drawn = net_of(data(settings, transform, kind="ImageData"))
    with pytest.raises(
        ConversionError, match=r"layer 'data': Caffe can only draw square crops, not crops of 8 x 6; set one crop_size"
    ):
        training_for_caffe(drawn, None, with_databases=True)


def test_a_mean_image_is_exported_too(tmp_path, monkeypatch) -> None:
    with closing(open_source("digits:train")) as source:
        write_mean(mean_image(source), tmp_path / "somewhere.binaryproto")
    transform = f"mean_file: '{tmp_path / 'somewhere.binaryproto'}' scale: 0.25"
    net = net_of(data("data_param { source: 'digits:train' batch_size: 4 }", transform))
    folder = exported(training_for_caffe(net, None, with_databases=True), tmp_path / "out")
    layer = read_net(folder / "train_val.prototxt").message.layer[0]
    assert layer.transform_param.mean_file == "train_mean.binaryproto"
    (tmp_path / "somewhere.binaryproto").rename(tmp_path / "kept.binaryproto")
    net.layer[0].transform_param.mean_file = str(tmp_path / "kept.binaryproto")
    assert_same_batches(net, folder, monkeypatch, Phase.TRAIN, 3)


def test_values_that_are_not_bytes_stay_floats(tmp_path, monkeypatch) -> None:
    rows = "\n".join(f"{number / 7},{-number / 3},{number % 3}" for number in range(6))
    (tmp_path / "rows.csv").write_text(f"a,b,label\n{rows}\n")
    net = net_of(data(f"data_param {{ source: 'csv:{tmp_path / 'rows.csv'}' batch_size: 3 }}"))
    folder = exported(training_for_caffe(net, None, with_databases=True), tmp_path / "out")
    assert_same_batches(net, folder, monkeypatch, Phase.TRAIN, 2)


def test_items_that_do_not_fit_a_datum_are_refused_and_no_file_is_written(tmp_path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,label\n1,2,0.5\n")
    net = net_of(data(f"data_param {{ source: 'csv:{tmp_path / 'rows.csv'}' batch_size: 1 }}"))
    training = training_for_caffe(net, None, with_databases=True)
    with pytest.raises(
        ConversionError,
        match="layer 'data': the data can't be converted to an LMDB: 00000000: the label must be one whole number",
    ):
        exported(training, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_exported_solver_has_only_caffes_fields() -> None:
    both = net_of(
        data("data_param { source: 'a' batch_size: 4 }"), data("data_param { source: 'b' batch_size: 4 }", phase="TEST")
    )
    training = training_for_caffe(both, solver_of(f"{TESTED} larc: true warmup_iter: 3"))
    assert training.notes == ("solver.prototxt: warmup_iter, larc left out because only forks have them",)
    assert training.solver == solver_of(TESTED)
    assert_bvlc_reads(training.solver)


def test_an_exported_solver_tests_only_if_there_are_test_data() -> None:
    training = training_for_caffe(net_of(data("data_param { source: 'a' batch_size: 4 }")), solver_of(TESTED))
    what = "test_iter, test_interval left out because the net has no data for TEST"
    assert training.notes == (f"solver.prototxt: {what}; to keep them, export the prototxt with --weights",)
    assert training.solver == solver_of("net: 'old.prototxt' base_lr: 0.1 type: 'Adam' snapshot_prefix: 'x'")


def test_layers_that_bvlcs_caffe_lacks_or_refuses_are_named() -> None:
    norms = "".join(f"layer {{ name: 'n{k}' type: 'Normalize' bottom: 'ip' top: 'n{k}' }}" for k in range(5))
    net = from_text(
        "layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: [2, 3, 1, 1] } "
        "shape { dim: 2 } } }"
        + BODY.replace("top: 'loss'", "top: 'loss' top: 'prob'")
        + norms.replace("'ip'", "'data'"),
        pb.NetParameter,
    )
    assert training_for_caffe(net, None).notes == (
        "Caffe can't read layers of type Normalize (layers n0, n1, n2 and 2 more), which only forks have; "
        "train the net in one of them",
        "layer 'data': the layer doesn't read data; a program must pass each batch to Caffe",
        "layer 'loss': Caffe refuses 2 tops without loss_weight; give one for each",
    )
