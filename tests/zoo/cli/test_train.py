"""`zoo train` and `zoo test`: the included net, a user's own, and failures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest

from netdsl.distributed.run import Run
from netdsl.solver.events import read_event_log
from tests.patience import PATIENCE


def accuracies(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"accuracy ([\d.]+)", text)]


@pytest.mark.slow
def test_digits_are_learned_without_a_download(zoo) -> None:
    done = zoo("train", "lenet", "--data", "digits")
    assert (done.code, done.err) == (0, "")
    assert accuracies(done.out)[-1] > 0.97


def test_a_run_is_shown_logged_and_drawn(zoo) -> None:
    files = ["--log", "log.jsonl", "--plot", "curves.png", "--tensorboard", "board"]
    done = zoo("train", "lenet", "--data", "digits", "--max-iter", "20", "--device", "cpu", *files)
    assert (done.code, done.err) == (0, "")
    data = "trains on digits:train: 1,442 items\ntests on digits:test: 355 items\n"
    assert re.match(data + r"training LeNet from iteration 0\niteration 0  test  \(accuracy ", done.out)
    assert "iteration 20  saved lenet_iter_20.caffemodel and lenet_iter_20.solverstate" in done.out
    assert [each["event"] for each in read_event_log("log.jsonl")] == ["test", "train", "snapshot", "test"]
    assert Path("curves.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(Path("board").iterdir())) == 1
    resumed = zoo("train", "lenet", "--data", "digits", "--max-iter", "25", "--snapshot", "auto")
    assert resumed.out.startswith(data + "training LeNet from iteration 20\n")


@pytest.mark.parametrize("workers", [[], ["--workers", "2", "--strategy", "averaging:tau=5"]], ids=["one", "two"])
def test_epochs_count_items_for_any_number_of_workers(zoo, workers: list[str]) -> None:
    """Of 1,442 items in batches of 64, half an epoch is 12 iterations with one worker and 6 with two."""
    done = json.loads(zoo("train", "lenet", "--data", "digits", "--epochs", "0.5", "--json", *workers).out)
    assert (done["iteration"], done["finished"]) == (6 if workers else 12, True)


def test_a_damaged_snapshot_is_skipped_with_a_message(zoo) -> None:
    zoo("train", "lenet", "--max-iter", "1")
    zoo("train", "lenet", "--max-iter", "2")
    model = Path("lenet_iter_2.caffemodel")
    data = bytearray(model.read_bytes())
    data[-9] ^= 1
    model.write_bytes(data)
    resumed = zoo("train", "lenet", "--max-iter", "2", "--snapshot", "auto")
    assert resumed.code == 0 and "training LeNet from iteration 1\n" in resumed.out
    assert resumed.err == (
        "zoo: skipped a snapshot: lenet_iter_2.caffemodel: the file is damaged: its hash differs from the one in "
        "lenet_iter_2.resume.json, so resume from another snapshot\n"
    )


def test_nan_weights_end_training_unless_it_may_continue(zoo, lenet: Path) -> None:
    net = lenet / "train_val.prototxt"
    Path("net.prototxt").write_text(net.read_text())
    settings = (
        'net: "net.prototxt" base_lr: 1e30 weight_decay: 1e30 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "s"'
    )
    Path("solver.prototxt").write_text(settings)
    done = zoo("train", "--solver", "solver.prototxt", "--data", "digits")
    assert done.code == 2 and re.fullmatch(r"zoo: iteration 1: the weights of layer '\w+' aren't finite.*\n", done.err)
    assert not list(Path().glob("s_iter*"))
    assert zoo("train", "--solver", "solver.prototxt", "--data", "digits", "--allow-nonfinite").code == 0
    assert Path("s_iter_1.caffemodel").exists()


def test_weights_are_tested_on_the_nets_own_data(zoo, lenet: Path) -> None:
    zoo("train", "lenet", "--max-iter", "40")
    net = str(lenet / "train_val.prototxt")
    done = zoo("test", net, "--weights", "lenet_iter_40.caffemodel", "--iterations", "10", "--json")
    assert '"accuracy": 0.' in done.out
    assert accuracies(zoo("test", net, "--weights", "lenet_iter_40.caffemodel").out)[0] > 0.3
    assert "can't be opened" in zoo("test", net, "--weights", "missing.caffemodel").err


def test_filled_layers_are_listed_and_scoring_random_weights_is_refused(zoo, lenet: Path) -> None:
    zoo("train", "lenet", "--max-iter", "1")
    text = (lenet / "train_val.prototxt").read_text()
    last = re.findall(r'name: "(\w+)"\s+type: "InnerProduct"', text)[-1]
    Path("new.prototxt").write_text(text.replace(f'name: "{last}"', f'name: "{last}_new"'))
    solver = re.sub(r'net: ".*"', 'net: "new.prototxt"', (lenet / "solver.prototxt").read_text())
    Path("solver.prototxt").write_text(solver)
    words = ["--weights", "lenet_iter_1.caffemodel"]
    filled = f"3 of 4 layers filled; '{last}_new' begins from scratch; unused: '{last}'"
    told = f"weights lenet_iter_1.caffemodel: {filled}\n"
    training = ["train", "--solver", "solver.prototxt", "--max-iter", "2", "--log", "log.jsonl", *words]
    assert told in zoo(*training).out
    logged = next(entry for entry in read_event_log("log.jsonl") if entry["event"] == "weights")
    assert (logged["event"], f"weights {logged['files'][0]}: {logged['text']}\n") == ("weights", told)
    stored = str(Path("run/weights0_lenet_iter_1.caffemodel").resolve())
    assert told.replace("lenet_iter_1.caffemodel", stored) in zoo(*training, "--run", "run").out
    tested = zoo("test", "new.prototxt", *words)
    assert (
        tested.code == 2
        and "3 of 4 layers filled" in tested.err
        and "name files with the weights of all layers" in tested.err
    )
    both = zoo("test", "new.prototxt", *words, "--weights", "solver_iter_2.caffemodel", "--iterations", "1", "--json")
    assert json.loads(both.out)["weights"] == f"4 of 4 layers filled; unused: '{last}'"
    exported = zoo("export", "new.prototxt", *words, "--to", "onnx", "-o", "new.onnx")
    assert exported.code == 2 and f"the weights don't contain layer '{last}_new'" in exported.err


def test_files_of_another_kind_are_named_in_the_error(zoo, lenet: Path) -> None:
    zoo("train", "lenet", "--max-iter", "1")
    net, solver, model = str(lenet / "train_val.prototxt"), str(lenet / "solver.prototxt"), "lenet_iter_1.caffemodel"
    for words, says in (
        (["train", "--solver", net], f"{net}: this file contains a net instead of a solver's settings"),
        (["train", "--solver", model], f"{model}: this file contains a net instead of a solver's settings"),
        (["test", solver, "--weights", model], f"{solver}: this file contains a solver's settings instead of a"),
        (["test", model, "--weights", model], "this file contains trained weights and their training net, so name"),
    ):
        done = zoo(*words)
        assert done.code == 2 and done.err.count("\n") == 1 and says in done.err


def test_unknown_fields_of_a_solver_or_its_net_are_errors(zoo, lenet: Path) -> None:
    net, solver = (lenet / "train_val.prototxt").read_text(), (lenet / "solver.prototxt").read_text()
    Path("solver.prototxt").write_text(solver + "max_itr: 3\n")
    Path("train_val.prototxt").write_text(net)
    done = zoo("train", "--solver", "solver.prototxt")
    assert done.code == 2 and "unknown field 'max_itr' in SolverParameter; did you mean max_iter?" in done.err
    Path("solver.prototxt").write_text(solver)
    Path("train_val.prototxt").write_text(net.replace("num_output", "num_outputs", 1))
    done = zoo("train", "--solver", "solver.prototxt")
    assert done.code == 2 and "unknown field 'num_outputs'" in done.err and "did you mean num_output?" in done.err


def test_a_missing_gpu_and_a_missing_score_are_reported(zoo, lenet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    Path("train_val.prototxt").write_text((lenet / "train_val.prototxt").read_text())
    Path("solver.prototxt").write_text((lenet / "solver.prototxt").read_text() + "solver_mode: GPU\n")
    done = zoo("train", "--solver", "solver.prototxt", "--max-iter", "1")
    assert done.code == 0 and "torch sees no GPU here, so solver_mode: GPU means the CPU" in done.err
    assert zoo("train", "--solver", "solver.prototxt", "--max-iter", "1", "--device", "cpu").err == ""
    done = zoo("train", "lenet", "--max-iter", "1", "--gpus", "0")
    assert done.code == 0 and "torch sees no GPU here, so --gpus 0 means the CPU" in done.err
    done = zoo("train", "lenet", "--max-iter", "1", "--device", "all")
    assert "torch sees no GPU here, so --device all means the CPU" in done.err
    Path("solver.prototxt").write_text((lenet / "solver.prototxt").read_text() + 'eval_type: "detection"\n')
    done = zoo("train", "--solver", "solver.prototxt", "--max-iter", "1")
    assert done.code == 0 and "no layer of a test net judges detections" in " ".join(done.err.split())


def test_one_worker_has_a_run_and_a_report_too(zoo) -> None:
    done = zoo("train", "lenet", "--max-iter", "4", "--run", "one")
    assert done.code == 0 and "iteration 4  test" in done.out
    assert {"run.json", "log.jsonl", "model.caffemodel", "lenet_iter_4.caffemodel"} <= {
        path.name for path in Path("one").iterdir()
    }
    assert not list(Path().glob("lenet*"))
    assert "one: 1 worker" in zoo("report", "one").out
    assert zoo("train", "--resume", "one").code == 0


def in_place_training(*options: str) -> tuple[str, ...]:
    Path("solver.prototxt").write_text("""
        base_lr: 0.1 lr_policy: "fixed" max_iter: 2 random_seed: 3 snapshot_prefix: "s"
        net_param {
          layer { name: "data" type: "DummyData" top: "x" dummy_data_param {
            shape { dim: 4 dim: 3 } data_filler { type: "uniform" } } }
          layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param {
            num_output: 5 weight_filler { type: "gaussian" } } }
          layer { name: "sigmoid" type: "Sigmoid" bottom: "ip" top: "ip" }
          layer { name: "tanh" type: "TanH" bottom: "ip" top: "ip" }
          layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 } }
    """)
    return "train", "--solver", "solver.prototxt", *options


def test_mpiexecs_ranks_train_together_automatically(tmp_path: Path) -> None:
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    words = ["train", "lenet", "--data", "digits", "--max-iter", "4", "--strategy", "averaging:tau=2"]
    subprocess.run(
        [scripts / "mpiexec", "-n", "2", sys.executable, "-c", "from zoo.cli import main; main()", *words],
        check=True, timeout=PATIENCE, env=environment, cwd=tmp_path, capture_output=True,
    )  # fmt: skip
    assert Run.load(tmp_path / "lenet_run").workers == 2
    assert (tmp_path / "lenet_run" / "model.caffemodel").is_file()


def test_caffes_gradients_of_in_place_layers_are_optional(zoo) -> None:
    train = in_place_training()
    said = zoo(*train)
    true = Path("s_iter_2.caffemodel").read_bytes()
    assert said.err.startswith("zoo: the gradients of layer 'sigmoid' differ from Caffe's") and said.code == 0
    assert zoo(*train, "--caffe-gradients").err == ""
    assert Path("s_iter_2.caffemodel").read_bytes() != true
    assert zoo(*train, "--caffe-gradients", "--compile").code == 2


def test_workers_use_caffes_gradients_and_a_run_records_that(zoo) -> None:
    train = in_place_training("--strategy", "allreduce", "--workers", "2")
    for folder in ("first", "second"):
        assert zoo(*train, "--caffe-gradients", "--run", folder).err == ""
    assert zoo(*train, "--no-cuda-graph", "--run", "true").err.count("differ from Caffe's") == 1
    first, second, true = (Path(each, "model.caffemodel").read_bytes() for each in ("first", "second", "true"))
    assert first == second != true
    computes = [Run.load(Path(each)).compute for each in ("first", "true")]
    assert [(each.caffe_gradients, each.cuda_graph) for each in computes] == [(True, True), (False, False)]


def test_the_final_weights_are_tested_whatever_the_interval(zoo) -> None:
    said = zoo("train", "lenet", "--max-iter", "7").out
    assert "iteration 7  test" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Give a MODEL of the zoo, or --solver FILE, but not both."),
        (["lenet", "--solver", "x"], "Give a MODEL of the zoo, or --solver FILE, but not both."),
        (["lenett"], "lenett: not a file or a model of the zoo; did you mean lenet?"),
        (["lenet", "--data", "nothing"], "nothing: there is no such file or folder; name it as KIND:PATH"),
        (["lenet", "--device", "cuda:99"], "there is no 'cuda:99'"),
        (["lenet", "--device", "gpu"], "'gpu' isn't a device"),
        (["lenet", "--gpus", "first"], "'first' isn't the number of a GPU"),
        (["lenet", "--gpus", "0", "--device", "cpu"], "--gpus and --device both name devices"),
        (["lenet", "--snapshot", "missing.solverstate"], "missing.solverstate: can't be opened"),
        (["lenet", "--snapshot", "a", "--weights", "b"], "give --snapshot or --weights, not both"),
        (["--solver", "missing.prototxt"], "missing.prototxt: can't be opened"),
        (["lenet", "--backend", "local"], "and --deadline are for several workers; give --workers too."),
        (["lenet", "--deadline", "9"], "and --deadline are for several workers; give --workers too."),
        (["lenet", "--ship"], "and --deadline are for several workers; give --workers too."),
        (
            ["lenet", "--workers", "2-8"],
            "--workers 2-8: not a number of workers; give a number such as 4, or a range such as 2:8",
        ),
        (
            ["lenet", "--workers", "2:4", "--strategy", "allreduce"],
            "divides each batch among the workers, so their number can't",
        ),
        (["--replay", "run", "--workers", "2"], "--replay repeats a run with its own settings"),
        (["--resume", "run", "--strategy", "allreduce"], "--resume continues a run with its own settings"),
    ],
)
def test_problems_are_reported_in_one_line(zoo, words: list[str], says: str) -> None:
    done = zoo("train", *words)
    assert done.code == 2
    assert says in done.err
    assert list(Path().iterdir()) == []


def test_a_users_own_data_are_trained_on(zoo, lenet: Path, tmp_path: Path) -> None:
    zoo("data", "convert", "digits:test", "own_lmdb")
    done = zoo("train", "lenet", "--data", "own_lmdb", "--test-data", "digits:test", "--max-iter", "3")
    assert (done.code, done.err) == (0, "")
    shutil.copy(lenet / "train_val.prototxt", tmp_path / "x.prototxt")
    nets = 'train_net: "x.prototxt" test_net: "x.prototxt" test_iter: 1'
    (tmp_path / "solver.prototxt").write_text(f'{nets} base_lr: 1 lr_policy: "fixed"')
    assert "a solver with a single net" in zoo("train", "--solver", "solver.prototxt", "--data", "digits").err


def photos(folder: str, *classes: str) -> None:
    for name in classes:
        for number in range(7):
            path = Path(folder, name, f"{number}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(cv2.imencode(".png", np.full((9, 9), 10 * number, np.uint8))[1]))


def write_solver(lenet: Path, outputs: int) -> None:
    net = (lenet / "train_val.prototxt").read_text()
    Path("net.prototxt").write_text(net.replace("num_output: 10", f"num_output: {outputs}"))
    Path("solver.prototxt").write_text(
        'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 2 test_iter: 1 test_interval: 2 '
        'snapshot_prefix: "own"'
    )


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_classes_and_held_out_items_are_reported(zoo, lenet: Path, workers: list[str]) -> None:
    photos("photos", "cat", "dog", "horse")
    write_solver(lenet, 10)
    done = zoo("train", "--solver", "solver.prototxt", "--data", "folder:photos", *workers)
    assert done.code == 0
    assert done.out.startswith(
        "trains on folder:photos?part=train: 18 items, 3 classes (cat, dog, horse)\n"
        "tests on folder:photos?part=test: 3 items, 3 classes (cat, dog, horse); they are every tenth item, and "
        "training leaves them out; choose others with --test-data, or none\n"
    )
    assert done.err.count("\n") == 1 and "blob 'ip2' has 10 outputs for the 3 classes" in done.err
    whole = zoo("train", "--solver", "solver.prototxt", "--data", "folder:photos", "--test-data", "none")
    assert whole.out.startswith("trains on folder:photos: 21 items, 3 classes (cat, dog, horse)\ntraining")


def test_splits_as_classes_and_classes_without_outputs_are_refused(zoo, lenet: Path) -> None:
    photos("photos/train", "cat", "dog", "horse")
    photos("photos/val", "cat", "dog", "horse")
    write_solver(lenet, 2)
    done = zoo("train", "--solver", "solver.prototxt", "--data", "folder:photos")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "folder:photos/train, and to test on --test-data folder:photos/val, or write" in done.err
    words = ["--data", "folder:photos/train", "--test-data", "folder:photos/val"]
    done = zoo("train", "--solver", "solver.prototxt", *words)
    assert done.code == 2 and "has 2 outputs for the 3 classes" in done.err and "iteration" not in done.out


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_class_names_stay_with_the_net(zoo, lenet: Path, workers: list[str]) -> None:
    """They are kept from the image folders to predictions, with a table, an exported net and a run's model."""
    photos("photos", "cat", "dog", "horse")
    write_solver(lenet, 4)
    zoo("train", "--solver", "solver.prototxt", "--data", "folder:photos", *workers)
    folder = Path("own_run" if workers else ".")
    assert (folder / "own_labels.txt").read_text() == "cat\ndog\nhorse\n3\n"
    zoo("data", "convert", "folder:photos", "photos.parquet", "--gray")
    snapshot = str(folder / "own_iter_2.caffemodel")
    zoo("export", snapshot, "--to", "caffe", "-o", "deployed")
    nets = [snapshot, "deployed/deploy.caffemodel", *(["own_run/model.caffemodel"] if workers else [])]
    for net in nets:
        done = zoo("predict", net, "photos.parquet", "-o", "out.parquet")
        assert (done.code, done.err) == (0, "")
        rows = pq.read_table("out.parquet").to_pylist()
        names = ["cat", "dog", "horse", "3"]
        assert [row["predicted_class"] for row in rows] == [names[int(row["prediction"])] for row in rows]
        Path("out.parquet").unlink()


def test_data_with_other_classes_than_the_nets_are_reported(zoo, lenet: Path) -> None:
    photos("photos", "cat", "dog", "horse")
    photos("others", "ant", "bee", "cat")
    write_solver(lenet, 3)
    zoo("train", "--solver", "solver.prototxt", "--data", "folder:photos")
    words = ["test", "net.prototxt", "--weights", "own_iter_2.caffemodel", "--iterations", "1", "--data"]
    done = zoo(*words, "folder:photos")
    assert done.err == "" and "\ntests on folder:photos: 21 items, 3 classes (cat, dog, horse)\n" in done.out
    done = zoo(*words, "folder:others")
    assert done.err == "zoo: folder:others: label 0 is 'ant', but the net was trained with 'cat'\n"


def test_names_that_do_not_match_the_nets_classes_are_not_used(zoo) -> None:
    zoo("train", "lenet", "--max-iter", "1")
    Path("labels.txt").write_text("cat\ndog\n")
    zoo("data", "convert", "digits:test?part=test", "digits.parquet")
    done = zoo("predict", "lenet_iter_1.caffemodel", "digits.parquet", "-o", "out.parquet")
    assert done.err == (
        "zoo: lenet_iter_1.caffemodel: the net predicts 10 classes, but the labels next to it name 2; they aren't "
        "used\n"
    )
    assert pq.read_table("out.parquet").column_names[-1] == "prediction"


def test_the_last_accuracy_is_shown_with_its_interval_and_baselines(zoo) -> None:
    out = zoo("train", "lenet", "--data", "digits", "--max-iter", "2").out.splitlines()
    assert "% of 355 items: between " in out[-4]
    assert out[-3:-1] == [
        "baseline 10.1%: the most frequent class, '3', for all items",
        "baseline 93.8%: a linear model of 8 x 8 pixels",
    ]
    assert out[-1].startswith("next: the net isn't better than a plain baseline (a linear model of 8 x 8 pixels)")
    found = json.loads(zoo("train", "lenet", "--data", "digits", "--max-iter", "2", "--run", "run", "--json").out)
    assert (found["measured"]["items"], len(found["measured"]["baselines"])) == (355, 2)


def test_tests_that_measure_nothing_are_reported(zoo) -> None:
    zoo("import", "lenet", "-o", ".")
    net, solver = Path("train_val.prototxt"), Path("solver.prototxt")
    layers = net.read_text().partition('layer {\n  name: "accuracy"')[0]
    loss = 'name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" include { phase: TRAIN }'
    net.write_text(f"{layers}layer {{ {loss} }}\n")
    words = ("train", "--solver", "solver.prototxt", "--data", "digits", "--max-iter", "1")
    notice = "has neither a loss nor an accuracy in the TEST phase, so its tests measure nothing; add an Accuracy layer"
    assert zoo(*words, "--test-data", "digits:test").err.count(notice) == 1
    solver.write_text("\n".join(line for line in solver.read_text().splitlines() if not line.startswith("test_")))
    assert "--test-data isn't used, because the solver has no tests" in zoo(*words, "--test-data", "digits:test").err
