"""Measures images per second of JPEG batches from an LMDB, compared with a single-threaded loop in OpenCV and NumPy.

Both decode the same images, and crop, mirror and subtract the mean as CaffeNet's training does. They take turns in one
run. Because the loop can't overlap with training, the table also shows the share of a training step that waits for its
data.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import cv2
import lmdb
import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Loading, Reading
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.transforms.decode import Color
from netdsl.data.transforms.transform import Transform

SIDE, CROP, BATCH, SEED = 256, 227, 64, 1
MEAN = (104.0, 117.0, 123.0)


def write_images(path: Path, count: int) -> None:
    """Write JPEGs as smooth as photographs, which are about as large and as slow to decode."""
    random = np.random.default_rng(SEED)
    with lmdb.open(str(path), map_size=1 << 30, sync=False) as database, database.begin(write=True) as transaction:
        for index in range(count):
            coarse = random.integers(0, 256, (32, 32, 3), np.uint8)
            noise = random.integers(-12, 13, (SIDE, SIDE, 3))
            smooth = cv2.resize(coarse, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
            image = np.clip(smooth + noise, 0, 255).astype(np.uint8)
            data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()
            datum = pb.Datum(channels=3, height=SIDE, width=SIDE, data=data, label=index % 1000, encoded=True)
            transaction.put(f"{index:08d}".encode(), datum.SerializeToString())


def batches(path: Path, workers: int) -> Batches:
    """Return netdsl's batches."""
    p = pb.TransformationParameter(crop_size=CROP, mirror=True, mean_value=MEAN)
    reading = Reading(LmdbSource(path, Color.AS_STORED), BATCH, (Transform(p, train=True),))
    return Batches(reading, Loading(seed=SEED, workers=workers))


def ours(path: Path, workers: int, count: int) -> float:
    """Return netdsl's images per second, without the batches that were prefetched before the clock started."""
    with batches(path, workers) as source:
        for _ in range(Loading().prefetch):
            next(source)
        start = time.perf_counter()
        for _ in range(count):
            next(source)
        return count * BATCH / (time.perf_counter() - start)


def by_hand(path: Path, count: int) -> float:
    """Return the images per second of the hand-written loop."""
    random, mean = np.random.default_rng(SEED), np.array(MEAN, np.float32).reshape(3, 1, 1)
    with lmdb.open(str(path), readonly=True, lock=False) as database, database.begin() as transaction:
        cursor = transaction.cursor().iternext(keys=False)
        start = time.perf_counter()
        for _ in range(count):
            batch = np.empty((BATCH, 3, CROP, CROP), np.float32)
            for slot in range(BATCH):
                datum = pb.Datum.FromString(next(cursor))
                image = cv2.imdecode(np.frombuffer(datum.data, np.uint8), cv2.IMREAD_COLOR)
                top, left = random.integers(SIDE - CROP + 1, size=2)
                crop = image[top : top + CROP, left : left + CROP].transpose(2, 0, 1)
                crop = crop[:, :, ::-1] if random.integers(2) else crop
                np.subtract(crop, mean, out=batch[slot])
        return count * BATCH / (time.perf_counter() - start)


def waiting_share(path: Path, workers: int, step: float, count: int) -> float:
    """Return the share of its time that a training step of `step` seconds waits for data, after the first few steps."""
    with batches(path, workers) as source:
        for _ in range(Loading().prefetch):
            next(source)
            time.sleep(step)
        waited, start = source.waited, time.perf_counter()
        for _ in range(count):
            next(source)
            time.sleep(step)
        return (source.waited - waited) / (time.perf_counter() - start)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--step",
        type=float,
        default=0.0,
        help="seconds of a training step; 0 means 1.2 times the time to decode its images",
    )
    arguments = parser.parse_args()
    count = min(arguments.batches, arguments.images // BATCH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images_lmdb"
        write_images(path, arguments.images)
        print(f"{'':<12}{'images/s':>10}{'by hand':>10}{'ratio':>8}{'a step of':>12}{'waits':>8}")
        for workers in (1, 2):
            runs = [(ours(path, workers, count), by_hand(path, count)) for _ in range(arguments.rounds)]
            rate, peer = (statistics.median(column) for column in zip(*runs, strict=True))
            step = arguments.step or 1.2 * BATCH / rate
            share = waiting_share(path, workers, step, count)
            name = f"{workers} worker{'s' if workers > 1 else ''}"
            print(
                f"{name:<12}{rate:>10.0f}{peer:>10.0f}{rate / peer:>8.2f}{step * 1000:>9.0f} ms{share:>8.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
