"""Fine-tuning as a function of a program: alone, with workers, and in the ranks of mpiexec."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from netdsl import Action, Net, finetune
from netdsl.data.sources.shapes import ShapesSource
from netdsl.data.sources.source import DataSplit
from netdsl.errors import ConversionError, DistributedError
from netdsl.model.opening import open_model
from netdsl.solver.events import Event, Notice, TrainingStarted
from tests.patience import PATIENCE
from zoo.cards import read_card
from zoo.finetuning import result
from zoo.requests.request import RequestError

PROGRAM = """
from netdsl import finetune

if __name__ == "__main__":
    net = finetune("shapes", "photos", workers={workers}, epochs=1, folds={folds}, strategy="averaging:tau=1")
    print("rank ends", net.forward(data=net.get_weights()["ip1"][0].sum() * 0 + {ones})["prob"].argmax().item())
"""


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a folder of pictures for each of two classes, inside one folder in the current folder."""
    monkeypatch.chdir(tmp_path)
    classes = ("ring", "cross")
    source = ShapesSource(DataSplit.TRAIN, classes)
    for number in range(20):
        image, label = source.item(source.fetch(number))
        path = tmp_path / "photos" / classes[int(label)] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(cv2.imencode(".png", image.transpose(1, 2, 0))[1]))
    return tmp_path / "photos"


@pytest.mark.parametrize("backend", ["local", "mpi", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_model_learns_other_classes_with_one_call(photos: Path, backend: str) -> None:
    net = finetune("shapes", photos, workers=2, epochs=1, backend=backend)
    assert net.forward(data=np.zeros((1, 3, 40, 40), np.float32))["prob"].shape == (1, 2)
    assert "accuracy" in net.history[-1].tested
    tuned = Path("shapes_tuned")
    assert (tuned / "labels.txt").read_text() == "cross\nring\n"
    assert f'finetune("shapes", "{photos}", "shapes_tuned")' in read_card(tuned / "README.md").text
    assert all((a == b).all() for a, b in zip(net.get_weights()["ip1"], Net(tuned).get_weights()["ip1"], strict=True))


def test_an_onnx_model_that_differs_is_left_out_and_the_result_is_kept(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def differ(*_: object, **__: object) -> None:
        raise ConversionError("model.onnx: the model wasn't written because blob 'prob' differs")

    lines = list[str]()

    def note(event: Event) -> None:
        lines.extend([event.text] if isinstance(event, Notice) else [])

    monkeypatch.setattr(result, "export_onnx", differ)
    net = finetune("shapes", photos, "new", epochs=1, callbacks=[note])
    assert "ip2_photos" in net.get_weights()
    assert lines[-1] == "there is no model.onnx: model.onnx: the model wasn't written because blob 'prob' differs"
    assert Path("new/README.md").exists() and not Path("new/model.onnx").exists()


def test_a_run_that_a_callback_stopped_resumes(photos: Path) -> None:
    def stop_at_once(event: Event) -> Action:
        return Action.STOP

    with pytest.raises(
        DistributedError, match="new: the fine-tuning was stopped before its end; continue it with resume=True"
    ):
        finetune("shapes", photos, "new", epochs=3, callbacks=[stop_at_once])
    net = finetune("shapes", photos, "new", resume=True)
    assert "ip2_photos" in net.get_weights()


def test_a_cross_validation_resumes_at_the_interrupted_fold(photos: Path) -> None:
    lines, trainings = list[str](), list[Event]()

    def stop_in_the_second_fold(event: Event) -> Action | None:
        trainings.extend([event] if isinstance(event, TrainingStarted) else [])
        return Action.STOP if len(trainings) == 2 else None

    def note(event: Event) -> None:
        lines.extend([event.text] if isinstance(event, Notice) and event.text.startswith("fold") else [])

    settings: dict[str, Any] = {"epochs": 1, "base_lr": 0.003, "folds": 2}
    with pytest.raises(DistributedError, match="stopped before its end"):
        finetune("shapes", photos, "new", **settings, callbacks=[stop_in_the_second_fold])
    first = Path("new/folds/fold_1.json")
    before = first.stat().st_mtime_ns
    assert not Path("new/folds/fold_2.json").exists() and not Path("new/README.md").exists()
    finetune("shapes", photos, "new", resume=True, callbacks=[note])
    assert first.stat().st_mtime_ns == before
    assert lines[1] == "fold 2 of 2: the data are the 10 items of the other folds"
    assert re.fullmatch(r"fold 2 of 2: [\d.]+% of 10 items: between [\d.]+% and [\d.]+%", lines[-1])
    finetune("shapes", photos, "undisturbed", **settings)
    texts = [Path(folder, "README.md").read_text() for folder in ("new", "undisturbed")]
    sentences = [re.search(r"Cross-validation: .*", text) for text in texts]
    assert sentences[0] is not None and sentences[1] is not None and sentences[0][0] == sentences[1][0]


def test_folds_that_make_no_sense_are_refused(photos: Path) -> None:
    with pytest.raises(RequestError, match="--folds is 1; set it to 2 or more"):
        finetune("shapes", photos, folds=1)
    with pytest.raises(RequestError, match="remove --test-data"):
        finetune("shapes", photos, folds=2, test_data=photos)
    assert not Path("shapes_tuned").exists()


def test_a_training_that_improves_nothing_keeps_the_fitted_layer(photos: Path) -> None:
    notices = list[str]()

    def note(event: Event) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)

    net = finetune("shapes", photos, epochs=1, base_lr=1e-20, callbacks=[note])
    assert any("begins as the linear model" in text for text in notices)
    assert notices[-1].startswith("no test during the training was better than the one before it")
    assert {"ip2", "ip2_photos"} & open_model("shapes_tuned").weights.keys() == {"ip2_photos"}
    pictures = sorted(photos.rglob("*.png"))
    probabilities = [answer(net, path)[path.parent.name == "ring"] for path in pictures]
    assert np.mean(probabilities) > 0.7  # scores that only begin a training would be near a half


def answer(net: Net, picture: Path) -> list[float]:
    """Return the probability of each class."""
    image = cv2.resize(np.asarray(cv2.imread(str(picture)), np.float32), (44, 44))[2:42, 2:42]
    return net.forward(data=(image.transpose(2, 0, 1)[None] - 128) / 64)["prob"].reshape(-1).tolist()


def test_a_training_that_diverges_begins_once_again_with_a_lower_rate(photos: Path) -> None:
    notices = list[str]()

    def note(event: Event) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)

    with pytest.raises(DistributedError, match=r"diverged again with a lower .* of 1e\+29 .*--base-lr 1e\+28"):
        finetune("shapes", photos, "new", epochs=1, base_lr=1e30, callbacks=[note])
    assert any("begins again from the first weights with a learning rate of 1e+29" in notice for notice in notices)


@pytest.mark.parametrize("folds", [None, 2])
@pytest.mark.parametrize("launcher", ["mpiexec", "torchrun"])
def test_the_ranks_of_a_program_fine_tune_together(photos: Path, launcher: str, folds: int | None) -> None:
    program = photos.parent / "program.py"
    program.write_text(
        "import numpy as np\n" + PROGRAM.format(workers=None, folds=folds, ones="np.ones((1, 3, 40, 40), np.float32)")
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    scripts = Path(sys.executable).parent
    starters = {
        "mpiexec": [scripts / "mpiexec", "-n", "2", sys.executable],
        "torchrun": [scripts / "torchrun", "--standalone", "--nproc-per-node", "2"],
    }
    said = subprocess.run(
        [*starters[launcher], program],
        check=True,
        timeout=PATIENCE,
        env=environment,
        cwd=photos.parent,
        capture_output=True,
        text=True,
    ).stdout
    assert said.count("rank ends") == 2
    tuned = photos.parent / "shapes_tuned"
    assert (tuned / "model.onnx").is_file()
    assert ("Cross-validation: " in (tuned / "README.md").read_text()) == (folds is not None)


def test_ranks_end_when_the_first_rank_stops_on_request(photos: Path) -> None:
    program = photos.parent / "stopped.py"
    program.write_text(
        "from netdsl import Action, finetune\n"
        "finetune('shapes', 'photos', epochs=50, callbacks=[lambda event: Action.STOP])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [Path(sys.executable).parent / "mpiexec", "-n", "2", sys.executable, program],
        timeout=PATIENCE, env=environment, cwd=photos.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode != 0
    assert "the fine-tuning was stopped before its end" in ended.stderr
