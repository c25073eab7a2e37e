"""The catalogue: well-known nets, each built by a function in the layer DSL, with a card and its authors' solver.

Cards are separate files, so that they can be read without importing torch. Nets are built in memory when they are
needed. Only `zoo import` and `zoo pull` write them to files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from caffe_proto import caffe_pb2 as pb
from caffe_proto.locations import located
from netdsl.data.sources.class_names import class_names_in
from netdsl.errors import NetError
from netdsl.model.formats import holds_weights
from netdsl.registry import Registry
from zoo.cards import CARD, Card, has_card, read_card

if TYPE_CHECKING:
    from zoo.catalogue.entry import CatalogueEntry

_CARDS = Path(__file__).parent / "cards"
_FILES = Path(__file__).parent / "files"

# The module of each net, in the order of `zoo list`. It contains a function with the net's name.
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

# Models of plug-ins: functions that return folders.
_OWN = {name: f"zoo.catalogue.{module}" for name, module in _MODULES.items()}
MODELS: Registry[Callable[[], Path]] = Registry("model of the zoo", _OWN)


def names() -> list[str]:
    """Return the names of all nets in the catalogue."""
    return list(_MODULES)


def could_be_name(text: str) -> bool:
    """Return whether a text has the form of a model's name, not that of a path or a file. Names may end in a version,
    such as `squeezenet-1.1`."""
    path = Path(text)
    return len(path.parts) == 1 and (not path.suffix or path.suffix[1:].isdecimal())


def card_of(name: str) -> Card:
    """Return the card of a net."""
    return read_card(card_file(name))


def card_file(name: str) -> Path:
    """Return the file of a net's card."""
    return _CARDS / f"{_known(name)}.md"


def card_files() -> list[Path]:
    """Return the files of the cards of all models, including those of plug-ins."""
    others = (folder() / CARD for folder in MODELS.values())
    return [*map(card_file, names()), *filter(has_card, others)]


def files_of(name: str) -> list[Path]:
    """Return the weights and class names that are included with a net, if there are any."""
    return sorted((_FILES / _known(name)).glob("*"))


@dataclass(frozen=True)
class CatalogueModel:
    """A net of the catalogue as a model. Errors about its layers give its name as the file."""

    name: str

    @property
    def origin(self) -> str:
        """The model's name."""
        return self.name

    @cached_property
    def card(self) -> Card:
        """The model's card."""
        return card_of(self.name)

    @property
    def path(self) -> Path:
        """The folder for files that are included with the model. It exists only if there are such files."""
        return _FILES / self.name

    @cached_property
    def net(self) -> pb.NetParameter:
        """The training net."""
        return located(self._entry.train_val.message, self.name, None)

    @cached_property
    def deployed(self) -> pb.NetParameter:
        """The deployed net."""
        return located(self._entry.deploy(), self.name, None)

    @property
    def weights(self) -> tuple[Path, ...]:
        """The included weights file, or nothing."""
        return tuple(file for file in files_of(self.name) if holds_weights(file))

    @property
    def has_weights(self) -> bool:
        """Whether weights are included with the model."""
        return bool(self.weights)

    @property
    def solver(self) -> pb.SolverParameter:
        """The solver settings of the net's authors."""
        return self._entry.solver

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names that are included with the model."""
        return class_names_in(self.path)

    @property
    def image_item(self) -> tuple[int, int, int] | None:
        """The channels, height and width of images, as in the card."""
        return None if self.card.input is None else self.card.input.item

    @cached_property
    def _entry(self) -> CatalogueEntry:
        return entry_of(self.name)


def model_of(name: str) -> CatalogueModel:
    """Return a net of the catalogue as a model. Raises an error for an unknown name."""
    return CatalogueModel(_known(name))


def entry_of(name: str, classes: int | None = None) -> CatalogueEntry:
    """Return a net of the catalogue with its solver. A detector can be built for another number of classes than its
    authors used."""
    module = import_module(f"zoo.catalogue.{_MODULES[_known(name)]}")
    make: Callable[..., CatalogueEntry] = getattr(module, name.replace("-", "_").replace(".", "_"))
    if classes is None:
        return make()
    if "classes" not in signature(make).parameters:
        raise NetError(
            f"{name}: the net has its authors' classes; to replace the layers that predict, use `zoo finetune`"
        )
    return make(classes=classes)


def _known(name: str) -> str:
    if name not in _MODULES:
        near = get_close_matches(name, _MODULES, 1, cutoff=0.7)
        hint = f"did you mean {near[0]}?" if near else "`zoo list` shows all names"
        raise NetError(f"{name}: not a file or a model of the zoo; {hint}")
    return name
