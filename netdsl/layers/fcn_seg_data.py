"""FCNSegData: the data sets of fully convolutional networks, which their authors read with Python layers."""

from __future__ import annotations

from ast import literal_eval

from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._data import DataLayer

# The size of the images in SIFT Flow; in NYUD the one that they are cropped to; in the others the largest there is.
_SIZES = {
    "voc_layers": (500, 500),
    "nyud_layers": (425, 560),
    "siftflow_layers": (256, 256),
    "pascalcontext_layers": (500, 500),
}


class FCNSegData(DataLayer, ReplacesUserCode):
    """One image at a time, of any size, and maps of its size: labels, or in NYUD what `tops` of its settings names."""

    origin = "FCN"
    tops = (1, None)
    python_names = (
        "voc_layers.VOCSegDataLayer",
        "voc_layers.SBDDSegDataLayer",
        "nyud_layers.NYUDSegDataLayer",
        "siftflow_layers.SIFTFlowSegDataLayer",
        "pascalcontext_layers.PASCALContextSegDataLayer",
    )

    def batch_size(self) -> int:
        return 1

    def item_shapes(self) -> list[Shape]:
        size = self.image(_SIZES.get(self.layer.python_param.module, (0, 0)))[-2:]
        return [(3 if name in ("color", "hha") else 1, *size) for name in self._names()]

    def _names(self) -> list[str]:
        """What the tops are."""
        count = len(self.layer.top)
        usual = ["color", *["label"] * (count - 1)]
        try:
            names = literal_eval(self.layer.python_param.param_str).get("tops", usual)
        except (ValueError, SyntaxError, AttributeError):
            return usual
        if len(names) != count:
            raise NetError(f"param_str names {len(names)} tops, the layer has {count}")
        return list(names)
