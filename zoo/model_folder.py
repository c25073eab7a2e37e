"""A model as a folder: its nets, weights, solver, preprocessing, labels and card."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from netdsl.data.sources.class_names import class_names_of_model
from netdsl.errors import NetError
from netdsl.model.formats import holds_weights
from zoo.cards import CARD, Card, has_card, read_card

DEPLOY = "deploy.prototxt"
TRAIN_VAL = "train_val.prototxt"
SOLVER = "solver.prototxt"
WEIGHTS = "weights.caffemodel"

_OWN_CARD = ".card.md"  # follows the name of a net whose card isn't that of its folder
_OTHER_NETS = ("*.prototxt", "*.onnx", "*.caffemodel")  # used if a folder contains neither of Caffe's two names


@dataclass(frozen=True)
class ModelFolder:
    """A model in a folder. `has_known_card` is true if its card is netdsl's, for weights with this hash."""

    path: Path
    card: Card
    has_known_card: bool = field(default=False, kw_only=True)

    @property
    def origin(self) -> str:
        """The folder's path."""
        return str(self.path)

    @property
    def deployed(self) -> Path:
        """The deployed net, or the training net if it is the only one."""
        return self._deploy() or self.net

    @property
    def solver(self) -> Path | None:
        """The solver of the training net, or `None`. The solver names its net."""
        return self._file(SOLVER) or self._only("*solver*.prototxt")

    @property
    def net(self) -> Path:
        """The training net, or the deployed net if it is the only one."""
        net = self._train_val() or self._deploy() or next(filter(None, map(self._only_net, _OTHER_NETS)), None)
        if net is None:
            raise NetError(
                f"{self.path}: the folder contains neither {DEPLOY} nor {TRAIN_VAL}, so it isn't a model; name "
                "the folder that contains one of them"
            )
        return net

    @property
    def weights(self) -> tuple[Path, ...]:
        """The weights file that the card names, or the only weights file. Empty if there is none."""
        named = self._file(self.card.caffemodel) if self.card.caffemodel else None
        if named is not None:
            return (named,)
        files = tuple(path for path in sorted(self.path.iterdir()) if path.is_file() and holds_weights(path))
        if len(files) > 1:
            names = ", ".join(path.name for path in files)
            raise NetError(
                f"{self.path}: the folder contains several weights files, {names}; name one in the field "
                f"`caffemodel` of {CARD}"
            )
        return files

    @property
    def has_weights(self) -> bool:
        """Whether the folder contains weights, in a separate file or in its net."""
        try:
            return bool(self.weights) or self.net.suffix == ".onnx"
        except NetError:  # several weights files, or no net
            return any(holds_weights(path) for path in self.path.iterdir())

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names in the folder or, if it doesn't contain them, those in the card."""
        return class_names_of_model(self.deployed) or self.card.classes

    @property
    def image_item(self) -> tuple[int, int, int] | None:
        """The channels, height and width of images, as in the card."""
        return None if self.card.input is None else self.card.input.item

    def _deploy(self) -> Path | None:
        return self._file(DEPLOY) or self._only("*deploy*.prototxt")

    def _train_val(self) -> Path | None:
        return self._file(TRAIN_VAL) or self._only("*train*val*.prototxt") or self._only("*train*test*.prototxt")

    def _only(self, pattern: str) -> Path | None:
        """Return the only file that matches a pattern, or `None`. Published models use many file names."""
        paths = [path for path in self.path.glob(pattern) if path.is_file()]
        return paths[0] if len(paths) == 1 else None

    def _only_net(self, pattern: str) -> Path | None:
        nets = [path for path in self.path.glob(pattern) if path.is_file() and path != self.solver]
        return nets[0] if len(nets) == 1 else None

    def _file(self, name: str) -> Path | None:
        path = self.path / name
        return path if Path(name).name == name and path.is_file() else None


@dataclass(frozen=True)
class DescribedNet(ModelFolder):
    """A net in a folder of any files, with a card that is only about this net."""

    file: Path

    @property
    def solver(self) -> None:
        """`None`, since the solvers in the folder may belong to other nets."""
        return None

    @property
    def origin(self) -> str:
        """The net's path."""
        return str(self.file)

    @property
    def deployed(self) -> Path:
        """The net itself."""
        return self.file

    @property
    def net(self) -> Path:
        """The net itself."""
        return self.file


def model_of_file(path: Path) -> ModelFolder | None:
    """Return the model that a file is the net of, or `None` if no card describes the file.

    The card is NAME.card.md next to NAME.prototxt, or the card of the file's folder if the file is the folder's net to
    use or to train.
    """
    own = path.with_name(f"{path.stem}{_OWN_CARD}")
    if own.is_file():
        return DescribedNet(path.parent, read_card(own), path)
    if not (is_model_folder(path.parent) and has_card(path.parent / CARD)):
        return None
    folder = open_folder(path.parent)
    return folder if path in (folder.deployed, folder.net) else None


def is_model_folder(path: Path) -> bool:
    """Return whether a folder contains a model, which means a net that a command can read."""
    return any((path / name).is_file() for name in (DEPLOY, TRAIN_VAL))


def open_folder(path: Path) -> ModelFolder:
    """Return the model in a folder. Without a card, it is named after the folder."""
    if not is_model_folder(path):
        raise NetError(
            f"{path}: the folder contains neither {DEPLOY} nor {TRAIN_VAL}, so it isn't a model; name the "
            "folder that contains one of them"
        )
    card = path / CARD
    return ModelFolder(path, read_card(card) if has_card(card) else Card(path.resolve().name))
