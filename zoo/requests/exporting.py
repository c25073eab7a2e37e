"""Requests to write nets and weights for others, and to compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from netdsl.model.formats import TENSOR_SUFFIXES
from zoo.requests.groups import AboutNet, AssumesShapes, InStages, StoredType
from zoo.requests.request import RequestError, argument, option, request

ExportTarget = Literal["caffe", "onnx", "torch"]


def mean_values(text: str) -> tuple[float, ...]:
    """Return the mean of each channel, of a text such as 104,117,123."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"'{text}' isn't like 104,117,123") from None


@request
class ExportRequest(AssumesShapes, InStages, AboutNet):
    """Write a net as it is deployed: data layers become inputs, losses become the predictions that they are made for,
    and layers that only training needs are removed. Other options rewrite the net further.

    After each step, and after writing, the net is run beside the one before. The differences of their outputs are
    printed relative to the outputs' spread; beyond the tolerance nothing is written.

    A net to train can have settings and sources of data that BVLC's Caffe doesn't know. They are named; with
    --data-lmdb its data are written beside it, prepared as far as Caffe can't do it.
    """

    net: str = argument("NET")
    weights: tuple[str, ...] = option("Its weights, in any format that has some.", default=(), metavar="FILE")
    target: ExportTarget = option("What to write it for.", name="to")
    output: Path | None = option("The folder for Caffe's files, or the file.", default=None, short="o", metavar="PATH")
    verify: bool = option("Prove that it computes the same.", default=True)
    tolerance: float | None = option(
        "The tolerance of all proofs, in place of their own.", default=None, least=0, metavar="T"
    )
    opset: int | None = option("The opset of ONNX; by default the newest one that runs.", default=None, metavar="N")
    batch: int | None = option(
        "The batch of all inputs; 1 if the net doesn't say it.", default=None, least=1, metavar="N"
    )
    train_val: bool = option("Also write the net that was trained, to Caffe.", default=False)
    solver: str | None = option("Also write this solver and that net, to Caffe.", default=None, metavar="FILE")
    data_lmdb: bool = option("Also write the data that Caffe can't read, as LMDB.", default=False)
    fold: bool = option("Fold BatchNorm and Scale into the layers before them.", default=False)
    fully_convolutional: bool = option("Make fully connected layers convolutions.", default=False)
    rgb: bool = option("Take images in RGB, where the net was made for BGR.", default=False)
    mean: tuple[float, ...] = option(
        "Subtract this mean inside the net.", default=(), metavar="B,G,R", parse=mean_values
    )
    precision: Literal["float16", "bfloat16"] | None = option(
        "Round the weights; they are stored as float32.", default=None
    )
    prune_to: str | None = option("End the net at this layer.", default=None, metavar="LAYER")

    def check(self) -> None:
        """Refuse options of one target for another."""
        trains = self.train_val or self.solver is not None
        if self.target != "caffe" and trains:
            raise RequestError("--train-val and --solver are for --to caffe")
        if self.data_lmdb and not trains:
            raise RequestError("--data-lmdb is for the data of --train-val or --solver")
        if self.target != "onnx" and self.opset is not None:
            raise RequestError("--opset is for --to onnx")
        if not self.verify and self.tolerance is not None:
            raise RequestError("--tolerance is for verifying; remove --no-verify")


@request
class ConvertRequest(AboutNet):
    """Convert IN to OUT, whose names end with their formats. Weights are .caffemodel, .h5, .safetensors, .npz, or .pt
    and .pth, which hold torch's state_dict; there a blob is called LAYER.INDEX. Tensors with other names are matched to
    the layers of a net by their names, their order or their shapes, and each match is printed. A net with its weights
    becomes .onnx or torch.export's .pt2; an .onnx model becomes a .prototxt with its .caffemodel, once both have given
    the same outputs.
    """

    source: str = argument("IN")
    output: str = argument("OUT")
    net: str | None = option("The net of weights whose tensors have torch's names.", default=None, metavar="NET")
    weights: tuple[str, ...] = option("The weights, where IN is a net without any.", default=(), metavar="FILE")
    precision: StoredType | None = option("The type of stored values.", default=None)

    def check(self) -> None:
        """Refuse a precision for files that have but one."""
        if self.precision is not None and Path(self.output).suffix not in TENSOR_SUFFIXES:
            raise RequestError(f"--precision is for {', '.join(TENSOR_SUFFIXES)}; other files have float32")


@request
class VerifyRequest(AssumesShapes, AboutNet):
    """Run two models of any formats on the same random inputs, and print the difference of every blob that both have,
    in the order in which they are computed. The exit code is 1 if an output's difference is above the tolerance.

    A model is an .onnx file, a .caffemodel that has its net, or a net with its weights after a comma, in any format of
    weights: deploy.prototxt,weights.safetensors. A net for training is compared as it is deployed.
    """

    first: str = argument("A")
    second: str = argument("B")
    tolerance: float = option(
        "The largest difference of an output, relative to the spread of a blob's values.",
        default=1e-5, least=0, metavar="T",
    )  # fmt: skip
    seed: int = option("The seed of the random inputs.", default=0, least=0, metavar="N")
    outputs_only: bool = option("Don't list the blobs between inputs and outputs.", default=False)
