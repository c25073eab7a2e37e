"""The server of `zoo serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caffe_proto.errors import import_extra
from netdsl.solver.events import Notice
from zoo.answers.answer import AnswerSettings
from zoo.answers.answerer import AnswererRequest
from zoo.devices import one_device
from zoo.requests.events import Listen
from zoo.requests.request import answers
from zoo.requests.using import ServeRequest
from zoo.serving.settings import ServerSettings, read_token

if TYPE_CHECKING:
    from zoo.serving.server import Server


@answers(ServeRequest)
def serve(request: ServeRequest, listen: Listen) -> Server:
    """Return the server of a model. It has already bound its address, and answers requests after `serve_until_ended` is
    called."""
    for module in ("starlette", "uvicorn"):
        import_extra(module, "serve", "serving needs Starlette and uvicorn")
    from zoo.serving.server import open_server

    settings = ServerSettings(
        request.host,
        request.port,
        read_token(request.token),
        wait=request.wait / 1000,
        largest=request.largest << 20,
        queue=request.queue,
        connections=request.connections,
        share=request.share,
        proxies=request.proxy,
        rate=request.rate,
        seconds=request.timeout,
        idle=request.idle,
        answers=AnswerSettings(request.top, request.threshold),
    )
    asked = AnswererRequest(
        request.model,
        request.weights,
        device=one_device(request.device, listen),
        batch=request.batch,
        blob=request.blob,
        read_as=request.read_as,
        dialect=request.dialect,
    )
    return open_server(asked, settings, listen, lambda problem: listen(Notice(problem)))
