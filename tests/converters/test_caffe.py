"""Exports to Caffe: the files are complete, and a second implementation of Caffe's nets reads them as we do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net, read_solver
from caffe_proto.errors import FileError
from caffe_proto.files import CaffeFile, write
from caffe_proto.locations import unlocated
from converters.caffe import export_caffe
from netdsl.errors import NetError, WeightsError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.net.graph import Phase
from netdsl.training.net import Net

DATA = """layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  data_param { source: "x" batch_size: 6 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  data_param { source: "x" batch_size: 4 } }
"""
LENET = f"""name: "digits" {DATA}
layer {{ name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param {{ num_output: 4 kernel_size: 5 stride: 2 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param {{ num_output: 10 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include {{ phase: TEST }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }}
"""


def read(text: str) -> pb.NetParameter:
    return from_text(text, pb.NetParameter)


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """Return a net that doesn't state the size of its images, and its weights as a snapshot stores them."""
    text = LENET.replace("data_param", "input_param { shape { dim: 6 dim: 1 dim: 28 dim: 28 } } data_param")
    Net(read(text), phase=Phase.TRAIN).save(tmp_path / "digits.caffemodel")
    (tmp_path / "digits.prototxt").write_text(LENET)
    return tmp_path / "digits.prototxt"


def test_unchanged_weights_are_written_byte_for_byte(digits: Path, tmp_path: Path) -> None:
    weights = digits.with_suffix(".caffemodel")
    model = open_model(digits, [weights])
    through_torch = model.with_weights(Net(deploy_model(model).net, weights=model.weights).get_weights())
    done = export_caffe(deploy_model(through_torch), tmp_path / "out", verify=True)
    written = done.files
    assert done.agreement is not None and done.agreement.difference == 0
    assert written == (tmp_path / "out/deploy.caffemodel", tmp_path / "out/deploy.prototxt")
    assert written[0].read_bytes() == weights.read_bytes()
    assert not any(path.name.startswith(".") for path in (tmp_path / "out").iterdir())


def test_weights_of_training_layers_do_not_count_as_a_change(digits: Path, tmp_path: Path) -> None:
    helps = (
        LENET
        + """layer { name: "aux" type: "InnerProduct" bottom: "data" top: "aux"
          inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
        layer { name: "aux_loss" type: "SoftmaxWithLoss" bottom: "aux" bottom: "label" loss_weight: 0.3 }"""
    )
    text = helps.replace("data_param", "input_param { shape { dim: 6 dim: 1 dim: 28 dim: 28 } } data_param")
    Net(read(text), phase=Phase.TRAIN).save(tmp_path / "helps.caffemodel")
    digits.write_text(helps)
    model = deploy_model(open_model(digits, [tmp_path / "helps.caffemodel"]))
    weights = Net(model.net, weights=model.weights).get_weights()
    assert "aux" not in weights
    files = export_caffe(model.with_weights(weights), tmp_path / "out").files
    assert files[0].read_bytes() == (tmp_path / "helps.caffemodel").read_bytes()
    weights["ip"][0][...] += 1
    assert model.with_weights(weights).file is None


def test_the_data_shape_follows_from_the_weights(digits: Path) -> None:
    model = deploy_model(open_model(digits, [digits.with_suffix(".caffemodel")]))
    assert [*model.net.layer[0].input_param.shape[0].dim] == [1, 1, 28, 28]


def test_changed_weights_are_written_with_the_layers_that_have_them(digits: Path, tmp_path: Path) -> None:
    model = deploy_model(open_model(digits, [digits.with_suffix(".caffemodel")]))
    changed = {name: [array + 1 for array in arrays] for name, arrays in model.weights.items()}
    export_caffe(model.with_weights(changed), tmp_path / "out")
    file = read_net(tmp_path / "out/deploy.caffemodel")
    assert [layer.type for layer in file.message.layer] == ["Input", "Convolution", "InnerProduct", "Softmax"]
    assert np.array_equal(file.blobs.array(file.message.layer[1].blobs[0]), changed["conv"][0])


def test_weights_that_layers_share_are_written_for_each(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    ip = """layer {{ name: "{0}" type: "InnerProduct" bottom: "x" top: "{0}" param {{ name: "w" }}
        inner_product_param {{ num_output: 5 weight_filler {{ type: "xavier" }} }} }}"""
    text = f"""layer {{ name: "in" type: "Input" top: "x" input_param {{ shape {{ dim: 2 dim: 4 }} }} }}
        {ip.format("a")} {ip.format("b")}"""
    (tmp_path / "net.prototxt").write_text(text)
    Net(read(text)).save(tmp_path / "w.h5")
    done = export_caffe(deploy_model(open_model(tmp_path / "net.prototxt", [tmp_path / "w.h5"])), tmp_path / "out")
    file = read_net(done.files[0])
    shapes = [[*blob.shape.dim] for layer in file.message.layer for blob in layer.blobs]
    assert shapes == [[5, 4], [5], [5, 4], [5]]


def test_training_settings_can_be_exported_with_the_net(digits: Path, tmp_path: Path) -> None:
    model = open_model(digits)
    solver = pb.SolverParameter(train_net="a", test_net=["b"], base_lr=0.5, max_iter=7)
    export_caffe(deploy_model(model), tmp_path / "out", train_val=model.net, solver=solver)
    found = read_solver(tmp_path / "out/solver.prototxt").message
    assert found == pb.SolverParameter(net="train_val.prototxt", base_lr=0.5, max_iter=7)
    assert read_net(tmp_path / "out/train_val.prototxt").message == unlocated(model.net)
    assert not (tmp_path / "out/deploy.caffemodel").exists()


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ({"conv": [np.zeros((4, 1, 5, 5)), np.zeros(4)]}, "the weights don't contain layer 'ip'"),
        (
            {"conv": [np.zeros((4, 3, 7, 7)), np.zeros(4)], "ip": [np.zeros((11, 48400)), np.zeros(10)]},
            r"layer 'conv': blob 0 has shape \[4, 3, 5, 5\], but the weights have \[4, 3, 7, 7\]; layer 'ip': blob 0",
        ),
    ],
)
def test_missing_and_mismatched_weights_are_reported(digits: Path, weights: dict, what: str) -> None:
    with pytest.raises(WeightsError, match=what):
        deploy_model(open_model(digits).with_weights(weights))


def test_no_partial_file_is_left(digits: Path, tmp_path: Path) -> None:
    model = deploy_model(open_model(digits))
    model.net.layer[1].blobs.add(data=[1.0])
    write(CaffeFile(pb.NetParameter(name="x")), tmp_path / "file.prototxt")
    broken = Model(model.net, {"conv": [np.zeros((4, 1, 5, 5), np.float32)]})
    (tmp_path / "out/deploy.caffemodel").mkdir(parents=True)
    with pytest.raises(FileError, match=r"out/deploy.caffemodel"):
        export_caffe(broken, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["deploy.caffemodel"]
    with pytest.raises(FileError, match=r"file.prototxt: can't be written: File exists"):
        export_caffe(model, tmp_path / "file.prototxt")
    with pytest.raises(FileError, match="Not a directory"):
        export_caffe(model, tmp_path / "file.prototxt/below")
    with pytest.raises(WeightsError, match="layer 'conv'"):
        export_caffe(broken, tmp_path / "new/deeper", verify=True)
    assert not (tmp_path / "new").exists()


def test_a_net_that_cannot_be_built_is_reported(digits: Path) -> None:
    model = open_model(digits)
    next(layer for layer in model.net.layer if layer.name == "conv").convolution_param.group = 3
    with pytest.raises(NetError, match="layer 'conv': group 3 doesn't divide"):
        deploy_model(model)


BODIES = {
    "plain": """layer { name: "c" type: "Convolution" bottom: "data" top: "c"
          convolution_param { num_output: 6 kernel_size: 3 pad: 1 stride: 2 group: 3 FILL } }
        layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
        layer { name: "p" type: "Pooling" bottom: "c" top: "p" pooling_param { kernel_size: 3 stride: 2 } }
        layer { name: "n" type: "LRN" bottom: "p" top: "n" lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 } }
        layer { name: "ip" type: "InnerProduct" bottom: "n" top: "ip" inner_product_param { num_output: 5 FILL } }""",
    "normalized": """layer { name: "c" type: "Convolution" bottom: "data" top: "c"
          convolution_param { num_output: 4 kernel_size: 3 bias_term: false FILL } }
        layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
        layer { name: "s" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true filler { value: 1.5 } } }
        layer { name: "e" type: "Eltwise" bottom: "c" bottom: "c" top: "e" eltwise_param { operation: PROD } }
        layer { name: "j" type: "Concat" bottom: "c" bottom: "e" top: "j" }
        layer { name: "m" type: "Pooling" bottom: "j" top: "ip" pooling_param { pool: AVE global_pooling: true } }""",
    "others": """layer { name: "c" type: "Convolution" bottom: "data" top: "c"
          convolution_param { num_output: 4 kernel_size: 3 dilation: 2 FILL } }
        layer { name: "r" type: "PReLU" bottom: "c" top: "r" }
        layer { name: "d" type: "Deconvolution" bottom: "r" top: "d"
          convolution_param { num_output: 3 kernel_size: 4 stride: 2 pad: 1 FILL } }
        layer { name: "w" type: "Power" bottom: "d" top: "w" power_param { scale: 0.5 shift: 1 } }
        layer { name: "sl" type: "Slice" bottom: "w" top: "s1" top: "s2" slice_param { axis: 1 slice_point: 1 } }
        layer { name: "sg" type: "Sigmoid" bottom: "s2" top: "sg" }
        layer { name: "f" type: "Flatten" bottom: "sg" top: "ip" }
        layer { name: "q" type: "Silence" bottom: "s1" }""",
}


@pytest.mark.parametrize("name", BODIES)
def test_opencv_computes_the_same(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    fill = 'weight_filler { type: "gaussian" std: 0.3 }'
    loss = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }'
    data = DATA.replace("data_param", "transform_param { crop_size: 13 } data_param")
    net = read(data + BODIES[name].replace("FILL", fill) + loss)
    trained = Net(net)
    for layer in trained.module.built.layers:
        for blob in layer.buffers():
            blob.data.uniform_(0.5, 2)
    exported = deploy_model(Model(net).with_weights(trained.get_weights()))
    export_caffe(exported, tmp_path)
    image = np.random.default_rng(0).standard_normal((1, 3, 13, 13)).astype(np.float32)
    cv2 = pytest.importorskip("cv2")
    peer = cv2.dnn.readNetFromCaffe(str(tmp_path / "deploy.prototxt"), str(tmp_path / "deploy.caffemodel"))
    peer.setInput(image, "data")
    with torch.no_grad():
        own = exported.module(Phase.TEST)(torch.from_numpy(image))["prob"].numpy()
    assert own.std() > 1e-3 / own.size
    # Probabilities, summed in another order in single precision.
    assert np.allclose(peer.forward("prob").reshape(own.shape), own, rtol=1e-5, atol=1e-6)
