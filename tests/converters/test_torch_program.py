"""Nets as programs for torch.export."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from caffe_proto.errors import FileError
from converters.torch_program import export_torch
from netdsl.errors import ConversionError
from tests.converters.nets import net_of

TEXT = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 3, 13, 11] } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "fc"
            inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
"""


def test_a_program_computes_the_same_for_any_batch(tmp_path: Path) -> None:
    net = net_of(TEXT)
    export_torch(net, tmp_path / "net.pt2")
    program = torch.export.load(tmp_path / "net.pt2").module()
    data = torch.randn(5, 3, 13, 11)
    assert torch.allclose(program(data)["fc"], net.forward(data=data)["fc"], atol=1e-6)  # sums in another order


def test_a_net_for_training_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="pass the net of its TEST phase"):
        export_torch(net_of(TEXT, phase="TRAIN"), tmp_path / "net.pt2")
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="can't be written"):
        export_torch(net_of(TEXT), tmp_path / "no" / "net.pt2")


def test_a_layer_that_torch_cannot_export_is_reported_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    net = net_of(
        """layer { name: "in" type: "Input" top: "loc" top: "conf" top: "prior" input_param {
                 shape { dim: [1, 8] } shape { dim: [1, 6] } shape { dim: [1, 2, 8] } } }
               layer { name: "found" type: "DetectionOutput" bottom: "loc" bottom: "conf" bottom: "prior" top: "found"
                 detection_output_param { num_classes: 3 } }"""
    )
    with pytest.raises(ConversionError, match=r"torch can't export the net: layer 'found' \(DetectionOutput\): "):
        export_torch(net, tmp_path / "net.pt2")
    assert capfd.readouterr().err == ""
    assert not list(tmp_path.iterdir())


def test_a_program_that_computes_something_else_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = export_torch(net_of(TEXT), tmp_path / "other.pt2")
    assert agreement is not None
    assert agreement.difference < 1e-6  # torch's own operators; the program has channels first
    assert export_torch(net_of(TEXT), tmp_path / "net.pt2", verify=False) is None
    other = (tmp_path / "other.pt2").read_bytes()
    net = net_of(TEXT)
    with torch.no_grad():
        net.module.layers["fc"].bias += 1
    monkeypatch.setattr(torch.export, "save", lambda program, file: file.write(other))
    with pytest.raises(
        ConversionError, match=r"new.pt2: the program wasn't written because its outputs differ by .*, more than 1e-05"
    ):
        export_torch(net, tmp_path / "new.pt2")
    assert not (tmp_path / "new.pt2").exists()
