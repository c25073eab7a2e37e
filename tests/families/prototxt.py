"""Layers as prototxt, for nets that tests assemble."""

from __future__ import annotations

SCORED = "include { phase: TEST }"


def layer(kind: str, name: str, bottoms: str, settings: str = "", tops: str | None = None) -> str:
    """Return a layer whose top has the layer's name unless `top` is given."""
    blobs = "".join(f" bottom: '{blob}'" for blob in bottoms.split())
    blobs += "".join(f" top: '{blob}'" for blob in (name if tops is None else tops).split())
    return f"layer {{ name: '{name}' type: '{kind}'{blobs} {settings} }}"


def conv(name: str, bottom: str, width: int, kernel: int = 3, settings: str = "", filler: str = "msra") -> str:
    """Return a convolution that keeps the size."""
    window = f"kernel_size: {kernel} pad: {kernel // 2} weight_filler {{ type: '{filler}' }} {settings}"
    return layer("Convolution", name, bottom, f"convolution_param {{ num_output: {width} {window} }}")


def relu(blob: str) -> str:
    """Return an in-place ReLU."""
    return layer("ReLU", f"{blob}_relu", blob, tops=blob)


def pool(name: str, bottom: str, settings: str = "pool: MAX kernel_size: 2 stride: 2", tops: str | None = None) -> str:
    """Return a pooling layer that halves the size."""
    return layer("Pooling", name, bottom, f"pooling_param {{ {settings} }}", tops)


def trunk(*widths: int, bottom: str = "data") -> str:
    """Return convolutions with ReLUs, named conv1, conv2, ... All except the first follow a pooling."""
    layers = []
    for number, width in enumerate(widths, 1):
        if number > 1:
            layers.append(pool(f"pool{number - 1}", bottom))
            bottom = f"pool{number - 1}"
        layers += [conv(f"conv{number}", bottom, width), relu(f"conv{number}")]
        bottom = f"conv{number}"
    return "\n".join(layers)


def python(name: str, bottoms: str, tops: str, code: str, settings: str, more: str = "") -> str:
    """Return a user's layer that is written in Python."""
    module, _, kind = code.rpartition(".")
    param = f"python_param {{ module: '{module}' layer: '{kind}' param_str: \"{settings}\" }}"
    return layer("Python", name, bottoms, f"{param} {more}", tops)


def phase(name: str) -> str:
    """Return the rule that includes a layer in one phase only."""
    return f"include {{ phase: {name} }}"
