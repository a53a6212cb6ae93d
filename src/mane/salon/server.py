"""The server: the page's files, and one WebSocket for each page that looks."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mane.salon.grips import Grips
from mane.salon.guard import Allowance, Guard
from mane.salon.protocol import LARGEST_FROM_PAGE, ProtocolError, read_from_page
from mane.salon.worker import Worker

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.websockets import WebSocket

PAGE = Path(__file__).parent / "page"
NAMES = ("salon.js", "webgpu.js", "salon.css", "icon.svg")
FILES = {"/": "index.html", **{f"/{name}": name for name in NAMES}}
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
HELLO_SECONDS = 5.0
MOST_PAGES = 16
# Codes that a connection is closed with (RFC 6455; 4000 and up are ours).
BAD_MESSAGE, FORBIDDEN, FULL, TOO_FAST, GONE = 1007, 1008, 1013, 4008, 4011


class Salon:
    """Pages on one side, the worker on the other.

    Args:
        worker: the simulation.
        guard: who is let in.
        folder: of the built page.
    """

    def __init__(self, worker: Worker, guard: Guard, folder: Path = PAGE) -> None:
        self._worker, self._guard, self._folder = worker, guard, folder
        self._pages: set[asyncio.Event] = set()
        self._grips = Grips(worker.send)
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def page_count(self) -> int:
        """How many pages are connected."""
        return len(self._pages)

    def app(self) -> Starlette:
        """Return the application."""
        from starlette.applications import Starlette
        from starlette.routing import Route, WebSocketRoute

        routes: list[Any] = [Route(path, self._file(name), methods=["GET"]) for path, name in FILES.items()]
        routes.append(WebSocketRoute("/socket", self._socket))
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={404: self._missing})

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        self._worker.on_message = self._wake
        yield
        self._worker.on_message = None

    def _wake(self) -> None:
        """Called by a thread of the worker: there is something new for all pages."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        for page in self._pages:
            page.set()

    def _file(self, name: str) -> Callable[[Any], Any]:
        async def answer(request: Any) -> Any:
            from starlette.responses import Response

            if not self._guard.accepts_host(request.headers):
                return Response("this server has another name", 421, self._guard.headers)
            path = self._folder / name
            if not path.is_file():
                return Response("the page is not built; `make page` builds it", 503, self._guard.headers)
            return Response(path.read_bytes(), 200, self._guard.headers, TYPES[path.suffix])

        return answer

    async def _missing(self, request: Any, error: Exception) -> Any:
        from starlette.responses import Response

        return Response("not found", 404, self._guard.headers)

    # -- pages -------------------------------------------------------------------------------------------------------

    async def _socket(self, socket: WebSocket) -> None:
        from starlette.websockets import WebSocketDisconnect

        if not self._guard.accepts_origin(socket.headers):
            await socket.close(FORBIDDEN)
            return
        await socket.accept()
        code = GONE
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
            try:
                await asyncio.wait_for(self._greeted(socket), HELLO_SECONDS)
                code = await self._talk(socket)
            except ProtocolError:
                code = BAD_MESSAGE
            except (PermissionError, TimeoutError):
                code = FORBIDDEN
            await socket.close(code)

    async def _greeted(self, socket: WebSocket) -> None:
        name, values = read_from_page(await _bytes(socket))
        if name != "hello":
            raise ProtocolError("hello: must come first")
        if not self._guard.accepts_token(values["token"]):
            raise PermissionError("hello: wrong token")

    async def _talk(self, socket: WebSocket) -> int:
        """Send what is new and take what comes, until either ends; returns the code to close with."""
        if len(self._pages) >= MOST_PAGES:
            return FULL
        news = asyncio.Event()
        news.set()
        self._pages.add(news)
        tasks = [asyncio.create_task(self._send(socket, news)), asyncio.create_task(self._receive(socket, news))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            self._pages.discard(news)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._grips.leave(news)

    async def _send(self, socket: WebSocket, news: asyncio.Event) -> int:
        seen = 0
        while True:
            await news.wait()
            news.clear()
            seen, messages = self._worker.board.newer(seen)
            for _, message in messages:
                await socket.send_bytes(message)
            if not self._worker.is_alive:
                return GONE

    async def _receive(self, socket: WebSocket, page: asyncio.Event) -> int:
        allowance = Allowance()
        while True:
            data = await _bytes(socket)
            if not allowance.take():
                return TOO_FAST
            name, values = read_from_page(data)
            if name != "hello":
                self._grips.watch(page, name, values)
                self._worker.send(name, values)


async def _bytes(socket: WebSocket) -> bytes:
    """The next message; a text is none of ours."""
    from starlette.websockets import WebSocketDisconnect

    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    data = message.get("bytes")
    if data is None:
        raise ProtocolError("message: must be binary")
    return bytes(data)


def free_port(host: str) -> int:
    """A port that nobody listens at."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as one:
        one.bind((host, 0))
        return int(one.getsockname()[1])


def make_server(salon: Salon, host: str, port: int) -> Any:
    """Return a uvicorn server; messages beyond the limit close their connection before they are read whole."""
    import uvicorn

    config = uvicorn.Config(
        salon.app(),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=LARGEST_FROM_PAGE,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    return uvicorn.Server(config)
