"""Output of `zoo predict`, `features`, `propose`, `serve`, `test` and `time`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netdsl.planner.timing import LayerTime
from zoo.cli.console import print_table
from zoo.cli.output import counted, print_line, print_text, stdout_is_terminal

if TYPE_CHECKING:
    from zoo.predicting import Predicted
    from zoo.proposing import ProposedRegions
    from zoo.requests.using import (
        FeaturesRequest,
        PredictRequest,
        ProposeRequest,
        ServeRequest,
        TestRequest,
        TimeRequest,
    )
    from zoo.score_tables import ScoreTable
    from zoo.serving.server import Server
    from zoo.table_columns import AddedColumns
    from zoo.testing import TestResult
    from zoo.timing import TimedNet

_TEXTS = ("layer", "type")  # columns of text; the others contain numbers


def show_predicted(predicted: Predicted, request: PredictRequest) -> None:
    """Print a piece of the predictions."""
    print_text(predicted.text)


def show_features(added: AddedColumns, request: FeaturesRequest) -> None:
    """Print the path of the table."""
    print_line(f"wrote {added.output}")


def show_proposed(proposed: ProposedRegions, request: ProposeRequest) -> None:
    """Print the path of the file with the regions."""
    print_line(f"wrote {proposed.output}: {counted(proposed.regions, 'region')} in {counted(proposed.images, 'image')}")


def serve_until_ended(server: Server, request: ServeRequest) -> None:
    """Print the server's address, and run the server."""
    print_line(f"serving {server.name} at {server.address} until Ctrl-C")
    server.serve_until_ended()


def show_tested(result: TestResult, request: TestRequest) -> None:
    """Print the mean loss and outputs, and the scores of the whole set."""
    for line in _output_lines(result):
        print_line(line)
    for line in () if result.measured is None else result.measured.lines:
        print_line(line)
    for table in result.scores:
        _show_scores(table)


def _output_lines(result: TestResult) -> list[str]:
    """Return the net's loss, and a line for each output. An output that is called loss and equals it isn't repeated."""
    values, loss = result.outputs, result.loss
    lines = [f"{name} {value:.6g}" for name, value in values.items()]
    if (
        loss is None
        or not any(output.loss_weight for output in result.blobs)
        or math.isclose(values.get("loss", math.nan), loss, rel_tol=1e-5)
    ):
        return lines
    return [f"{'total loss' if 'loss' in values else 'loss'} {loss:.6g}", *lines]


def _show_scores(scores: ScoreTable) -> None:
    """Print the scores of the whole set, and a table of the classes."""
    counts = [each.count for each in scores.classes if each.count]
    classes = f"{len(counts):,} class{'' if len(counts) == 1 else 'es'}"
    print_line(f"{scores.task.value} ({scores.blob}): {sum(counts):,} {scores.counted} of {classes}")
    for name, value in scores.totals.items():
        if value is not None:
            print_line(f"{name} {value:.6g}")
    rows = [
        {
            "class": each.name,
            scores.counted: f"{each.count:,}",
            **{name: "" if value is None else f"{value:.4f}" for name, value in each.scores.items()},
        }
        for each in scores.classes
    ]
    print_table(rows, right=(scores.counted, *scores.score_names))


def show_times(timed: TimedNet, request: TimeRequest) -> None:
    """Print the times of all layers, and of the whole net."""
    forward, backward = (sum(getattr(layer, name) for layer in timed.layers) for name in ("forward", "backward"))
    total = LayerTime("total", "", forward, backward, timed.flops, sum(layer.bytes for layer in timed.layers))
    _show_layers([_layer_row(layer, forward + backward) for layer in (*timed.layers, total)])
    both = timed.forward + timed.backward
    print_line(f"whole net: forward {timed.forward:.3f} ms, backward {timed.backward:.3f} ms, both {both:.3f} ms")


def _layer_row(layer: LayerTime, total: float) -> dict[str, str]:
    speed = layer.flops / layer.forward / 1e6 if layer.forward else 0.0
    share = (layer.forward + layer.backward) / total if total else 0.0  # a net without layers takes no time
    return {
        "layer": layer.name,
        "type": layer.type,
        "forward ms": f"{layer.forward:.3f}",
        "backward ms": f"{layer.backward:.3f}",
        "%": f"{100 * share:.1f}",
        "GFLOP": f"{layer.flops / 1e9:.4f}",
        "GFLOP/s": f"{speed:.2f}",
        "MB": f"{layer.bytes / 1e6:.2f}",
    }


def _show_layers(rows: list[dict[str, str]]) -> None:
    """Print a table to a terminal, or aligned columns that programs can parse."""
    if stdout_is_terminal():
        print_table(rows, right=[head for head in rows[0] if head not in _TEXTS])
        return
    lines = [dict(zip(rows[0], rows[0], strict=True)), *rows]
    widths = {head: max(len(line[head]) for line in lines) for head in rows[0]}
    for line in lines:
        cells = (
            cell.ljust(widths[head]) if head in _TEXTS else cell.rjust(widths[head]) for head, cell in line.items()
        )
        print_line("  ".join(cells).rstrip())
