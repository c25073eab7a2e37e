"""The zoo: nets that have names, and the command line. Once it is imported, nets are opened by their names too."""

from __future__ import annotations

from pathlib import Path

import converters  # noqa: F401 - so that nets and weights are opened from ONNX too
from netdsl.formats import ModelFiles, register_models


def _find_model(path: Path) -> ModelFiles | None:
    from zoo.names import find_model  # reads cards, for which `zoo --help` needn't wait

    return find_model(path)


register_models(_find_model)
