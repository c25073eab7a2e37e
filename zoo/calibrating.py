"""Data for the calibration of quantized models: items of a net's own data or of other data, prepared as the net expects
them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial

import numpy as np

from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import find_source
from netdsl.data.sources.table_files import table_of
from netdsl.data.sources.view import SourceView
from netdsl.data.tables.table import Table
from netdsl.errors import DataError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.model.weights.match import AnyArray
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve_own_state
from netdsl.solver.events import WeightsLoaded
from netdsl.training.data_sources import are_pictures, data_layers, read_test_data
from zoo.answers.answerer import Answerer, AnswererRequest, inputs_on
from zoo.answers.images import open_images
from zoo.requests.events import Listen
from zoo.requests.exporting import CALIBRATION_ITEMS, ExportRequest
from zoo.requests.using import View

Inputs = Mapping[str, AnyArray]
Batches = Callable[[], Iterator[Inputs]]


def calibration_batches(request: ExportRequest, listen: Listen) -> Batches:
    """Return a function that returns batches of a net's inputs by name, from items that are spread over the data.

    As in `zoo test`, the net's data layers prepare the items, and other images are prepared as for answers.
    """
    model = open_model(request.net, dialect=request.dialect, stages=request.stages).only(Phase.TEST)
    has_data, items = bool(data_layers(model.net)), request.calibrate_items or CALIBRATION_ITEMS
    if request.calibrate is None:
        if not has_data:
            raise DataError(
                f"{request.net}: the net has no test data with which the quantization can be calibrated; name some "
                "with --calibrate"
            )
        return partial(_fed, model, None, items)
    source = find_source(request.calibrate)
    is_read = has_data and source is not None and not are_pictures(source, model.net)
    if not is_read and (source is None or table_of(request.calibrate) is None):
        asked = AnswererRequest(request.net, request.weights, read_as=View.VALUES.value, dialect=request.dialect)
        answerer = Answerer(asked, lambda event: None if isinstance(event, WeightsLoaded) else listen(event))
        return partial(_answered, answerer, request.calibrate, items)
    table = read_test_data(model.net, request.calibrate, {})
    return partial(_fed, model, table, items)


def _fed(model: Model, table: Table | None, items: int) -> Iterator[Inputs]:
    """Yield batches that the data layers of a net read, or that a table contains."""
    graph = resolve_own_state(model.net)
    with closing(Feeds.open(graph, table=table)) as feeds:
        wanted = math.ceil(items / feeds.readings()[0].batch_size)
        available = feeds.epoch_batches()
        for position in _spread(wanted, wanted if available is None else math.ceil(available)):
            feeds.seek(dict.fromkeys(feeds.positions(), position))
            yield {graph.blobs[edge]: np.asarray(values) for edge, values in feeds.next().items()}


def _answered(answerer: Answerer, name: str, items: int) -> Iterator[Inputs]:
    """Yield batches of images, prepared for answers."""
    with closing(open_images(name, answerer.image_column({}), io.BytesIO())) as images:
        yield from inputs_on(answerer, SourceView(images, np.array(_spread(items, len(images))), classes_of(images)))


def _spread(count: int, whole: int) -> list[int]:
    """Return at most this many different numbers below `whole`, at even distances."""
    return sorted({number * whole // count for number in range(count)}) if whole else []
