"""Requests to export nets and weights to other programs, and to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from caffe_proto.whole_numbers import whole_number
from netdsl.model.formats import TENSOR_SUFFIXES
from zoo.requests.groups import AboutNet, AssumesShapes, InStages, StoredType, target_names
from zoo.requests.request import Request, RequestError, argument, option, request

OLDEST_INTEGER_OPSET = 13  # the first one whose integers have a scale for each channel

CALIBRATION_ITEMS = 200

ExportTarget = Literal["caffe", "onnx", "torch"]


def mean_values(text: str) -> tuple[float, ...]:
    """Return the mean of each channel in a text such as 104,117,123."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"'{text}' isn't a list of channel means; write it as in 104,117,123") from None


def free_axes_of(texts: Iterable[str]) -> dict[str, tuple[str | int, ...]]:
    """Return the axes of blobs from texts such as data=N,3,H,W: names of free axes, and lengths."""
    axes: dict[str, tuple[str | int, ...]] = {}
    for text in texts:
        name, _, words = text.rpartition("=")
        read: list[str | int | None] = [
            word if word.isidentifier() else whole_number(word, 1) for word in words.split(",")
        ]
        if not name or None in read:
            raise ValueError(f"'{text}' isn't a blob and its axes; write them as in data=1,3,H,W")
        axes[name] = tuple(each for each in read if each is not None)
    return axes


@request
class ExportRequest(AssumesShapes, InStages, AboutNet):
    """Export a net in its deployed form. Data layers become inputs, losses become the predictions that they train, and
    layers that only training needs are removed. Other options rewrite the net further.

    After each step, and after writing, the command runs the net before and after the step and compares their outputs.
    It prints the differences relative to the spread of the outputs. If a difference exceeds the tolerance, nothing is
    written. With --for, the target also runs the written net. `zoo targets` lists and installs targets.

    A training net can contain settings and data sources that BVLC's Caffe doesn't support. The command names them. With
    --data-lmdb it also writes the net's data next to it, after the preparation that Caffe can't do.

    With --int8, the ONNX model is first verified as always, and then quantized. The command prints how much its outputs
    then differ on the items of the calibration. `zoo test --with` scores it.
    """

    net: str = argument("NET", address="read")
    weights: tuple[str, ...] = option(
        "Weights of the net, in any weights format.", default=(), metavar="FILE", address="read"
    )
    target: ExportTarget | None = option("Format to export to.", default=None, name="to")
    runtime: str | None = option(
        "Target that will run the exported net, in place of a format. It decides the format and the operators, and "
        "runs the net before anything is written.",
        default=None, name="for", names=target_names,
    )  # fmt: skip
    output: str | None = option(
        "Folder for Caffe's files, or the file to write. It can have an address.",
        default=None,
        short="o",
        metavar="PATH",
        address="write",
    )
    verify: bool = option("Verify that the exported net computes the same outputs.", default=True)
    tolerance: float | None = option(
        "Tolerance of all comparisons, instead of each one's default.", default=None, least=0, metavar="T"
    )
    opset: int | None = option(
        "ONNX opset, from 11 on; by default the newest one that runs here.", default=None, metavar="N"
    )
    decode: bool = option("Also decode the outputs in the ONNX model, as `zoo predict` does.", default=False)
    batch: int | None = option(
        "Batch size of all inputs; 1 if the net doesn't set it.", default=None, least=1, metavar="N"
    )
    dynamic: Mapping[str, tuple[str | int, ...]] = option(
        "Axes of an input in the ONNX model: names of those that are free, and lengths: data=1,3,H,W.",
        default_factory=dict, metavar="BLOB=AXES", parse=free_axes_of, repeatedly=True,
    )  # fmt: skip
    train_val: bool = option("Also write the training net, for Caffe.", default=False)
    solver: str | None = option(
        "Solver to write as well, with the training net, for Caffe.",
        default=None,
        metavar="FILE",
        address="read",
    )
    data_lmdb: bool = option("Also write the data that Caffe can't read to an LMDB.", default=False)
    fold: bool = option("Fold BatchNorm and Scale into the layers before them.", default=False)
    fully_convolutional: bool = option("Turn fully connected layers into convolutions.", default=False)
    rgb: bool = option("Accept RGB images where the net was trained on BGR.", default=False)
    mean: tuple[float, ...] = option("Mean to subtract inside the net.", default=(), metavar="B,G,R", parse=mean_values)
    precision: Literal["float16", "bfloat16"] | None = option(
        "Type to round the weights to; they are still stored as float32.", default=None
    )
    int8: bool = option("Quantize the ONNX model to 8-bit integers. This includes --fold.", default=False)
    calibrate: str | None = option(
        "Data on which the ranges of values for --int8 are measured; by default the net's own test data.",
        default=None, metavar="SOURCE", address="read",
    )  # fmt: skip
    calibrate_items: int | None = option(
        f"Number of items of these data, spread over all of them; by default {CALIBRATION_ITEMS}.",
        default=None, least=1, metavar="N",
    )  # fmt: skip
    prune_to: str | None = option("Layer at which the exported net ends.", default=None, metavar="LAYER")

    @property
    def format(self) -> ExportTarget:
        """The format to write."""
        from converters.targets.target import target_of

        return self.target or target_of(str(self.runtime)).format

    def check(self) -> None:
        """Refuse options that belong to another format."""
        if (self.target is None) == (self.runtime is None):
            raise RequestError("Give a format with --to FORMAT, or the target that will run the net with --for TARGET.")
        trains = self.train_val or self.solver is not None
        if self.format != "caffe" and trains:
            raise RequestError("--train-val and --solver need --to caffe; add it, or leave them out")
        if self.data_lmdb and not trains:
            raise RequestError("--data-lmdb needs --train-val or --solver; add one of them, or leave --data-lmdb out")
        if self.format != "onnx" and self.opset is not None:
            raise RequestError("--opset needs --to onnx; add it, or leave --opset out")
        if self.format != "onnx" and self.dynamic:
            raise RequestError("--dynamic needs --to onnx; add it, or leave --dynamic out")
        if self.decode and self.dynamic:
            raise RequestError("--decode reads images of one size; leave it out, or leave --dynamic out")
        if self.format != "onnx" and self.decode:
            raise RequestError("--decode needs --to onnx; add it, or leave --decode out")
        if self.runtime is not None and self.decode:
            raise RequestError(
                "--decode writes operators that few targets read; leave it out, or export with --to onnx in place of "
                "--for"
            )
        if self.format != "onnx" and self.int8:
            raise RequestError("--int8 needs --to onnx; add it, or leave --int8 out")
        for name, value in (("--calibrate", self.calibrate), ("--calibrate-items", self.calibrate_items)):
            if value is not None and not self.int8:
                raise RequestError(f"{name} needs --int8; add it, or leave {name} out")
        if self.int8 and self.opset is not None and self.opset < OLDEST_INTEGER_OPSET:
            raise RequestError(
                f"--int8 needs --opset {OLDEST_INTEGER_OPSET} or a newer one; choose one, or leave --int8 out"
            )
        if not self.verify and self.tolerance is not None:
            raise RequestError("--tolerance has no effect with --no-verify; remove --tolerance, or remove --no-verify")


@request
class ConvertRequest(AssumesShapes, AboutNet):
    """Convert a model from one format to another. The suffixes of IN and OUT select the formats.

    Weights are .caffemodel, .h5, .safetensors, .npz, or .pt and .pth, which contain torch's state_dict; there a blob is
    called LAYER.INDEX. Tensors with other names are matched to the layers of a net by name, order or shape, and each
    match is printed.

    A net with its weights becomes .onnx or torch.export's .pt2. An .onnx model becomes a .prototxt with its .caffemodel
    after both have computed the same outputs. If its inputs have an open shape, --assume states it.
    """

    source: str = argument("IN", address="read")
    output: str = argument("OUT", address="write")
    net: str | None = option(
        "Net of the weights, if their tensors have torch's names.", default=None, metavar="NET", address="read"
    )
    weights: tuple[str, ...] = option(
        "Weights, if IN is a net without weights.", default=(), metavar="FILE", address="read"
    )
    precision: StoredType | None = option("Type of the stored values.", default=None)

    def check(self) -> None:
        """Refuse a precision for formats that only store float32."""
        if self.precision is not None and Path(self.output).suffix not in TENSOR_SUFFIXES:
            raise RequestError(
                f"--precision needs an output in {', '.join(TENSOR_SUFFIXES)}, because other formats store "
                "float32; write such a file, or leave --precision out"
            )


@request
class VerifyRequest(AssumesShapes, AboutNet):
    """Verify that two models compute the same values. Both run on the same random inputs, and the command prints the
    difference of every blob that both contain, in the order of computation. The exit code is 1 if an output differs by
    more than the tolerance.

    A model is an .onnx file, a .caffemodel that contains its net, or a net and its weights with a comma between them,
    in any format of weights: deploy.prototxt,weights.safetensors. A training net is compared in its deployed form.

    With --in, the last model runs in another program, such as OpenCV, and its outputs are compared. Without B, A runs
    both here and there. `zoo targets` installs the program into an environment of its own.
    """

    first: str = argument("A", address="read")
    second: str | None = argument("[B]", default=None, address="read")
    runtime: str | None = option("Target that runs the last model.", default=None, name="in", names=target_names)
    tolerance: float | None = option(
        "Largest allowed difference of an output, relative to the spread of the blob's values: by default 1e-5, or "
        "1e-4 with --in.",
        default=None, least=0, metavar="T",
    )  # fmt: skip
    seed: int = option("Seed of the random inputs.", default=0, least=0, metavar="N")
    outputs_only: bool = option("Don't list the blobs between inputs and outputs.", default=False)

    def check(self) -> None:
        """Refuse a single model that nothing is compared with."""
        if self.second is None and self.runtime is None:
            raise RequestError("Give a second model, or a target that runs the first one with --in TARGET.")


@request
class TargetListRequest(Request):
    """List the programs that run exported models: their names, the formats that they read, and the versions of those
    that are installed."""


@request
class TargetInstallRequest(Request):
    """Install the packages of targets with pip, each into an environment of its own in the cache. netdsl's own
    environment stays as it is. Nothing else installs them."""

    names: tuple[str, ...] = argument("NAME...", names=target_names)


@request
class TargetRemoveRequest(Request):
    """Remove the environments of targets. Targets with the same packages share one."""

    names: tuple[str, ...] = argument("NAME...", names=target_names)


@request
class MigrateRequest(Request):
    """Migrate a program that reads Caffe models with OpenCV to OpenCV 5, which doesn't read them any more. The command
    looks for calls of readNetFromCaffe and readNet in the Python and C++ sources of a FOLDER, exports the models that
    they name next to their weights, and writes a patch with the changed calls. It changes no source, and runs none.

    Each model is run in the target before it is written, as in `zoo export --for`. The exit code is 2 if a call stays.
    """

    folder: Path = argument("FOLDER")
    runtime: str = option("Target that will run the models.", default="opencv5", name="for", names=target_names)
    patch: Path = option(
        "File to write the patch to.", default=Path("opencv5.patch"), text="opencv5.patch", short="o", metavar="FILE"
    )
    verify: bool = option("Run the models in the target, and compare their outputs.", default=True)
