"""FCNSegData: the data sets of fully convolutional networks, which their authors read with Python layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.pixel_sets import PixelSet, PixelSetSource, nyud, pascal_context, sbdd, sift_flow, voc
from netdsl.data.types import Array
from netdsl.data.writing.pixel_sets import write_context_classes, write_pixel_set
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layer.samples import BlobKind
from netdsl.layer.user_code import ReplacesUserCode, python_name
from netdsl.layers._data import DataLayer
from netdsl.layers._settings import read_param_str

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class _LayerOfSet:
    """One of the authors' layers: its settings, which begin with folders, and the data set that it reads."""

    settings: tuple[str, ...]
    open: Callable[..., PixelSet]
    size: tuple[int, int]  # the size that images are cropped to, or the largest size of an image


_LAYERS = {
    "voc_layers.VOCSegDataLayer": _LayerOfSet(("voc_dir", "split", "mean"), voc, (500, 500)),
    "voc_layers.SBDDSegDataLayer": _LayerOfSet(("sbdd_dir", "split", "mean"), sbdd, (500, 500)),
    "nyud_layers.NYUDSegDataLayer": _LayerOfSet(("nyud_dir", "split", "tops"), nyud, (425, 560)),
    "siftflow_layers.SIFTFlowSegDataLayer": _LayerOfSet(("siftflow_dir", "split"), sift_flow, (256, 256)),
    "pascalcontext_layers.PASCALContextSegDataLayer": _LayerOfSet(
        ("context_dir", "voc_dir", "split"), pascal_context, (500, 500)
    ),
}
_KINDS: dict[str, tuple[type, ...]] = {"mean": (tuple, list), "tops": (tuple, list)}  # the settings that aren't text
_MAY_BE_SET = {"seed", "randomize"}


class FCNSegData(DataLayer, ReplacesUserCode, HasSampleFiles):
    """Reads one image of any size at a time, and maps of its size: labels, or in NYUD the ones that `tops` names.

    Images come in random order if the split's name contains `train` and `randomize` isn't off, and otherwise in the
    list's order.
    """

    origin = "FCN"
    tops = (1, None)
    any_size = True
    python_names = tuple(_LAYERS)

    def batch_size(self) -> int:
        return 1

    def item_shapes(self) -> Sequence[Shape | None]:
        size = self.image()[-2:]
        return [(3 if name in ("color", "hha") else 1, *size) for name in self._names()]

    def typical_size(self) -> tuple[int, int]:
        return self._own().size

    def top_kind(self, place: int) -> BlobKind:
        return BlobKind.LABEL if self._names()[place] == "label" else BlobKind.NUMBER

    def reading(self, seed: int) -> Reading:
        settings = self._settings()
        drawn = "train" in settings["split"] and settings.get("randomize", True)
        chosen = settings.get("seed")
        pixels = self._open(settings)
        source = PixelSetSource(pixels, (seed if chosen is None else chosen) if drawn else None)
        return Reading(source, 1, name=pixels.list)

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made, settings = copy_of(self.layer), self._settings()
        folders = {name: folder / name for name in self._own().settings if name.endswith("_dir")}
        if "context_dir" in folders:
            folders["context_dir"].mkdir()
            write_context_classes(folders["context_dir"])
        settings |= {name: str(path) for name, path in folders.items()}
        write_pixel_set(self._open(settings), values)
        made.python_param.param_str = repr(settings)
        return made

    def _own(self) -> _LayerOfSet:
        return _LAYERS[python_name(self.layer) or ""]

    def _open(self, settings: Settings) -> PixelSet:
        return self._own().open(*(settings[name] for name in self._own().settings))

    def _settings(self) -> dict[str, Any]:
        """Return the settings in `param_str`. Raises a `NetError` if a setting is missing or unknown."""
        settings, own = read_param_str(self.layer.python_param.param_str), self._own().settings
        for name in own:
            if not isinstance(settings.get(name), _KINDS.get(name, (str,))):
                raise NetError(f"param_str doesn't set '{name}'; set {', '.join(own)}")
        unknown = sorted(settings.keys() - set(own) - _MAY_BE_SET)
        if unknown:
            raise NetError(f"param_str sets '{unknown[0]}', which the layer doesn't support; use only {', '.join(own)}")
        if not isinstance(settings.get("seed", 0), (int, type(None))) or (settings.get("seed") or 0) < 0:
            raise NetError(f"param_str sets seed to {settings['seed']!r}; set it to a whole number from 0, or to None")
        _check_mean(settings.get("mean", (0, 0, 0)))
        return settings

    def _names(self) -> list[str]:
        """Return the names of the tops' contents, such as `color` and `label`."""
        count = len(self.layer.top)
        usual = ["color", *["label"] * (count - 1)]
        try:
            names = read_param_str(self.layer.python_param.param_str).get("tops", usual)
        except NetError:
            return usual
        if len(names) != count:
            raise NetError(f"param_str names {len(names)} tops, but the layer has {count}; name one for each")
        return list(names)


def _check_mean(mean: Sequence[Any]) -> None:
    if len(mean) != 3 or not all(isinstance(value, (int, float)) for value in mean):
        raise NetError(f"param_str sets mean to {mean!r}; set it to three numbers, for blue, green and red")
