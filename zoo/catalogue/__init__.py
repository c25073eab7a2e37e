"""The catalogue: well-known nets, each built by a function in the layer DSL, with a card and its authors' solver.

Cards are files of their own, since nobody should wait for torch to read them.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.errors import NetError
from zoo.cards import Card, read_card

if TYPE_CHECKING:
    from zoo.catalogue.entry import CatalogueEntry

_CARDS = Path(__file__).parent / "cards"
_FILES = Path(__file__).parent / "files"

# The module of each net, which has a function of its name, in the order in which the catalogue shows them.
_MODULES = {
    "lenet": "lenet",
    "shapes": "shapes",
    "mnist-autoencoder": "mnist",
    "mnist-siamese": "mnist",
    "cifar10-quick": "cifar10",
    "cifar10-full": "cifar10",
    "nin": "nin",
    "caffenet": "alexnet",
    "alexnet": "alexnet",
    "googlenet": "googlenet",
    "vgg-a": "vgg",
    "vgg-16": "vgg",
    "vgg-19": "vgg",
    "squeezenet-1.0": "squeezenet",
    "squeezenet-1.1": "squeezenet",
    "fcn-32s": "fcn",
    "fcn-16s": "fcn",
    "fcn-8s": "fcn",
    "hed": "hed",
    "ssd-shapes": "ssd_shapes",
    "ssd-300-vgg": "ssd",
    "ssd-300-mobilenet": "ssd",
    "faster-rcnn-vgg16": "faster_rcnn",
    "openpose-body": "openpose",
    "lrcn": "lrcn",
    "char-rnn": "char_rnn",
    "resnet-18": "resnet",
    "resnet-34": "resnet",
    "resnet-50": "resnet",
    "resnet-101": "resnet",
    "resnet-152": "resnet",
    "cifar-resnet-20": "cifar_resnet",
    "cifar-resnet-56": "cifar_resnet",
    "cifar-resnet-110": "cifar_resnet",
    "densenet-121": "densenet",
    "mobilenet-v1": "mobilenet",
    "mobilenet-v2": "mobilenet",
    "shufflenet": "shufflenet",
}


def names() -> list[str]:
    """The names of all nets of the catalogue."""
    return list(_MODULES)


def card_of(name: str) -> Card:
    """The card of a net."""
    return read_card(card_file(name))


def card_file(name: str) -> Path:
    """The file of a net's card."""
    return _CARDS / f"{_known(name)}.md"


def files_of(name: str) -> list[Path]:
    """The weights and the names of classes that come along with a net, if it has some."""
    return sorted((_FILES / _known(name)).glob("*"))


def entry_of(name: str, classes: int | None = None) -> CatalogueEntry:
    """A net of the catalogue with its solver, for as many classes as its authors had or, of a detector, for others."""
    module = import_module(f"zoo.catalogue.{_MODULES[_known(name)]}")
    make: Callable[..., CatalogueEntry] = getattr(module, name.replace("-", "_").replace(".", "_"))
    if classes is None:
        return make()
    if "classes" not in signature(make).parameters:
        raise NetError(f"{name}: is made for the classes of its authors; `zoo finetune` makes what predicts anew")
    return make(classes=classes)


def _known(name: str) -> str:
    if name not in _MODULES:
        near = get_close_matches(name, _MODULES, 1, cutoff=0.7)
        hint = f"did you mean {near[0]}?" if near else "`zoo list` has the names of all"
        raise NetError(f"{name}: is neither a file nor a model of the zoo; {hint}")
    return name
