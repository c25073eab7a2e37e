"""Cards as the hub reads them: with its own library."""

from __future__ import annotations

import pytest

from zoo.cards import Card, Result, Task, parse_card
from zoo.store.hub_card import hub_fields, use_of
from zoo.store.pull import with_missing_fields

hub = pytest.importorskip("huggingface_hub")

CARD = """---
name: Digits reader
summary: LeNet.
license: mit
tags: [digits]
---
A net.
"""


def test_the_hubs_library_reads_the_task_the_tags_and_the_results() -> None:
    results = (
        Result("accuracy", "98.3%", "1,000 held-out items", "zoo finetune"),
        Result("loss", "0.05", "digits", "zoo test"),
        Result("speed", "fast", "", ""),
    )
    card = Card("Digits reader", task=Task.CLASSIFICATION, results=results)
    fields = hub_fields(card, ["deploy.prototxt", "model.onnx", "w.caffemodel"])
    read = hub.ModelCard(with_missing_fields(CARD.replace("tags: [digits]\n", ""), fields)).data
    assert read.library_name == "netdsl" and read.pipeline_tag == "image-classification"
    assert read.tags == ["netdsl", "caffe", "onnx"] and read.model_name == "Digits reader"
    measured = [(each.metric_type, each.metric_value, each.dataset_name) for each in read.eval_results]
    assert measured == [("accuracy", 0.983, "1,000 held-out items"), ("loss", 0.05, "digits")]


def test_fields_that_a_card_has_stay_and_it_is_still_a_card() -> None:
    text = with_missing_fields(CARD, hub_fields(Card("Digits reader"), ["n.prototxt"])) + use_of("me/digits")
    assert hub.ModelCard(text).data.tags == ["digits"] and "model-index" not in text and "pipeline_tag" not in text
    assert parse_card(text, "README.md").license == "mit"
    assert "$ zoo pull hf:me/digits --as digits\n" in text
