"""Names and folders of models, wherever a net is accepted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto.errors import FileError
from netdsl import Net, pycaffe
from netdsl.errors import NetError
from netdsl.model.data_shapes import Known
from netdsl.model.opening import open_model
from netdsl.net.graph import Phase
from zoo.catalogue.writing import write_model
from zoo.names import card_of


def test_a_name_is_accepted_as_a_net_everywhere() -> None:
    assert len(Net("lenet").get_weights()["ip2"][0]) == 10
    assert pycaffe.Net("lenet", pycaffe.TEST).blobs["ip2"].data.shape == (36, 10)
    assert [layer.type for layer in open_model("lenet", deployed=True).net.layer][::8] == ["Input", "Softmax"]
    assert open_model("squeezenet-1.1").net.name == "SqueezeNet_v1.1"
    with pytest.raises(FileError, match=r"squeezenet-9\.caffemodel: can't be opened"):
        open_model("squeezenet-9.caffemodel")


def test_a_folder_is_read_as_a_net_with_its_weights(tmp_path: Path) -> None:
    write_model("lenet", tmp_path / "mine")
    net = Net(tmp_path / "mine")
    net.save(tmp_path / "mine/weights.caffemodel")
    assert np.array_equal(Net(tmp_path / "mine").get_weights()["ip1"][0], net.get_weights()["ip1"][0])
    other = tmp_path / "other.caffemodel"
    net.set_weights(net.get_weights() * 2)
    net.save(other)
    assert np.array_equal(open_model(tmp_path / "mine", [other]).weights["ip1"][0], net.get_weights()["ip1"][0])


def test_files_in_the_current_folder_come_before_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lenet").write_text('name: "mine" layer { name: "x" type: "Input" top: "x" }')
    assert open_model("lenet").net.name == "mine"


def test_one_of_several_weight_files_must_be_named(tmp_path: Path) -> None:
    write_model("lenet", tmp_path)
    net = Net(tmp_path)
    for name in ("a.caffemodel", "b.caffemodel"):
        net.save(tmp_path / name)
    with pytest.raises(
        NetError, match=r"several weights files, a.caffemodel, b.caffemodel; name one in the field `caffemodel` of"
    ):
        open_model(tmp_path)
    card = tmp_path / "README.md"
    card.write_text(card.read_text().replace("name: LeNet", "name: LeNet\ncaffemodel: b.caffemodel"))
    assert open_model(tmp_path).files == (tmp_path / "b.caffemodel",)


def test_a_wrong_name_has_a_hint() -> None:
    with pytest.raises(NetError, match="lenett: not a file or a model of the zoo; did you mean lenet"):
        open_model("lenett")
    assert card_of(Path("lenet")).name == "LeNet"


def folder_with_a_card(folder: Path, image: str) -> Path:
    folder.mkdir()
    (folder / "train_val.prototxt").write_text(
        """layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: 'gone' batch_size: 4 } }
        layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 5 } }
        layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }"""
    )
    (folder / "README.md").write_text(f"---\nname: Mine\ninput: {image}\n---\n")
    return folder


def test_a_card_states_the_shape_of_images(tmp_path: Path) -> None:
    for channels, item in (("gray", (1, 24, 40)), ("RGB", (3, 24, 40))):
        folder = folder_with_a_card(tmp_path / channels, f"{{size: [24, 40], channels: {channels}}}")
        for path in (folder, folder / "train_val.prototxt"):
            data = open_model(path).data(Phase.TRAIN)
            assert (data["data"].item, data["data"].known) == (item, Known.BESIDE)
            assert data["label"].item == ()


def test_a_net_for_use_takes_precedence_over_a_card(tmp_path: Path) -> None:
    folder = folder_with_a_card(tmp_path / "both", "{size: [24, 40]}")
    deployed = "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: [1, 2, 21, 33] } } }"
    (folder / "deploy.prototxt").write_text(deployed)
    assert open_model(folder).data(Phase.TRAIN)["data"].item == (2, 21, 33)


def test_an_unreadable_card_states_nothing_about_a_file(tmp_path: Path) -> None:
    folder = folder_with_a_card(tmp_path / "broken", "{size: small}")
    assert open_model(folder / "train_val.prototxt").data(Phase.TRAIN)["data"].known is Known.GUESSED
