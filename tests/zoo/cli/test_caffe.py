"""`zoo caffe`: scripts that call Caffe's own program and read its log."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import h5py
import numpy as np
import pytest

NET = """
name: "signs"
layer { name: "rows" type: "HDF5Data" top: "data" top: "label" hdf5_data_param { source: "rows.txt" batch_size: 4 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "odd" type: "Power" bottom: "ip" top: "odd" include { stage: "odd" } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" loss_weight: 0.5 }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.5 lr_policy: "step" gamma: 0.1 stepsize: 3 max_iter: 6 random_seed: 1
display: 2 test_iter: 3 test_interval: 3 snapshot: 4 snapshot_prefix: "signs" solver_mode: CPU
"""
LINE = re.compile(r"([IW])(\d{4} \d\d:\d\d:\d\d\.\d{6}) +(\d+) (\w+\.[ch]pp:\d+)\] (.*)")
NUMBER = r"([.\deE+-]+)"


@pytest.fixture
def signs(zoo) -> None:
    """Write a net that determines the sign of its first number."""
    rows = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    with h5py.File("rows.h5", "w") as file:
        file["data"], file["label"] = rows, (rows[:, 0] > 0).astype(np.float32)
    Path("rows.txt").write_text("rows.h5\n")
    Path("net.prototxt").write_text(NET)
    Path("solver.prototxt").write_text(SOLVER)


def texts(log: str) -> list[str]:
    """Return the messages in the lines of a log, after checking that each line has glog's format."""
    lines = [LINE.fullmatch(line) for line in log.splitlines()]
    assert all(lines)
    times = [datetime.strptime(f"2024 {line[2]}", "%Y %m%d %H:%M:%S.%f") for line in lines if line]
    assert times == sorted(times)
    return [line[5] for line in lines if line]


def outputs(log: str, phase: str) -> list[tuple[int, int, str, float]]:
    """Return iteration, number, name and value of each output, found as Caffe's own log parser finds them."""
    found, iteration = [], -1
    for line in log.splitlines():
        if match := re.search(r"Iteration (\d+)", line):
            iteration = int(match[1])
        if match := re.search(rf"{phase} net output #(\d+): (\S+) = {NUMBER}", line):
            found.append((iteration, int(match[1]), match[2], float(match[3])))
    return found


@pytest.mark.usefixtures("signs")
def test_training_is_logged_as_caffe_logs_it(zoo) -> None:
    code, out, err = zoo("caffe", "train", "-solver", "solver.prototxt")
    said = texts(err)
    assert (code, out) == (0, "")
    start = said.index("Starting Optimization")
    assert said[0] == "Use CPU." and said[start - 1] == "Network initialization done."
    assert said[start + 1 : start + 3] == ["Solving signs", "Learning Rate Policy: step"]
    assert said[-2:] == ["Optimization Done.", "Optimization Done."]
    paces = [rf"Iteration {number} \({NUMBER} iter/s, {NUMBER}s/2 iters\), loss = {NUMBER}" for number in (0, 2, 4)]
    shown = [line for line in said if re.match(r"Iteration \d+.*, loss = ", line)]
    assert len(shown) == 4
    assert all(map(re.fullmatch, [*paces, rf"Iteration 6, loss = {NUMBER}"], shown))
    assert [line for line in said if "lr = " in line] == [
        "Iteration 0, lr = 0.5", "Iteration 2, lr = 0.5", "Iteration 4, lr = 0.05"
    ]  # fmt: skip
    assert [line for line in said if "Testing" in line] == [
        f"Iteration {number}, Testing net (#0)" for number in (0, 3, 6)
    ]
    assert [line for line in said if "Snapshotting" in line] == [
        f"Snapshotting {what} signs_iter_{number}.{ending}"
        for number in (4, 6)
        for what, ending in (
            ("to binary proto file", "caffemodel"),
            ("solver state to binary proto file", "solverstate"),
        )
    ]
    assert all(Path(line.split()[-1]).exists() for line in said if "Snapshotting" in line)


@pytest.mark.usefixtures("signs")
def test_the_creation_of_nets_is_logged_as_caffe_logs_it(zoo) -> None:
    said = texts(zoo("caffe", "train", "-solver", "solver.prototxt", "-weights", made(zoo)).err)
    assert said[1] == "Creating training net from net file: net.prototxt"
    assert said[2:8] == [
        "Creating layer rows", "Creating Layer rows", "rows -> data", "rows -> label",
        "Setting up rows", "Top shape: 4 5 (20)",
    ]  # fmt: skip
    assert said[8:10] == ["Top shape: 4 (4)", "Memory required for data: 96"]
    second = said.index("Creating test net (#0) specified by net file: net.prototxt")
    first_net = said[2:second]
    loss = first_net.index("Creating layer loss")
    assert first_net[loss + 2 :] == [
        "loss <- ip", "loss <- label", "loss -> loss", "Setting up loss", "Top shape: (1)",
        "    with loss weight 0.5", "Memory required for data: 132",
        "This network produces output loss", "Network initialization done.",
    ]  # fmt: skip
    end = said.index("Finetuning from signs_iter_6.caffemodel")
    assert "Creating layer accuracy" in said[second:end] and "Creating layer accuracy" not in first_net
    assert said[end + 1] == "Starting Optimization"


def made(zoo) -> str:
    """Return weights from training."""
    zoo("caffe", "train", "-solver", "solver.prototxt")
    return "signs_iter_6.caffemodel"


@pytest.mark.usefixtures("signs")
def test_every_batch_of_a_test_is_logged(zoo) -> None:
    said = texts(zoo("caffe", "test", "-model", "net.prototxt", "-weights", made(zoo), "-iterations", "3").err)
    start = said.index("Running for 3 iterations.")
    assert said[start - 1] == "Network initialization done."
    batches = [re.fullmatch(rf"Batch (\d), (\w+) = {NUMBER}", line) for line in said[start + 1 : start + 7]]
    assert [(int(batch[1]), batch[2]) for batch in batches if batch] == [
        (number, name) for number in range(3) for name in ("accuracy", "loss")
    ]
    losses = [float(batch[3]) for batch in batches if batch and batch[2] == "loss"]
    assert f"loss = {sum(losses) / 3:.4g}"[:10] in said[-1]


@pytest.mark.usefixtures("signs")
def test_the_outputs_in_the_log_can_be_read_by_scripts(zoo) -> None:
    log = zoo("caffe", "train", "--solver=solver.prototxt").err
    train, test = outputs(log, "Train"), outputs(log, "Test")
    assert [each[:3] for each in train] == [(0, 0, "loss"), (2, 0, "loss"), (4, 0, "loss")]
    assert [each[:3] for each in test] == [
        (number, index, name) for number in (0, 3, 6) for index, name in enumerate(("accuracy", "loss"))
    ]
    assert test[-2][3] > test[0][3]  # it has learned
    shares = re.findall(rf"net output #\d: loss = {NUMBER} \(\* 0.5 = {NUMBER} loss\)", log)
    assert len(shares) == 6
    assert all(float(share) == pytest.approx(0.5 * float(value), rel=1e-5) for value, share in shares)


@pytest.mark.usefixtures("signs")
def test_training_continues_from_a_snapshot(zoo) -> None:
    whole = zoo("caffe", "train", "-solver", "solver.prototxt").err
    rest = zoo("caffe", "train", "-solver", "solver.prototxt", "-snapshot", "signs_iter_4.solverstate").err
    assert "Resuming from signs_iter_4.solverstate" in texts(rest)
    assert outputs(rest, "Train") == outputs(whole, "Train")[-1:]
    assert outputs(rest, "Test") == outputs(whole, "Test")[-2:]


@pytest.mark.usefixtures("signs")
def test_flags_set_weights_and_stages(zoo) -> None:
    zoo("caffe", "train", "-solver", "solver.prototxt")
    Path("solver.prototxt").write_text(SOLVER.replace("max_iter: 6", "max_iter: 1 weights: 'gone'"))
    words = ["-solver=solver.prototxt", "--weights", "signs_iter_4.caffemodel,signs_iter_6.caffemodel"]
    log = zoo("caffe", *words, "train", "-stage", "even,odd").err
    trained = zoo("caffe", "test", "-model", "net.prototxt", "-weights", "signs_iter_6.caffemodel", "-iterations=3")
    accuracy, loss = outputs(log, "Test")
    assert f"accuracy = {accuracy[3]:g}" in texts(trained.err)
    assert f"loss = {loss[3]:g} (* 0.5 = " in trained.err
    # a train_state contains the stages
    assert [name for _, _, name, _ in outputs(log, "Train")] == ["loss", *["odd"] * 8]


@pytest.mark.usefixtures("signs")
def test_filled_layers_are_listed_and_a_layer_without_weights_gives_a_warning(zoo) -> None:
    zoo("caffe", "train", "-solver", "solver.prototxt")
    new = """layer { name: "new" type: "InnerProduct" bottom: "ip" top: "new" inner_product_param { num_output: 2 } }"""
    Path("net.prototxt").write_text(NET + new)
    words = ["test", "-model", "net.prototxt", "-weights", "signs_iter_6.caffemodel", "-iterations=1"]
    tested = zoo("caffe", *words)
    assert tested.code == 0 and "1 of 2 layers filled; 'new' begins from scratch" in tested.err
    log = zoo("caffe", "train", "-solver", "solver.prototxt", "-weights", "signs_iter_6.caffemodel").err
    assert "Finetuning from signs_iter_6.caffemodel" in texts(log)
    warned = [line for line in log.splitlines() if line.startswith("W")]
    assert len(warned) == 1 and warned[0].endswith("1 of 2 layers filled; 'new' begins from scratch")
    Path("net.prototxt").write_text(Path("net.prototxt").read_text().replace('name: "', 'name: "other_'))
    tested = zoo("caffe", *words)
    assert tested.code == 2 and "has weights for 'ip', 'new', but not for a layer of net 'other_signs'" in tested.err


@pytest.mark.usefixtures("signs")
def test_snapshots_in_hdf5_and_the_loss_of_a_test_are_logged(zoo) -> None:
    Path("solver.prototxt").write_text(SOLVER + "snapshot_format: HDF5 test_compute_loss: true")
    said = texts(zoo("caffe", "train", "-solver", "solver.prototxt").err)
    assert "Snapshotting to HDF5 file signs_iter_4.caffemodel.h5" in said
    assert "Snapshotting solver state to HDF5 file signs_iter_4.solverstate.h5" in said
    assert sum(bool(re.fullmatch(f"Test loss: {NUMBER}", line)) for line in said) == 3


@pytest.mark.usefixtures("signs")
def test_a_missing_gpu_in_the_settings_gives_a_warning(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    Path("solver.prototxt").write_text(SOLVER.replace("CPU", "GPU").replace("max_iter: 6", "max_iter: 1"))
    code, _, err = zoo("caffe", "train", "-solver", "solver.prototxt")
    assert code == 0
    assert [line[0] for line in err.splitlines() if line[0] != "I"] == ["W"]
    assert "torch sees no GPU here, so solver_mode: GPU means the CPU" in err


@pytest.mark.usefixtures("signs")
def test_time_reports_every_layer_and_the_whole_net(zoo) -> None:
    code, out, err = zoo("caffe", "time", "-model", "net.prototxt", "-phase", "TEST", "-iterations", "2")
    said = texts(err)
    assert (code, out) == (0, "")
    lines = [re.match(r" *(\w+)\t(forward|backward): [\d.e-]+ ms\.", line) for line in said]
    assert [line.groups() for line in lines if line] == [
        (name, way) for name in ("ip", "accuracy", "loss") for way in ("forward", "backward")
    ]
    assert sum(line.startswith("Iteration: ") for line in said) == 2
    for what in ("Average Forward pass", "Average Backward pass", "Average Forward-Backward", "Total Time"):
        assert any(re.fullmatch(rf"{what}: {NUMBER} ms\.", line) for line in said)


@pytest.mark.usefixtures("signs")
def test_without_gpus_every_gpu_means_the_cpu(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    Path("solver.prototxt").write_text(SOLVER.replace("max_iter: 6", "max_iter: 1"))
    for numbers in ("all", "3", "0,1"):
        done = zoo("caffe", "train", "-solver", "solver.prototxt", "-gpu", numbers)
        assert done.code == 0 and "Use CPU." in texts(done.err)
        assert f"torch sees no GPU here, so -gpu {numbers} means the CPU" in texts(done.err)


def test_the_gpus_are_listed(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    done = zoo("caffe", "device_query")
    assert (done.code, texts(done.err)) == (0, ["Querying GPUs ", "There are none."])


@pytest.mark.parametrize("word", ["-help", "--help", "-h"])
def test_help_lists_the_flags(zoo, word: str) -> None:
    code, out, err = zoo("caffe", "train", word)
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert "device_query  Show the GPUs.                 -gpu" in lines
    assert "-level N, -stage A,B   Level and stages for the net's include rules." in lines


@pytest.mark.usefixtures("signs")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            "",
            "caffe needs exactly one command, but none is given; give one of train, test, time, device_query, "
            "convert_imageset, compute_image_mean, extract_features",
        ),
        (
            "train test",
            "caffe needs exactly one command, not 2 (train test); give one of train, test, time, device_query, "
            "convert_imageset, compute_image_mean, extract_features",
        ),
        (
            "trian",
            "caffe has no command 'trian'; give one of train, test, time, device_query, "
            "convert_imageset, compute_image_mean, extract_features",
        ),
        ("train -solvr s", "there is no flag -solvr; did you mean -solver?"),
        ("train -solver", "-solver needs a value; write -solver=VALUE"),
        ("train", "caffe train needs a solver's settings; give -solver FILE"),
        ("test -weights w", "caffe test needs a net; give -model FILE"),
        ("test -model net.prototxt", "caffe test needs the net's weights; give -weights FILE"),
        ("time", "caffe time needs a net; give -model FILE"),
        ("time -model net.prototxt -iterations 0", "-iterations is 0; set it to 1 or more"),
        ("time -model net.prototxt -phase PLAY", "phase 'PLAY' is unknown; use TRAIN or TEST"),
        ("time -model gone", "gone: not a file or a model of the zoo; `zoo list` shows all names"),
        (
            "train -solver solver.prototxt -snapshot a -weights b",
            "-snapshot already contains weights; give -snapshot or -weights, not both",
        ),
        (
            "train -solver solver.prototxt -sigint_effect halt",
            "-sigint_effect is 'halt'; set it to one of none, stop, snapshot",
        ),
        (
            "train -solver solver.prototxt -gpu one",
            "-gpu one: 'one' isn't the number of a GPU; write 0, or 0,1, or all",
        ),
    ],
)
def test_a_wrong_call_is_reported_in_one_line(zoo, words: str, what: str) -> None:
    assert zoo("caffe", *words.split()) == (2, "", f"zoo: {what}\n")
