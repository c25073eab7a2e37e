"""The process in which trials run, and its limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.checking.data_trial import TrialSettings
from netdsl.checking.trial_process import TrialLimits, try_all

pytest.importorskip("cv2")
pytest.importorskip("lmdb")

NET = """
layer { name: 'd' type: 'Data' top: 'x' top: 'y' data_param { source: 'gone' batch_size: 2 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { num_output: %d } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' }"""


def test_a_net_that_exceeds_a_limit_is_reported_and_the_others_are_tried(tmp_path: Path) -> None:
    good, large = tmp_path / "good.prototxt", tmp_path / "large.prototxt"
    good.write_text(NET % 3)
    large.write_text(NET % 8000)  # 4.8 GB
    trials = list(try_all([good, large, good], TrialSettings(), TrialLimits(300, memory=3 << 30)))
    assert [trial.reason == "" for trial in trials] == [True, False, True]
    assert "memory" in trials[1].reason
    (slow,) = try_all([good], TrialSettings(), TrialLimits(0.001, 1 << 40))
    assert slow.reason == f"{good}: the trial took longer than its limit of 0.001 s"
