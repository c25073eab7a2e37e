"""Connections that end in time, whatever their clients do.

uvicorn ends a connection that is silent between two requests, but waits without limit for the rest of a head, of a body
and for clients that don't read. Hypercorn's time limit begins again with every byte, and Granian's ends with the head.
Neither has limits for each client, so this subclass of uvicorn's protocol adds the missing deadlines.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from zoo.serving.clients import Place, Places, client_of
from zoo.serving.metrics import Metrics
from zoo.serving.refusals import Reason, RefusedError
from zoo.serving.settings import PREDICT, ServerSettings

LARGEST_HEAD = 16 << 10  # bytes

_MOST_LINES = 100  # of a head; h11 needs ten microseconds for each
_PIECE = 256  # bytes that h11 parses at once where the number of its steps is unknown
_SPARE_OVERHEAD = 512  # bytes of a body that may be syntax: about 80 chunks, each of which h11 parses slowly
_DATA_PER_OVERHEAD = 64  # bytes of data that allow one more byte of syntax, as chunks of 512 bytes have
_END_OF_HEAD = re.compile(rb"\n\r?\n")


class TimedConnection(H11Protocol):
    """A connection with a place and a deadline.

    It waits for a head, then a request is in progress until its answer is sent, and so on. A head has `idle` seconds
    from its first byte, and a request `seconds` from its head, plus `idle` seconds to read a refusal. Between an answer
    and the next head, uvicorn's own limit applies.
    """

    def __init__(self, settings: ServerSettings, places: Places, metrics: Metrics, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings, self._places, self._metrics = settings, places, metrics
        self._place: Place | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._request: RequestResponseCycle | None = None  # the request in progress
        self._has_begun = False  # whether a part of the next head has arrived
        self._is_working = False  # whether the server works for the request
        self._held = bytearray()  # bytes that wait to be parsed
        self._left: int | None = None  # bytes of the request's body that are missing, if it states a length
        self._spare = 0.0  # bytes that may be syntax in a body without a length; its data allow more of them

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place and wait for a head."""
        transport.set_write_buffer_limits(0)  # writing pauses whenever the client hasn't taken all bytes
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        has_share = not self._settings.is_proxy(address)
        self._place = self._places.take(client_of(address), self._give_way, has_share=has_share)
        if self._place is None:
            self._refuse(RefusedError(Reason.CONNECTIONS, "too many connections are open; try again"))
        else:
            self._set_deadline(self._settings.idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._cancel_deadline()
        self._held.clear()
        if self._place is not None:
            self._places.release(self._place)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse as much as the client may send now."""
        self._held += data
        self._parse_held()

    def handle_events(self) -> None:
        """Start the request that has arrived, unless its head has too many lines."""
        if self.conn.their_state is h11.IDLE:
            head = _END_OF_HEAD.split(self.conn.trailing_data[0], 1)[0]
            if head.count(b"\n") > _MOST_LINES:
                self._refuse(RefusedError(Reason.HEAD, f"the head of the request has more than {_MOST_LINES} lines"))
                return
        super().handle_events()
        self._follow()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._follow()
        self._parse_held()

    def pause_writing(self) -> None:
        """Wait until the client reads."""
        super().pause_writing()
        self._follow()

    def resume_writing(self) -> None:
        """Continue after the client has read everything."""
        super().resume_writing()
        self._follow()
        self._parse_held()

    def send_400_response(self, msg: str) -> None:
        """Refuse what isn't HTTP."""
        text = f"the request isn't valid HTTP, or its head has more than {LARGEST_HEAD:,} bytes"
        self._refuse(RefusedError(Reason.MALFORMED, text))

    def _parse_held(self) -> None:
        """Parse the held bytes in pieces. The next request is held until this one is answered."""
        while self._held and not self.transport.is_closing():
            if self._request is not None and not self._request.more_body:
                self.flow.pause_reading()
                return
            if self._request is None and not self._has_begun:
                self._has_begun = True
                self._set_deadline(self._settings.idle)
            if self._request is None:
                size = _PIECE
            else:
                size = _PIECE + int(self._spare) if self._left is None else max(self._left, 1)
            piece = bytes(self._held[:size])
            del self._held[:size]
            self._parse_piece(piece)

    def _parse_piece(self, piece: bytes) -> None:
        request = self._request
        before = 0 if request is None else len(request.body)
        super().data_received(piece)
        if request is None:
            return
        data = len(request.body) - before
        if self._left is not None:
            self._left -= data
            return
        self._spare -= len(piece) - data - data / _DATA_PER_OVERHEAD
        if self._spare < 0 and request is self._request:
            self._refuse(RefusedError(Reason.MALFORMED, "the chunks of the body are too small; send larger ones"))

    def _follow(self) -> None:
        """Follow the connection into its next state, with its deadline. While it closes, the last one remains."""
        if self.transport.is_closing() or self._place is None:
            return
        request: RequestResponseCycle | None = self.cycle
        if request is not None and request.response_complete and not self.flow.write_paused:
            request = None
        is_new = request is not self._request
        if is_new:
            self._request, self._has_begun = request, False
            if request is None:
                self._cancel_deadline()
                self.flow.resume_reading()
            else:
                length = dict(self.headers).get(b"content-length")
                self._left = None if length is None else int(length) - len(request.body)
                self._spare = float(_SPARE_OVERHEAD)
                self._set_deadline(self._settings.seconds + self._settings.idle)
        is_working = request is not None and self._is_work(request)
        if is_new or is_working != self._is_working:
            self._is_working = is_working
            self._places.mark(self._place, waits=not is_working)

    def _is_work(self, request: RequestResponseCycle) -> bool:
        """Whether the server works for a request that is in progress, and doesn't wait for the client. Other answers
        than predictions cost little, so a client can ask for them again."""
        return request.scope["path"] == PREDICT and not request.more_body and not self.flow.write_paused

    def _set_deadline(self, seconds: float) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(seconds, self._end_late)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _end_late(self) -> None:
        """End the connection at its deadline."""
        if self._request is not None:
            self._metrics.add_refusal(Reason.UNREAD if self.flow.write_paused else Reason.SLOW)
            self._reset()
        elif self._has_begun:
            text = f"the head of the request took longer than {self._settings.idle:g} s"
            self._refuse(RefusedError(Reason.SLOW_HEAD, text))
        else:
            self.transport.close()

    def _give_way(self) -> None:
        """End the connection, which waits for its client, because another client needs the place."""
        if self._request is None and not self._has_begun:
            self._metrics.add_refusal(Reason.GAVE_WAY)
            self.transport.close()
        else:
            text = "the request gave way to others, because its client was slow and the server is busy; try again"
            self._refuse(RefusedError(Reason.GAVE_WAY, text))

    def _refuse(self, refused: RefusedError) -> None:
        """Answer instead of the application, if it hasn't begun to, and end the connection."""
        self._metrics.add_refusal(refused.reason)
        if self.cycle is not None:  # the application learns that the client has gone
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._write_response(refused)
        if self.transport.get_write_buffer_size():
            self._reset()
        else:
            self.transport.close()

    def _reset(self) -> None:
        """End the connection, and let the system drop the bytes that the client doesn't take, rather than keep them."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _write_response(self, refused: RefusedError) -> None:
        response = refused.response()
        is_head = self.conn.our_state is h11.SEND_RESPONSE and self.scope["method"] == "HEAD"
        headers = [*self.server_state.default_headers, *response.raw_headers]
        for event in (
            h11.Response(status_code=response.status_code, headers=headers, reason=refused.reason.status.phrase),
            h11.Data(data=b"" if is_head else bytes(response.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
