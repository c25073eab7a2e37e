"""Fine-tunes a model on small sets of photos, next to a linear probe and to a plain recipe in torch.

    python benchmarks/fine_tuning.py MODEL WEIGHTS FOLDER... --splits 4

Each folder contains a folder of images for each class. A quarter of each class is held out, by a fixed seed for each
split, and the accuracies are means over the splits. All three methods use the same splits, the same backbone, and the
same preparation of images. The probe is scikit-learn's logistic regression on the features that the model's head reads.
The recipe is that of torchvision's tutorials: SGD with momentum 0.9, one learning rate for all layers, a tenth of it
after each third of the epochs, batch normalization by the batch, and torch's initial values for the head. It is run
with two learning rates, and the one with the better mean counts. It has the same batches and epochs. The best test of
each training counts, and for `zoo finetune` also the test before the training, because it keeps that model if no later
one is better.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl import finetune
from netdsl.data.sources.open_source import open_source
from netdsl.model.model import Model
from netdsl.model.opening import copy_model, open_files
from netdsl.model.weights.files import learned_layers
from netdsl.solver.evaluation import average_batches
from netdsl.solver.events import as_numbers
from netdsl.solver.flat import share_blobs
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import ModuleNet
from zoo.finetuning.held_out import labels_of
from zoo.finetuning.result import RUN
from zoo.finetuning.start import FineTuning, load

RATES = 0.005, 0.01  # of the recipe


def main() -> None:
    """Print a row for each set of photos."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model")
    parser.add_argument("weights")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--splits", type=int, default=1)
    words = parser.parse_args()
    print("| Photos | Classes | `zoo finetune` | Linear probe | Recipe in torch |\n|---|--:|--:|--:|--:|", flush=True)
    for folder in map(Path, words.folders):
        scores = []
        for seed in range(1, words.splits + 1):
            torch.manual_seed(seed)
            with tempfile.TemporaryDirectory() as temporary:
                scores.append(scores_of(words.model, words.weights, folder, Path(temporary), words.epochs, seed))
            print(f"  split {seed}: " + ", ".join(f"{score:.3f}" for score in scores[-1]), flush=True)
        own, probed, *recipes = np.mean(scores, 0)
        count = sum(path.is_file() for path in folder.rglob("*"))
        classes = sum(path.is_dir() for path in folder.iterdir())
        print(
            f"| {count} of {folder.name} | {classes} | {own:.1%} | {probed:.1%} | {max(recipes):.1%} |",
            flush=True,
        )


def scores_of(model: str, weights: str, photos: Path, temporary: Path, epochs: float, seed: int) -> list[float]:
    """Return the accuracies of `zoo finetune`, of the probe, and of the recipe with each rate, on one split."""
    output = temporary / "tuned"
    net = finetune(model, photos, output, weights=weights, epochs=epochs, held_out=0.25, seed=seed)
    tuning, run = load(output)
    (start,) = open_files(sorted((output / RUN).glob("weights0_*")), run.solver.net_to_train)
    own = max(moment.tested["accuracy"] for moment in net.history if moment.tested)
    recipes = [torch_recipe(tuning, run.solver, start, rate, int(epochs)) for rate in RATES]
    return [own, probe(tuning, run.solver, start), *recipes]


def probe(tuning: FineTuning, solver: SolverSettings, weights: Model) -> float:
    """Return the accuracy of a linear model on the features that the head reads."""
    known, labels = features_of(tuning, solver, tuning.data.train, weights)
    unknown, answers = features_of(tuning, solver, tuning.data.tests, weights)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=3000)).fit(known, labels)
    return float(classifier.score(unknown, answers))


def features_of(
    tuning: FineTuning, solver: SolverSettings, source: str, weights: Model
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the features of all items of a source, averaged over positions, and their labels."""
    rows = list[NDArray[np.float32]]()
    with closing(open_source(source)) as items:
        labels = labels_of(items, source, lambda count: None)
    with closing(opened(edited(solver, pb.TEST, source=source), weights)) as net:

        def keep(layer: nn.Module, bottoms: tuple[Tensor, ...], top: Tensor) -> None:
            features = bottoms[0].flatten(2).mean(2) if bottoms[0].dim() > 2 else bottoms[0]
            rows.extend(features.detach().numpy().copy())

        head = learned_layers(net.built)[list(tuning.heads.values())[-1]]
        head.register_forward_hook(keep)
        for _ in labels:
            net.forward()
    return np.array(rows), labels


def edited(solver: SolverSettings, phase: pb.Phase, *, source: str = "", by_batch: bool = False) -> Model:
    """Return the model in a phase, with a source of which each item is a batch, or with batch normalization as in
    torch."""
    net = copy_of(solver.net_to_train.net)
    for layer in net.layer:
        if source and layer.type == "Data" and layer.include[0].phase == phase:
            layer.data_param.source, layer.data_param.batch_size = source, 1
        if by_batch and layer.type == "BatchNorm":
            layer.batch_norm_param.ClearField("use_global_stats")
            layer.batch_norm_param.moving_average_fraction = 0.9
        if by_batch:
            for spec in layer.param:
                spec.lr_mult = 1
    net.state.phase = phase
    return replace(solver.net_to_train, net=net, file=None)


def opened(model: Model, weights: Model) -> ModuleNet:
    """Return the net with its data and with the weights that training begins with."""
    net = ModuleNet.open(model)
    copy_model(weights, net.built)
    return net


def torch_recipe(tuning: FineTuning, solver: SolverSettings, weights: Model, rate: float, epochs: int) -> float:
    """Return the best accuracy of all epochs."""
    trained, tested = (opened(edited(solver, phase, by_batch=True), weights) for phase in (pb.TRAIN, pb.TEST))
    with closing(trained), closing(tested):
        for name in tuning.heads.values():
            weight, bias = learned_layers(trained.built)[name].blob_tensors()
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
            nn.init.uniform_(bias, -1 / math.sqrt(weight[0].numel()), 1 / math.sqrt(weight[0].numel()))
        share_blobs(tested.built, trained.built)
        optimizer = torch.optim.SGD(trained.module.parameters(), lr=rate, momentum=0.9, weight_decay=5e-4)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, epochs // 3), gamma=0.1)
        accuracies = [0.0]
        for _ in range(epochs):
            for _ in range(round(tuning.data.train_count / trained.batch_size)):
                optimizer.zero_grad()
                trained.forward_backward()
                optimizer.step()
            schedule.step()
            averages = average_batches(tested, solver.param.test_iter[0])
            accuracies += [] if averages is None else [as_numbers(averages[1])["accuracy"]]
    return max(accuracies)


if __name__ == "__main__":
    main()
