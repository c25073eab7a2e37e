"""Programs that report their use to their makers, and the variables that keep them from it."""

from __future__ import annotations

from collections.abc import Mapping

NO_REPORTS: Mapping[str, str] = {"ORT_DISABLE_TELEMETRY": "1"}  # for onnxruntime, when it is imported
