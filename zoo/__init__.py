"""The zoo: the command line, and the nets that come with it."""

from __future__ import annotations

import converters  # noqa: F401 - so that commands open nets and weights from ONNX too
