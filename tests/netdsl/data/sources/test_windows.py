from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import CaffeFile, write
from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.windows import WindowSource
from netdsl.errors import DataError

IMAGE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
OTHER = np.random.default_rng(1).integers(0, 256, (16, 18, 3), dtype=np.uint8)
# Lines are class, overlap, x1, y1, x2, y2. The third window of the first image is neither object nor background.
WINDOWS = """# 0
/image.png
3
20
30
4
5 0.9 2 3 11 9
4 0.1 0 1 6 7
6 0.4 0 0 9 9
0 0.0 10 10 29 19
# 1
/other.png
3
16
18
2
2 0.5 1 2 3 4
7 1.0 4 5 9 12
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cv2.imwrite("image.png", IMAGE)
    cv2.imwrite("other.png", OTHER)
    Path("windows.txt").write_text(WINDOWS)


def source(
    transform: dict[str, object] | None = None, *, seed: int = 0, windows: str | None = None, **settings: object
) -> WindowSource:
    if windows is not None:
        Path("windows.txt").write_text(windows)
    wanted = {"source": "windows.txt", "root_folder": str(Path.cwd()), "batch_size": 4, "bg_threshold": 0.3} | settings
    p = pb.WindowDataParameter(**wanted)
    return WindowSource(p, pb.TransformationParameter(**{"crop_size": 8} | (transform or {})), seed=seed)


def one(x1: int, y1: int, x2: int, y2: int, transform: dict[str, object] | None = None, **settings: object):
    """Return the only object window of a file."""
    text = f"# 0\n/image.png\n3\n20\n30\n2\n5 0.9 {x1} {y1} {x2} {y2}\n0 0 0 0 1 1\n"
    made = source(transform, windows=text, batch_size=1, fg_fraction=1, **settings)
    return made.item(made.fetch(0))


def warped(x1: int, y1: int, x2: int, y2: int, height: int, width: int) -> np.ndarray:
    return cv2.resize(IMAGE[y1 : y2 + 1, x1 : x2 + 1], (width, height)).transpose(2, 0, 1).astype(np.float32)


def test_a_batch_has_background_windows_and_then_object_windows() -> None:
    made = source(batch_size=8, fg_fraction=0.3, seed=3)
    drawn = [made.fetch(index) for index in range(800)]
    objects = [index % 8 in (6, 7) for index in range(800)]
    assert [window.label > 0 for window in drawn] == objects
    assert {(Path(window.path).name, window.label, *window.region) for window in drawn} == {
        ("image.png", 5, 2, 3, 11, 9),
        ("image.png", 0, 0, 1, 6, 7),
        ("image.png", 0, 10, 10, 29, 19),
        ("other.png", 2, 1, 2, 3, 4),
        ("other.png", 7, 4, 5, 9, 12),
    }


def test_an_item_depends_on_the_seed_and_its_number_only() -> None:
    forwards = [source({"mirror": True}, seed=1).fetch(index) for index in range(30)]
    made = source({"mirror": True}, seed=1)
    assert [made.fetch(index) for index in reversed(range(30))][::-1] == forwards
    assert [source({"mirror": True}, seed=2).fetch(index) for index in range(30)] != forwards
    assert {window.mirrored for window in forwards} == {False, True}


def test_a_window_is_warped_to_the_crop_size() -> None:
    pixels, label = one(2, 3, 11, 9)
    assert pixels.dtype == np.float32 and (pixels == warped(2, 3, 11, 9, 8, 8)).all()
    assert label == 5 and label.dtype == np.float32


def test_context_around_a_window_beyond_the_image_stays_zero() -> None:
    """4 pixels become 4 of 8, so the region is -2 to 6 in both directions: 2 of its 9 pixels are outside the image."""
    pixels, _ = one(0, 0, 3, 3, context_pad=2)
    assert (pixels[:, 2:, 2:] == warped(0, 0, 6, 6, 6, 6)).all()
    assert not pixels[:, :2].any() and not pixels[:, :, :2].any()


def test_context_beyond_the_image_includes_the_last_row_from_rounding() -> None:
    """26 to 29 and 17 to 19 become 24 to 32 and 15.5 to 21.5, which C rounds to 16 and 22: 9 pixels by 7, of which 3
    columns are outside the image."""
    pixels, _ = one(26, 17, 29, 19, context_pad=2)
    assert (pixels[:, :5, :5] == warped(24, 16, 29, 19, 5, 5)).all()
    assert not pixels[:, 5:].any() and not pixels[:, :, 5:].any()


def test_square_windows_keep_their_proportions() -> None:
    """10 x 4 pixels around (7, 6) become 11 x 11: 2 to 12, and 1 to 11."""
    pixels, _ = one(2, 4, 11, 7, crop_mode="square")
    assert (pixels == warped(2, 1, 12, 11, 8, 8)).all()


def test_a_mirrored_window_is_mirrored_with_its_context() -> None:
    made = source(
        {"mirror": True},
        windows="# 0\n/image.png\n3\n20\n30\n2\n5 0.9 0 0 3 3\n0 0 0 0 1 1\n",
        batch_size=1,
        fg_fraction=1,
        context_pad=2,
    )
    mirrored = next(window for window in map(made.fetch, range(100)) if window.mirrored)
    pixels, _ = made.item(mirrored)
    assert (pixels[:, 2:, :6] == warped(0, 0, 6, 6, 6, 6)[:, :, ::-1]).all()
    assert not pixels[:, :2].any() and not pixels[:, :, 6:].any()


def test_mean_values_and_the_scale_of_window_data_param_are_applied() -> None:
    pixels, _ = one(0, 0, 3, 3, {"mean_value": [10, 20, 30], "scale": 7}, context_pad=2, scale=0.25)
    mean = np.array([10, 20, 30], np.float32).reshape(3, 1, 1)
    assert (pixels[:, 2:, 2:] == (warped(0, 0, 6, 6, 6, 6) - mean) * np.float32(0.25)).all()
    assert not pixels[:, :2].any()


def test_a_mean_image_is_cropped_by_the_middle_of_its_width() -> None:
    mean = np.random.default_rng(2).random((1, 3, 11, 12), np.float32)
    file = CaffeFile(pb.BlobProto())
    file.blobs.put(file.message, mean)
    write(file, "mean.binaryproto")
    pixels, _ = one(0, 0, 3, 3, {"mean_file": "mean.binaryproto"}, context_pad=2)
    assert (pixels[:, 2:, 2:] == warped(0, 0, 6, 6, 6, 6) - mean[0, :, 4:10, 4:10]).all()
    with pytest.raises(DataError, match="11 x 12 has no room for a crop of 12"):
        source({"mean_file": "mean.binaryproto", "crop_size": 12})


def test_images_are_kept_in_memory_on_request() -> None:
    kept, read = source(cache_images=True), source()
    expected = read.item(read.fetch(0))[0]
    Path("image.png").unlink()
    Path("other.png").unlink()
    assert (kept.item(kept.fetch(0))[0] == expected).all()
    with pytest.raises(DataError, match="can't be opened"):
        read.fetch(0)


@pytest.mark.parametrize("corners", [(25, 3, 30, 9), (5, 5, 4, 9), (-1, 0, 3, 3)])
def test_a_window_outside_of_its_image_is_named(corners: tuple[int, int, int, int]) -> None:
    with pytest.raises(DataError, match=r"image.png: the window \(.*\) isn't in the image of 20 x 30"):
        one(*corners)


def test_a_window_whose_context_misses_the_image_is_named() -> None:
    with pytest.raises(DataError, match=r"the window \(50, 3, 53, 6\) isn't in the image"):
        one(50, 3, 53, 6, context_pad=2)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (("# 1", "# 2"), r"windows\.txt:11: '# 2' doesn't begin the next image; write '# 1'"),
        (("7 1.0 4 5 9 12\n", ""), "ends within the image of line 11"),
        (("7 1.0 4 5 9 12", "7 1.0 4 five 9 12"), "aren't 'class overlap"),
        (("7 1.0 4 5 9 12", "7 1.0 4"), "aren't 'class overlap"),
        (("18\n2\n", "18\nx\n"), "is 'x'; write the number of windows"),
        (("5 0.9", "0 0.9"), "class 0, which means background, in the image of line 1"),
        ((WINDOWS, ""), "0 windows of objects"),
    ],
)
def test_an_invalid_window_file_is_refused(changed: tuple[str, str], why: str) -> None:
    text = WINDOWS.replace(*changed)
    with pytest.raises(DataError, match=why):
        source(windows=text)


@pytest.mark.parametrize(
    ("transform", "settings", "why"),
    [
        ({"crop_size": 0}, {}, "set crop_size"),
        ({}, {"context_pad": 4}, "context_pad 4 leaves nothing of a crop_size of 8"),
        ({}, {"crop_mode": "round"}, "crop_mode is 'round'; use 'warp' or 'square'"),
        ({}, {"fg_fraction": 1.5}, "fg_fraction is 1.5"),
        ({}, {"batch_size": 0}, "batch_size 0"),
        ({}, {"fg_threshold": 2}, "0 windows of objects .* and 2 of background"),
        ({}, {"source": "gone.txt"}, r"gone\.txt: can't be opened"),
    ],
)
def test_impossible_settings_are_refused(transform: dict[str, object], settings: dict[str, object], why: str) -> None:
    with pytest.raises(DataError, match=why):
        source(transform, **settings)
