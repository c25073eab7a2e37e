"""What the Hugging Face hub reads in a card: the library, the task, tags, and results in the hub's own form."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from zoo.cards import Card, Task

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
    tags = [tag for suffix, tag in _TAGS.items() if any(name.endswith(suffix) for name in files)]
    results = [result for each in card.results if (result := _result(card, each.metric, each.value, each.data))]
    return {
        "library_name": "netdsl",
        "pipeline_tag": "" if card.task is None else _PIPELINES.get(card.task, ""),
        "tags": json.dumps(["netdsl", *tags]),
        "model-index": json.dumps([{"name": card.name, "results": results}], ensure_ascii=False) if results else "",
    }


def _result(card: Card, metric: str, value: str, data: str) -> dict[str, Any] | None:
    """Return a result in the hub's form, or `None` if its value isn't a number."""
    number = _NUMBER.fullmatch(value)
    if number is None:
        return None
    measured = float(number[1]) / (100 if number[2] else 1)
    task = "other" if card.task is None else _PIPELINES.get(card.task, "other")
    return {
        "task": {"type": task},
        "dataset": {"name": data or "unknown", "type": "other"},
        "metrics": [{"type": metric, "value": round(measured, 9)}],
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
