"""Scripts that run on several workers, for `zoo run`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from netdsl.own_packages import IMPORTABLE_CAFFE
from zoo.requests.events import Listen
from zoo.requests.request import answers
from zoo.requests.training import RunRequest


@answers(RunRequest)
def run(request: RunRequest, listen: Listen) -> None:
    """Run a script with several workers. A single worker replaces this process.

    All Python processes that the script starts can `import caffe` too.
    """
    _make_caffe_importable()
    folder, workers = None if request.folder is None else Path(request.folder), request.workers or 1
    if request.started_by == "local" and workers == 1:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, str(request.script), *request.arguments])
    from netdsl.transparent.launch import run_as_worker, run_locally
    from netdsl.transparent.script import Script

    program = Script(str(request.script), request.arguments, request.all_output)
    if request.started_by == "external":
        assert folder is not None
        run_as_worker(program, folder, deadline=request.deadline, address=request.address, ports=request.ports)
    elif request.started_by == "mpi":
        from netdsl.mpi.script import run_as_rank

        run_as_rank(program, folder, deadline=request.deadline, address=request.address, ports=request.ports)
    else:
        run_locally(program, folder, workers=workers, deadline=request.deadline)


def _make_caffe_importable() -> None:
    """Let this process's children find netdsl.pycaffe under the name `caffe`, even where Caffe is installed."""
    earlier = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(IMPORTABLE_CAFFE), *([earlier] if earlier else [])])
