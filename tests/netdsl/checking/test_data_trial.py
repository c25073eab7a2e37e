"""Trial training runs on generated data."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.checking.data_trial import DataTrial, TrialSettings, try_data
from netdsl.layers._data import DataLayer
from tests.registered import registered

pytest.importorskip("cv2")
pytest.importorskip("lmdb")

DATA = "layer { name: 'd' type: 'Data' top: 'x' top: 'y' data_param { source: 'gone' batch_size: %d } }"
FULL = """layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip'
  inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }"""
FLAT = "layer { name: 'flat' type: 'Flatten' bottom: 'x' top: 'ip' }"
LOSS = "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' }"


class OwnData(DataLayer):
    """A program's own data layer, which can't generate files."""

    def batch_size(self) -> int:
        return 2


@pytest.fixture
def tried(tmp_path: Path):
    def tried(*layers: str, **settings) -> DataTrial:
        (tmp_path / "net.prototxt").write_text("\n".join(layers))
        return try_data(tmp_path / "net.prototxt", TrialSettings(**settings))

    return tried


def test_a_net_with_a_loss_reads_its_data_and_computes_gradients(tried) -> None:
    trial = tried(DATA % 50, FULL, LOSS)
    assert (trial.trains, trial.reads, trial.backward, trial.reason) == (True, True, True, "")
    assert trial.loss is not None and trial.loss > 0
    assert trial.shapes == {"x": (2, 3, 224, 224), "y": (2,)}
    assert tried(DATA % 50, FULL, LOSS, batch=5, forward_only=True).shapes["y"] == (5,)
    assert tried(DATA % 1, FULL, LOSS).shapes["y"] == (1,)  # batches are never larger than the net's own
    assert tried(DATA % 50, FULL, LOSS, forward_only=True).backward is False


@pytest.mark.parametrize("layer", [FULL.replace("'ip'\n", "'ip' param { lr_mult: 0 } param { lr_mult: 0 }\n"), FLAT])
def test_a_net_that_learns_nothing_has_a_loss_and_no_gradients(tried, layer: str) -> None:
    trial = tried(DATA % 2, layer, LOSS)
    assert (trial.trains, trial.reads, trial.loss) == (True, True, None)
    assert trial.reason.endswith(
        "net.prototxt: the loss depends on nothing that learns, because its layers have no blobs or only an "
        "lr_mult of 0; give a layer weights with an lr_mult above 0"
    )
    assert tried(DATA % 2, layer, LOSS, forward_only=True).loss is not None


def test_shapes_that_a_net_does_not_state_are_chosen_to_fit(tried) -> None:
    slices = "layer { name: 's' type: 'Slice' bottom: 'x' top: 'a' top: 'b' slice_param { slice_point: 1 } }"
    both = "layer { name: 'e' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'e' }"
    trial = tried(DATA % 3, slices, both, FULL.replace("bottom: 'x'", "bottom: 'e'"), LOSS)
    assert trial.shapes["x"] == (2, 2, 28, 28) and trial.loss is not None


def test_a_net_for_one_batch_size_gets_it(tried) -> None:
    shape = "layer { name: 'r' type: 'Reshape' bottom: 'x' top: 'r' reshape_param { shape { dim: [6, 150528] } } }"
    trial = tried(DATA % 6, shape, FULL.replace("bottom: 'x'", "bottom: 'r'"), LOSS)
    assert trial.shapes["y"] == (6,) and trial.loss is not None


def test_pixel_labels_from_a_separate_database_are_classes(tried) -> None:
    image, label = (
        f"layer {{ name: '{top}' type: 'Data' top: '{top}' data_param {{ source: 'gone' batch_size: 2 }} }}"
        for top in ("x", "y")
    )
    trial = tried(image, label, LOSS.replace("'ip'", "'x'"), forward_only=True)
    assert trial.reason == "" and trial.shapes["y"] == (2, 1, 224, 224)


def test_inputs_get_values(tried) -> None:
    inputs = (
        "layer { name: 'd' type: 'Input' top: 'x' top: 'y' input_param { shape { dim: [9, 4] } shape { dim: 9 } } }"
    )
    trial = tried(inputs, FULL, LOSS)
    assert trial.shapes == {"x": (2, 4), "y": (2,)} and trial.loss is not None and trial.backward


def test_statistics_are_those_of_a_net_that_was_trained(tried) -> None:
    norm = "layer { name: 'n%d' type: 'BatchNorm' bottom: 'x' top: 'x' batch_norm_param { use_global_stats: true } }"
    trial = tried(DATA % 2, *[norm % number for number in range(20)], FULL, LOSS)
    assert trial.reason == "" and trial.loss is not None


def test_a_net_without_a_loss_is_not_tried(tried) -> None:
    assert tried(DATA % 2, FULL) == DataTrial(tried(DATA % 2, FULL).file, trains=False, seconds=pytest.approx(0, abs=9))
    testing = "include { phase: TEST } }"
    assert tried((DATA % 2)[:-1] + testing, FULL[:-1] + testing, LOSS[:-1] + testing).trains is False


def test_errors_name_the_layer(tried) -> None:
    private = "layer { name: 'p' type: 'Python' top: 'x' top: 'y' python_param { module: 'office' layer: 'Secret' } }"
    trial = tried(private, FULL, LOSS)
    assert not trial.reads and "layer 'p': the layer runs Python code from module 'office'" in trial.reason
    with registered(Own=OwnData):
        trial = tried("layer { name: 'o' type: 'Own' top: 'x' top: 'y' }", FULL, LOSS)
    assert "layer 'o': sample files can't be created for a layer of type Own" in trial.reason
    trial = tried(DATA % 2, FULL.replace("'xavier'", "'gabor'"), LOSS)
    assert trial.reads and trial.loss is None and "there is no filler 'gabor'" in trial.reason
    (wrong,) = (tried("layer {").reason,)
    assert "net.prototxt" in wrong


@pytest.mark.parametrize("images", [True, False])
def test_recurrent_layers_get_one_sequence_of_steps_for_each_image(tried, images: bool) -> None:
    """LRCN's nets and its language model read HDF5 files, and only these state how many sequences there are."""
    image = """layer { name: 'd' type: 'ImageData' top: 'x' top: 'y' image_data_param { source: 'gone' batch_size: 9 } }
      layer { name: 's' type: 'Silence' bottom: 'y' }"""
    words = """layer { name: 'h' type: 'HDF5Data' top: 'cont' top: 'word' top: 'next'
      hdf5_data_param { source: 'gone' batch_size: 5 } }
      layer { name: 'vectors' type: 'Embed' bottom: 'word' top: 'vectors'
      embed_param { input_dim: 4 num_output: 3 weight_filler { type: 'xavier' } } }"""
    recurrent = f"""layer {{ name: 'lstm' type: 'LSTM' bottom: 'vectors' bottom: 'cont' {"bottom: 'ip'" * images}
      top: 'lstm' recurrent_param {{ num_output: 6 weight_filler {{ type: 'xavier' }} }} }}
      layer {{ name: 'scores' type: 'InnerProduct' bottom: 'lstm' top: 'scores'
      inner_product_param {{ num_output: 4 axis: 2 weight_filler {{ type: 'xavier' }} }} }}
      layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'scores' bottom: 'next' top: 'loss'
      softmax_param {{ axis: 2 }} }}"""
    trial = tried(*([image, FULL] if images else []), words, recurrent, batch=3)
    assert (trial.backward, trial.reason) == (True, "")
    sequences = 3 if images else 1
    assert {trial.shapes[name] for name in ("cont", "word", "next")} == {(3, sequences)}
