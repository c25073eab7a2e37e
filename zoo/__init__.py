"""The zoo: the command line, and the models that it knows."""

from __future__ import annotations

import converters  # noqa: F401 - so that commands open nets and weights from ONNX too
