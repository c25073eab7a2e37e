"""What the Hugging Face hub reads in a card: the library, the task, tags, and results in the hub's own form."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from zoo.cards import Card, Result, Task

_PIPELINES = {
    Task.CLASSIFICATION: "image-classification",
    Task.DETECTION: "object-detection",
    Task.SEGMENTATION: "image-segmentation",
    Task.KEYPOINTS: "keypoint-detection",
    Task.EMBEDDING: "image-feature-extraction",
}
_TAGS = {".prototxt": "caffe", ".onnx": "onnx"}  # by the suffix of a file in the repository
_NUMBER = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(%?)")


def hub_fields(card: Card, files: Collection[str]) -> dict[str, str]:
    """Return the fields that a model's card has on the hub besides its own, as YAML in one line each."""
    pipeline = "" if card.task is None else _PIPELINES.get(card.task, "")
    tags = [tag for suffix, tag in _TAGS.items() if any(name.endswith(suffix) for name in files)]
    results = [measured for result in card.results if (measured := _in_hubs_form(result, pipeline or "other"))]
    return {
        "library_name": "netdsl",
        "pipeline_tag": pipeline,
        "tags": json.dumps(["netdsl", *tags]),
        "model-index": json.dumps([{"name": card.name, "results": results}], ensure_ascii=False) if results else "",
    }


def _in_hubs_form(result: Result, task: str) -> dict[str, Any] | None:
    """Return a result in the hub's form, or `None` if its value isn't a number."""
    number = _NUMBER.fullmatch(result.value)
    if number is None:
        return None
    measured = float(number[1]) / (100 if number[2] else 1)
    return {
        "task": {"type": task},
        "dataset": {"name": result.data or "unknown", "type": "other"},
        "metrics": [{"type": result.metric, "value": round(measured, 9)}],
    }


def use_of(repository: str) -> str:
    """Return the text that says how to use a model of the hub."""
    name = repository.partition("/")[2]
    return f"""
## Use it with netdsl

```console
$ zoo pull hf:{repository} --as {name}
$ zoo card {name}
$ zoo export {name} --to onnx -o {name}.onnx
```
"""
