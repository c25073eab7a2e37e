"""Runs models in tract."""

from typing import Any

import tract


def run(files: list[str], inputs: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """Return the outputs, which are in the model's order. The shapes of the inputs are fixed first, because tract can't
    leave every length open."""
    model = tract.onnx().load(files[0])
    names = [model.input_name(number) for number in range(model.input_count())]
    for number, name in enumerate(names):
        model.set_input_fact(number, ",".join([*map(str, inputs[name].shape), "f32"]))
    results = model.into_model().into_runnable().run([inputs[name] for name in names])
    return dict(zip(outputs, (result.to_numpy() for result in results), strict=True))
