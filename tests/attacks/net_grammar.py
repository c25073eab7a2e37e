"""A grammar of nets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tests.attacks.grammar import REPEAT, Grammar


class NetGrammar(Grammar):
    """A net as prototxt."""

    COMMANDS: ClassVar = (
        ("show", "FILE"),
        ("show", "--shapes", "FILE"),
        ("check", "FILE"),
        ("check", "--run", "FILE"),
        ("convert", "FILE", "OUT.caffemodel"),
        ("export", "FILE", "--to", "onnx", "-o", "OUT.onnx"),
    )
    RULES: ClassVar = {
        "input": 4, "convolution": 5, "deconvolution": 3, "pooling": 3, "inner_product": 2, "priors": 3, "reshape": 3,
        "tile": 2, "concat": 2, "slice": 1, "eltwise": 1, "lstm": 1, "dummy": 2, "pyramid": 1, "interp": 2, "relu": 0,
        "flatten": 0, "permute": 0, "stages": 1, "names": 1, "unknown": 1, "comment": 1, "stored": 2, "scale": 1,
        "embed": 2, "lrn": 1, "bias": 1, "argmax": 1, "crop": 1, "batch_norm": 0, "long_name": 1, "softmax": 1,
        REPEAT: 2,
    }  # fmt: skip

    def __init__(self) -> None:
        self._parts, self._size, self._blobs = list[str](), 0, ["x0"]
        self._add('layer { name: "x0" type: "Input" top: "x0" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }')

    @property
    def size(self) -> int:
        return self._size

    def write(self, folder: Path) -> Path:
        path = folder / "x.prototxt"
        path.write_text("\n".join(self._parts))
        return path

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text) + 1

    def _layer(self, kind: str, settings: str = "", bottoms: Sequence[str] | None = None, tops: int = 1) -> None:
        bottoms = self._blobs[-1:] if bottoms is None else bottoms
        name = f"x{len(self._blobs)}"
        names = [name, *(f"{name}_{number}" for number in range(1, tops))]
        blobs = "".join(f' bottom: "{blob}"' for blob in bottoms) + "".join(f' top: "{blob}"' for blob in names)
        self._add(f'layer {{ name: "{name}" type: "{kind}"{blobs} {settings} }}')
        self._blobs.append(name)

    def input(self, n: int, c: int, h: int, w: int) -> None:
        shape = " ".join(f"dim: {max(dim, 1)}" for dim in (n, c, h, w))
        self._layer("Input", f"input_param {{ shape {{ {shape} }} }}", ())

    def convolution(self, outputs: int, kernel: int, pad: int, stride: int, dilation: int) -> None:
        numbers = f"kernel_size: {kernel} pad: {pad} stride: {max(stride, 1)} dilation: {max(dilation, 1)}"
        self._layer("Convolution", f"convolution_param {{ num_output: {outputs} {numbers} }}")

    def deconvolution(self, outputs: int, kernel: int, stride: int) -> None:
        numbers = f"kernel_size: {max(kernel, 1)} stride: {max(stride, 1)}"
        self._layer("Deconvolution", f"convolution_param {{ num_output: {outputs} {numbers} }}")

    def pooling(self, kernel: int, stride: int, pad: int) -> None:
        self._layer("Pooling", f"pooling_param {{ kernel_size: {kernel} stride: {max(stride, 1)} pad: {pad} }}")

    def inner_product(self, outputs: int, filler: int) -> None:
        kind = ("constant", "xavier", "gaussian", "bilinear", "positive_unitball")[filler % 5]
        settings = f'num_output: {outputs} weight_filler {{ type: "{kind}" }}'
        self._layer("InnerProduct", f"inner_product_param {{ {settings} }}")

    def priors(self, sizes: int, ratios: int, each: int) -> None:
        settings = "".join(f" min_size: {number + 1}" for number in range(min(sizes, 20_000)))
        settings += "".join(f" aspect_ratio: {each + number + 2}" for number in range(min(ratios, 20_000)))
        self._layer("PriorBox", f"prior_box_param {{{settings} }}", [self._blobs[-1], self._blobs[0]])

    def reshape(self, a: int, b: int, c: int) -> None:
        self._layer("Reshape", f"reshape_param {{ shape {{ dim: {a} dim: {b} dim: {c} dim: -1 }} }}")

    def tile(self, axis: int, tiles: int) -> None:
        self._layer("Tile", f"tile_param {{ axis: {axis % 4} tiles: {max(tiles, 1)} }}")

    def concat(self, count: int, axis: int) -> None:
        bottoms = self._blobs[-1:] * min(count + 1, 20_000)
        self._layer("Concat", f"concat_param {{ axis: {axis % 4} }}", bottoms)

    def slice(self, tops: int) -> None:
        self._layer("Slice", "", tops=min(tops + 1, 5000))

    def eltwise(self, count: int) -> None:
        self._layer("Eltwise", "", self._blobs[-1:] * min(count + 2, 20_000))

    def lstm(self, outputs: int) -> None:
        self._layer("LSTM", f"recurrent_param {{ num_output: {outputs} }}", [self._blobs[-1], self._blobs[0]])

    def dummy(self, count: int, size: int) -> None:
        shapes = f"shape {{ dim: {max(size, 1)} }} " * min(count + 1, 5000)
        self._layer("DummyData", f"dummy_data_param {{ {shapes} }}", (), min(count + 1, 5000))

    def pyramid(self, height: int) -> None:
        self._layer("SPP", f"spp_param {{ pyramid_height: {height} }}")

    def interp(self, factor: int, size: int) -> None:
        self._layer(
            "Interp",
            f"interp_param {{ zoom_factor: {max(factor, 1)} }}"
            if size % 2
            else f"interp_param {{ height: {max(size, 1)} width: {max(size, 1)} }}",
        )

    def relu(self) -> None:
        self._layer("ReLU")

    def flatten(self) -> None:
        self._layer("Flatten")

    def permute(self) -> None:
        self._layer("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }")

    def stages(self, count: int) -> None:
        rules = "".join(f' exclude {{ stage: "s{number}" }}' for number in range(min(count, 20_000)))
        self._layer("ReLU", rules)

    def names(self, count: int) -> None:
        self._layer(
            "InnerProduct",
            'param { name: "w" } inner_product_param { num_output: 2 } ' + "propagate_down: true " * min(count, 1),
        )

    def unknown(self, count: int) -> None:
        self._layer("ReLU", "".join(f"unknown_{number}: 1 " for number in range(min(count, 20_000))))

    def comment(self, count: int) -> None:
        self._add("# a comment\n" * min(count, 50_000))

    def stored(self, count: int, size: int) -> None:
        blob = f"blobs {{ shape {{ dim: {size} }} }} "
        self._layer("InnerProduct", blob * min(count, 20_000) + "inner_product_param { num_output: 2 }")

    def scale(self, axes: int) -> None:
        self._layer("Scale", f"scale_param {{ axis: {axes % 4} num_axes: -1 bias_term: true }}")

    def embed(self, words: int, outputs: int) -> None:
        self._layer("Embed", f"embed_param {{ input_dim: {max(words, 1)} num_output: {max(outputs, 1)} }}")

    def lrn(self, size: int) -> None:
        self._layer("LRN", f"lrn_param {{ local_size: {size | 1} }}")

    def bias(self, axis: int) -> None:
        self._layer("Bias", f"bias_param {{ axis: {axis % 4} num_axes: -1 }}")

    def argmax(self, top: int) -> None:
        self._layer("ArgMax", f"argmax_param {{ top_k: {max(top, 1)} }}")

    def crop(self, offset: int) -> None:
        self._layer("Crop", f"crop_param {{ axis: 2 offset: {offset} }}", [self._blobs[-1], self._blobs[0]])

    def batch_norm(self) -> None:
        self._layer("BatchNorm")

    def long_name(self, size: int) -> None:
        self._add(f'layer {{ name: "{"n" * min(size, 100_000)}" type: "ReLU" bottom: "x0" top: "y{self._size}" }}')

    def softmax(self, axis: int) -> None:
        self._layer("Softmax", f"softmax_param {{ axis: {axis % 4} }}")
