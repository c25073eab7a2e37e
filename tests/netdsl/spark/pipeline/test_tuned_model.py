"""Fine-tuning models on the rows of a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from netdsl import Net
from netdsl.data.sources.shapes import ShapesSource
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError, NetError, WeightsError

pytestmark = pytest.mark.spark

SETTINGS = {"max_iter": 30, "base_lr": 0.001, "display": 10}


@pytest.fixture(scope="module")
def pictures(session: Any) -> Any:
    """Return pictures of two shapes as PNG files, in rows."""
    source = ShapesSource(DataSplit.TRAIN, ("ring", "cross"))
    items = [source.item(source.fetch(number)) for number in range(120)]
    rows = [(bytes(cv2.imencode(".png", image.transpose(1, 2, 0))[1]), int(label)) for image, label in items]
    return session.createDataFrame(rows, "picture binary, kind int").coalesce(2).cache()


def test_a_model_by_its_name_learns_the_labels_of_the_rows(pictures: Any) -> None:
    from netdsl.spark import NetEstimator

    bindings = {"data": "picture", "label": "kind"}
    model = NetEstimator(model="shapes", solver=SETTINGS, bindings=bindings, workers=2, seed=1).fit(pictures)
    rows = model.transform(pictures).select("kind", "prediction").collect()
    assert len(rows) == 120
    assert sum(row.kind == row.prediction for row in rows) > 100
    weights = model.net().get_weights()
    assert weights["ip2_tuned"][0].shape == (2, 64)
    assert np.abs(weights["conv1"][0] - Net("shapes").get_weights()["conv1"][0]).max() < 0.1


@pytest.mark.parametrize(
    ("params", "problem", "kind"),
    [
        ({"model": "lenet"}, "lenet: the model has no weights with which to start", WeightsError),
        ({"model": "shapes", "bindings": {"label": "class"}}, "there is no column 'class' with labels", DataError),
        ({"model": "shapes", "net": "lenet"}, "set net for your own net", NetError),
    ],
)
def test_problems_are_reported(
    pictures: Any,
    params: dict[str, Any],
    problem: str,
    kind: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from netdsl.spark import NetEstimator

    monkeypatch.setenv("NETDSL_HOME", str(tmp_path))  # a home without trained models
    with pytest.raises(kind, match=problem):
        NetEstimator(solver=SETTINGS, **params).fit(pictures)
