"""The process in which several files are checked, and its limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from netdsl.checking.apart import CheckingProcess, check_file
from netdsl.checking.data_trial import TrialSettings
from netdsl.checking.lint import CheckSettings

pytest.importorskip("cv2")
pytest.importorskip("lmdb")

NET = """
layer { name: 'd' type: 'Data' top: 'x' top: 'y' data_param { source: 'gone' batch_size: 2 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { num_output: %d } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' }"""


@pytest.fixture(scope="module")
def process() -> Iterator[CheckingProcess]:
    with pytest.MonkeyPatch.context() as patch, CheckingProcess(300) as process:
        patch.setenv("NETDSL_LIMITS", "process-memory=3G,values=2G")
        yield process


def test_a_verdict_is_the_same_in_another_process(process: CheckingProcess, tmp_path: Path) -> None:
    net, solver, bad = tmp_path / "net.prototxt", tmp_path / "solver.prototxt", tmp_path / "bad.prototxt"
    net.write_text(NET % 3)
    solver.write_text(f"net: '{net}' max_iter: 3 base_lr: 0.1 lr_policy: 'fixed'")
    bad.write_text("layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'x' }")
    for file in map(str, (net, solver, bad, tmp_path / "none.prototxt")):
        here = check_file(file.encode(), CheckSettings(), False)
        assert asdict(process.check(file, CheckSettings(), run=False)) == asdict(here)


def test_a_net_that_exceeds_a_limit_is_reported_and_the_others_are_tried(
    process: CheckingProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, large = tmp_path / "good.prototxt", tmp_path / "large.prototxt"
    good.write_text(NET % 3)
    large.write_text(NET % 8000)  # 4.8 GB
    trials = [process.try_training(net, TrialSettings()) for net in (good, large, good)]
    assert [trial.reason == "" for trial in trials] == [True, False, True]
    assert "memory" in trials[1].reason
    monkeypatch.setattr(process, "_seconds", 0.001)
    assert process.try_training(good, TrialSettings()).reason == (
        f"{good}: it took longer than 0.001 s, the limit of --seconds; if you trust the file, raise --seconds"
    )
