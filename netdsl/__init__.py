"""Nets that are described in Python or imported from Caffe and compiled into torch modules."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from caffe_proto import extensions
from netdsl.log_level import check_log_level, show_log_records

if TYPE_CHECKING:
    from netdsl.data.reader import open_reader
    from netdsl.data.sources.alphabet import Alphabet
    from netdsl.data.sources.class_names import read_class_names
    from netdsl.data.sources.vocabulary import Vocabulary
    from netdsl.data.tables.table import Table
    from netdsl.dsl import (
        ActivationLayer,
        Average,
        Constructor,
        ConvLayer,
        LinearLayer,
        Max,
        NetParams,
        PoolLayer,
        RDDLayer,
        Stochastic,
    )
    from netdsl.dsl.layer_types import *  # noqa: F403
    from netdsl.layer import Layer
    from netdsl.model.collection import WeightCollection
    from netdsl.model.deploy.captioner import split_captioner
    from netdsl.model.deploy.deploy_net import deploy_model
    from netdsl.model.model import Model
    from netdsl.model.opening import open_model
    from netdsl.model.weights.match import LoadReport
    from netdsl.net.graph import Phase
    from netdsl.prediction.captions import CaptionGenerator, CaptionSettings
    from netdsl.prediction.cascade import FaceCascade
    from netdsl.prediction.decoders import decoder_of
    from netdsl.prediction.decoders.mtcnn import Mtcnn
    from netdsl.prediction.generation import TextGenerator
    from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
    from netdsl.scores.coco import score_as_coco
    from netdsl.scores.precision import PrecisionRule, precision_table
    from netdsl.scores.voc import judge_as_voc
    from netdsl.solver.events import Action
    from netdsl.training.callbacks import EarlyStopping, History, Progress
    from netdsl.training.net import Net
    from zoo.finetuning.fine_tune import finetune


def _find_plugins() -> None:
    """Import the plug-ins, because they can add dialects."""
    from netdsl.plugins import load_plugins

    load_plugins()


__version__ = "0.1.0"

extensions.finders.append(_find_plugins)
show_log_records()

# These modules are imported on first use, so that printing the command line's help doesn't load torch, which takes
# seconds.
_MODULES = {
    "Action": "netdsl.solver.events",
    "Alphabet": "netdsl.data.sources.alphabet",
    "CaptionGenerator": "netdsl.prediction.captions",
    "CaptionSettings": "netdsl.prediction.captions",
    "DetectedBoxes": "netdsl.scores.boxes",
    "EarlyStopping": "netdsl.training.callbacks",
    "FaceCascade": "netdsl.prediction.cascade",
    "History": "netdsl.training.callbacks",
    "Layer": "netdsl.layer",
    "LoadReport": "netdsl.model.weights.match",
    "Model": "netdsl.model.model",
    "Mtcnn": "netdsl.prediction.decoders.mtcnn",
    "Net": "netdsl.training.net",
    "ObjectBoxes": "netdsl.scores.boxes",
    "Phase": "netdsl.net.graph",
    "PrecisionRule": "netdsl.scores.precision",
    "Progress": "netdsl.training.callbacks",
    "Table": "netdsl.data.tables.table",
    "TextGenerator": "netdsl.prediction.generation",
    "Vocabulary": "netdsl.data.sources.vocabulary",
    "WeightCollection": "netdsl.model.collection",
    "decoder_of": "netdsl.prediction.decoders",
    "deploy_model": "netdsl.model.deploy.deploy_net",
    "finetune": "zoo.finetuning.fine_tune",  # which resolves the names of models
    "judge_as_voc": "netdsl.scores.voc",
    "open_model": "netdsl.model.opening",
    "open_reader": "netdsl.data.reader",
    "precision_table": "netdsl.scores.precision",
    "read_class_names": "netdsl.data.sources.class_names",
    "score_as_coco": "netdsl.scores.coco",
    "split_captioner": "netdsl.model.deploy.captioner",
}

__all__ = [
    "Action",
    "ActivationLayer",
    "Alphabet",
    "Average",
    "CaptionGenerator",
    "CaptionSettings",
    "Constructor",
    "ConvLayer",
    "DetectedBoxes",
    "EarlyStopping",
    "FaceCascade",
    "History",
    "Layer",
    "LinearLayer",
    "LoadReport",
    "Max",
    "Model",
    "Mtcnn",
    "Net",
    "NetParams",
    "ObjectBoxes",
    "Phase",
    "PoolLayer",
    "PrecisionRule",
    "Progress",
    "RDDLayer",
    "Stochastic",
    "Table",
    "TextGenerator",
    "Vocabulary",
    "WeightCollection",
    "decoder_of",
    "deploy_model",
    "finetune",
    "judge_as_voc",
    "open_model",
    "open_reader",
    "precision_table",
    "read_class_names",
    "score_as_coco",
    "split_captioner",
]

if TYPE_CHECKING:
    from netdsl.dsl import layer_types

    __all__ += layer_types.__all__
else:
    _NAMES = __all__
    del __all__  # a fixed list would leave out layer types; without one, `from netdsl import *` asks __getattr__

    def __getattr__(name: str) -> object:
        """Return a public name, or a layer type as its constructor in the DSL."""
        if name == "__all__":
            return [*_NAMES, *import_module("netdsl.layers").LAYERS]
        if name.startswith("_"):
            raise AttributeError(f"module 'netdsl' has no attribute '{name}'")
        check_log_level()
        return getattr(import_module(_MODULES.get(name, "netdsl.dsl")), name)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
