"""Small files and texts that ask for much memory or time. Those of ONNX are in another module, since it needs onnx."""

from __future__ import annotations

import io
import tarfile


def many_layers(count: int) -> str:
    """Return a net of many layers, one after another."""
    relus = (
        f'layer{{name:"r{index}" type:"ReLU" bottom:"r{index - 1}" top:"r{index}"}}\n' for index in range(1, count)
    )
    return f'layer{{name:"r0" type:"Input" top:"r0" input_param{{shape{{dim:1}}}}}}\n{"".join(relus)}'


def prior_boxes(sizes: int, ratios: int) -> str:
    """Return a net with a PriorBox layer of this many sizes and aspect ratios."""
    settings = " ".join(f"min_size:{index + 1}" for index in range(sizes))
    settings += " " + " ".join(f"aspect_ratio:{2 + index / 100:g}" for index in range(ratios))
    return (
        'layer{name:"x" type:"Input" top:"x" input_param{shape{dim:1 dim:1 dim:2 dim:2}}}\n'
        f'layer{{name:"p" type:"PriorBox" bottom:"x" top:"p" prior_box_param{{img_size:300 {settings}}}}}\n'
    )


def huge_filler(outputs: int = 600_000_000) -> str:
    """Return a net whose weights fill gigabytes."""
    return (
        'layer{name:"x" type:"Input" top:"x" input_param{shape{dim:1 dim:1}}}\n'
        'layer{name:"ip" type:"InnerProduct" bottom:"x" top:"y" inner_product_param{'
        f'num_output:{outputs} weight_filler{{type:"xavier"}}}}}}\n'
    )


def laughing_card(levels: int = 9) -> str:
    """Return a card whose aliases stand for ten times as many values on each level."""
    lines = ["---", "name: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"f{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join([*lines, f"classes: *a{levels - 1}", "---", ""])


def deep_card(depth: int = 200_000) -> str:
    """Return a card with nested lists."""
    return f"---\nname: {'[' * depth}\n---\n"


def long_card(entries: int = 240_000) -> str:
    """Return a card with many classes."""
    return "---\nname: x\nclasses:\n" + "- a\n" * entries + "---\n"


def folders(count: int, last: tuple[str, bytes] = ("net.prototxt", b"")) -> bytes:
    """Return a tar.xz file of folders and a file."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as file:
        for _ in range(count):
            info = tarfile.TarInfo("d")
            info.type = tarfile.DIRTYPE
            file.addfile(info)
        info = tarfile.TarInfo(last[0])
        info.size = len(last[1])
        file.addfile(info, io.BytesIO(last[1]))
    return data.getvalue()
