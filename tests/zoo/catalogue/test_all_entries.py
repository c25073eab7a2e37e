"""Every net of the catalogue matches the published one, and works."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from caffe_proto.files import read_net
from netdsl.dsl.params import check_net
from netdsl.dsl.source import to_python
from netdsl.net.build import build
from netdsl.net.graph import resolve
from zoo import catalogue
from zoo.cards import Card
from zoo.catalogue.writing import write_model

DEEP = ("resnet-101", "resnet-152", "cifar-resnet-110")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in DEEP else name for name in catalogue.names()]


@pytest.mark.parametrize("name", catalogue.names())
def test_the_layers_of_every_net_fit(name: str) -> None:
    check_net(catalogue.entry_of(name).train_val.message)


def test_every_net_is_made_without_torch() -> None:
    program = """
import sys
from zoo import catalogue
for name in catalogue.names():
    assert catalogue.model_of(name).net.layer[0].location == name
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", catalogue.names())
def test_every_card_is_complete(name: str) -> None:
    front = yaml.load(catalogue.card_file(name).read_text().split("---\n")[1], yaml.BaseLoader)
    assert set(front) <= {field.name for field in fields(Card)}
    card = catalogue.card_of(name)
    assert all((card.summary, card.task, card.parameters, card.citation, card.license, card.text))


@pytest.mark.parametrize("name", NAMES)
def test_every_net_has_the_published_number_of_parameters(name: str, tmp_path: Path) -> None:
    write_model(name, tmp_path)
    built = build(resolve(read_net(tmp_path / "deploy.prototxt").message))
    sizes = {id(blob): blob.numel() for layer in built.layers for blob in layer.blob_tensors()}
    assert sum(sizes.values()) == catalogue.card_of(name).parameters


@pytest.mark.parametrize("name", NAMES)
def test_every_net_survives_prototxt_and_python(name: str, tmp_path: Path) -> None:
    message = catalogue.entry_of(name).train_val.message
    write_model(name, tmp_path)
    assert read_net(tmp_path / "train_val.prototxt").message == message
    names: dict[str, Any] = {}
    exec(to_python(message), names)
    assert names["params"].message == message
