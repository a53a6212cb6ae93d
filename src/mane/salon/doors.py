"""`OpenSalon`: a salon that is open: its worker, its server in a thread, and its address."""

from __future__ import annotations

import importlib.util
import threading
import time
from pathlib import Path
from types import TracebackType

from mane.salon.guard import Guard
from mane.salon.programs import Program, SimulationProgram
from mane.salon.server import PAGE, Salon, free_port, make_server
from mane.salon.worker import ThreadWorker, Worker
from mane.scene.config import Scene

START_SECONDS = 20.0


def require_extra() -> None:
    """Raise ValueError where the libraries of the salon are missing."""
    missing = [name for name in ("starlette", "uvicorn", "websockets") if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"the salon needs {', '.join(missing)}; install mane[salon]")


def require_page(folder: Path = PAGE) -> None:
    """Raise ValueError where the page has not been built, as in a checkout."""
    if not (folder / "index.html").is_file():
        raise ValueError("the page of the salon is not built; `make page` builds it, and a wheel of mane has it")


class OpenSalon:
    """A salon from when it is made until it is closed; also a context manager.

    Args:
        program: what is shown, or the scene that is simulated.
        folder: where pages may save files; None for nowhere.
        second: skin of the right half of a split view, or "none".
        host: address to listen at; any but loopback needs the token that is part of `address`.
        port: to listen at; 0 for a free one.
        threads: of the simulation; None for all cores.
        frame_ancestors: pages that may show it in a frame, as a content policy writes them.

    Attributes:
        address: that a browser opens.
        worker: the simulation.
    """

    def __init__(
        self,
        program: Program | Scene,
        *,
        folder: Path | None = None,
        second: str = "none",
        host: str = "127.0.0.1",
        port: int = 0,
        threads: int | None = None,
        frame_ancestors: str = "'none'",
    ) -> None:
        require_extra()
        self.guard = Guard.at(host, port or free_port(host), frame_ancestors=frame_ancestors)
        make = ThreadWorker if isinstance(program, SimulationProgram) else Worker
        self.worker = make(program, folder, second, threads=threads)
        self._server = make_server(Salon(self.worker, self.guard), host, self.guard.port)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.close()
                raise OSError(f"{host}:{self.guard.port}: the salon cannot listen there; choose another --port")
            time.sleep(0.01)

    @property
    def address(self) -> str:
        """What a browser opens; the token, if there is one, stays in the browser, which sends it when it connects."""
        host = f"[{self.guard.host}]" if ":" in self.guard.host else self.guard.host
        token = f"#token={self.guard.token}" if self.guard.token else ""
        return f"http://{host}:{self.guard.port}/{token}"

    @property
    def is_alive(self) -> bool:
        """Whether server and simulation are there."""
        return self._thread.is_alive() and self.worker.is_alive

    @property
    def error(self) -> str | None:
        """Why there is no simulation, or None."""
        return self.worker.error

    def close(self) -> None:
        """End server and simulation."""
        self._server.should_exit = True
        self._thread.join(5.0)
        self.worker.close()

    def __enter__(self) -> OpenSalon:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
