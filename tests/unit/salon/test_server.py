import contextlib
import os
import struct
import threading
import time
import urllib.error
import urllib.request
from socket import SO_LINGER, SOL_SOCKET

import numpy as np
import pytest
from salon_messages import messages_of_a_page, mutated

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from mane.salon import server as serving
from mane.salon.board import Board
from mane.salon.doors import require_page
from mane.salon.guard import Guard
from mane.salon.protocol import FROM_PAGE, encode
from mane.salon.server import Salon, free_port, make_server
from mane.salon.worker import Worker

RESET = struct.pack("ii", 1, 0)  # lingering for no time: the other side sees a connection that was cut
MOVE = {"number": 1, "position": [0, 0, 0], "rotation": [0, 0, 0, 1], "sequence": 3}


class StillWorker:
    """A worker without a simulation: what pages send is kept, and the board is the test's own."""

    def __init__(self):
        self.board, self.events, self.is_alive, self.on_message = Board(), [], True, None

    def send(self, name, values):
        self.events.append((name, values))

    def put(self, topic, message):
        self.board.put(topic, message)
        if self.on_message:
            self.on_message()


class Served:
    def __init__(self, folder, token=""):
        self.worker, port = StillWorker(), free_port("127.0.0.1")
        self.guard = Guard("127.0.0.1", port, token)
        self.host = f"127.0.0.1:{port}"
        self.salon = Salon(self.worker, self.guard, folder)
        self.server = make_server(self.salon, "127.0.0.1", port)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + 10
        while not self.server.started and time.monotonic() < deadline:
            time.sleep(0.01)

    @contextlib.contextmanager
    def connected(self, origin=None, hello=""):
        with connect(f"ws://{self.host}/socket", origin=origin or f"http://{self.host}", max_size=None) as socket:
            if hello is not None:
                socket.send(encode("hello", token=hello))
            yield socket

    def get(self, path, host=None):
        request = urllib.request.Request(f"http://{self.host}{path}", headers={"Host": host or self.host})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def close(self):
        self.server.should_exit = True
        self.thread.join(5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for name in ("index.html", "salon.js", "salon.css", "icon.svg"):
        (folder / name).write_text(name)
    (folder.parent / "secret.txt").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def served(folder):
    one = Served(folder)
    yield one
    one.close()


def close_code(socket):
    """Code that the server closes a connection with."""
    try:
        while True:
            socket.recv(timeout=5)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


def test_a_page_gets_the_newest_of_every_topic_and_is_heard(served):
    served.worker.put("state", encode("state", json="{}"))
    for number in range(50):
        served.worker.put("notice", encode("notice", number=number, is_error=0, text="n"))
    with served.connected() as socket:
        first, second = socket.recv(timeout=5), socket.recv(timeout=5)
        assert first == encode("state", json="{}")
        assert second == encode("notice", number=49, is_error=0, text="n")  # and none of those before
        served.worker.events.clear()
        socket.send(encode("move", **MOVE))
        served.worker.put("state", encode("state", json='{"a": 1}'))
        assert socket.recv(timeout=5) == encode("state", json='{"a": 1}')
        deadline = time.monotonic() + 5
        while not served.worker.events and time.monotonic() < deadline:
            time.sleep(0.01)
    assert served.worker.events[0][0] == "move"


def test_files_come_with_a_strict_policy(served):
    status, headers, body = served.get("/")
    assert (status, body) == (200, b"index.html")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


PATHS = ["/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/salon.js/../../secret.txt", "/x"]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leaves_the_page(served, path):
    status, _, body = served.get(path)
    assert status == 404
    assert b"secret" not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1"])
def test_another_name_for_this_server_is_refused(served, host):
    assert served.get("/", host)[0] == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null", "https://{host}"])
def test_a_foreign_page_cannot_connect(served, origin):
    with pytest.raises(InvalidStatus) as refused, served.connected(origin.format(host=served.host), None):
        pass
    assert refused.value.response.status_code == 403


def test_a_wrong_host_cannot_connect(served):
    name = f"rebound.example:{served.guard.port}"
    address, headers = f"ws://{served.host}/socket", {"Host": name}
    with pytest.raises(InvalidStatus), connect(address, origin=f"http://{name}", additional_headers=headers):
        pass


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"nonsense", 1007),
        ("text", 1007),
        (b"m\2\5\0", 1007),
        (encode("command", action="x" * 3000), 1007),
        (bytes(1_000_000), 1009),
    ],
)
def test_bad_messages_close_the_connection_with_a_code(served, data, code):
    with served.connected() as socket:
        socket.send(data)
        assert close_code(socket) == code


def test_a_very_large_message_is_refused_by_its_header(served):
    """One gigabyte is announced; the server hangs up without waiting for it."""
    with served.connected() as socket:
        socket.socket.sendall(b"\x82\xff" + (1 << 30).to_bytes(8, "big") + b"\0\0\0\0" + bytes(1000))
        assert close_code(socket) == 1009


def test_a_page_that_says_nothing_is_let_go(served, monkeypatch):
    monkeypatch.setattr(serving, "HELLO_SECONDS", 0.1)
    with served.connected(hello=None) as socket:
        assert close_code(socket) == 1008


def test_a_flood_is_stopped(served):
    with served.connected() as socket:
        message = encode("move", **MOVE)
        with contextlib.suppress(ConnectionClosed):
            for _ in range(4_000):
                socket.send(message)
        assert close_code(socket) == 4008


def test_more_pages_than_there_is_room_for_are_told_so(folder, monkeypatch):
    monkeypatch.setattr(serving, "MOST_PAGES", 2)
    one, state = Served(folder), encode("state", json="{}")
    try:
        one.worker.put("state", state)
        with one.connected() as first, one.connected() as second:
            assert first.recv(timeout=5) == second.recv(timeout=5) == state
            with one.connected() as third:
                assert close_code(third) == 1013
            one.worker.put("state", encode("state", json='{"a": 2}'))  # those that were there stay
            assert first.recv(timeout=5) == second.recv(timeout=5) == encode("state", json='{"a": 2}')
    finally:
        one.close()


def test_pages_are_told_that_the_simulation_has_ended(folder):
    one = Served(folder)
    try:
        with one.connected() as socket:
            one.worker.put("state", encode("state", json="{}"))
            socket.recv(timeout=5)
            one.worker.is_alive = False
            one.worker.on_message()
            assert close_code(socket) == 4011
    finally:
        one.close()


def test_a_token_is_needed_where_there_is_one(folder):
    one = Served(folder, "right")
    try:
        with one.connected(hello="wrong") as socket:
            assert close_code(socket) == 1008
        one.worker.put("state", encode("state", json="{}"))
        with one.connected(hello="right") as socket:
            assert socket.recv(timeout=5) == encode("state", json="{}")
    finally:
        one.close()


def test_only_other_addresses_get_a_token():
    assert Guard.at("127.0.0.1", 1).token == Guard.at("localhost", 1).token == Guard.at("::1", 1).token == ""
    guard = Guard.at("0.0.0.0", 8000)
    assert len(guard.token) >= 32
    assert guard.accepts_host({"host": "192.168.1.5:8000"})
    assert not guard.accepts_host({"host": "evil.example:8000"})  # a name could be somebody else's
    assert not guard.accepts_host({"host": "192.168.1.5:8001"})


GOING_ON = {
    "grab": ({"is_held": 1, "point": [0, 0, 0], "target": [0, 0, 0.1]}, {"is_held": 0}),
    "blow": ({"origin": [0, 0, 1], "velocity": [0, 0, -5]}, {"origin": [0, 0, 0], "velocity": [0, 0, 0]}),
    "pour": ({"origin": [0, 0.3, 0], "velocity": [0, -1, 0]}, {"origin": [0, 0, 0], "velocity": [0, 0, 0]}),
}


def events_after(served, count):
    """What has come of pages since a test cleared it, as soon as there are so many."""
    deadline = time.monotonic() + 10
    while len(served.worker.events) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    return list(served.worker.events)


def has_let_go(event, name):
    return event[0] == name and all(np.all(np.equal(event[1][key], one)) for key, one in GOING_ON[name][1].items())


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("name", GOING_ON)
def test_what_a_page_holds_ends_with_it(served, name, is_cut):
    """A tab is closed, or its socket dies, while a button is down."""
    served.worker.events.clear()
    with served.connected() as socket:
        socket.send(encode(name, **GOING_ON[name][0], sequence=5))
        assert len(events_after(served, 1)) == 1
        if is_cut:
            socket.socket.setsockopt(SOL_SOCKET, SO_LINGER, RESET)
            socket.socket.close()
    events = events_after(served, 2)
    assert [one for one, _ in events] == [name, name]
    assert has_let_go(events[1], name)
    assert events[1][1]["sequence"] == 5


def test_what_was_let_go_or_taken_over_does_not_end_with_a_page(served):
    served.worker.events.clear()
    (pour, dry), (pull, _) = GOING_ON["pour"], GOING_ON["grab"]
    with served.connected() as other:
        with served.connected() as socket:
            socket.send(encode("pour", **pour, sequence=1))
            socket.send(encode("pour", **dry, sequence=2))
            socket.send(encode("grab", **pull, sequence=3))
            events_after(served, 3)
            other.send(encode("grab", **pull, sequence=1))
            events_after(served, 4)
            socket.send(encode("blow", **GOING_ON["blow"][0], sequence=4))
        events = events_after(served, 6)
        assert [name for name, _ in events] == ["pour", "pour", "grab", "grab", "blow", "blow"]
        assert has_let_go(events[5], "blow")
    assert has_let_go(events_after(served, 7)[6], "grab")


def check_cut_connections(served, count):
    """Mutated messages, and sockets cut at random: every connection ends, and the server goes on."""
    rng = np.random.default_rng(2)
    codes = set()
    for number in range(count):
        with served.connected() as socket:
            for _ in range(int(rng.integers(1, 4))):
                try:
                    socket.send(mutated(rng, ORIGINALS[number % len(ORIGINALS)]))
                except ConnectionClosed:
                    break
            if rng.random() < 0.3:
                socket.socket.close()
                continue
            with contextlib.suppress(ConnectionClosed):
                socket.send(b"end")
            codes.add(close_code(socket))
    assert codes == {1007}
    assert served.get("/")[0] == 200


def test_mutated_messages_and_cut_sockets_end_one_connection_alone(served):
    check_cut_connections(served, 20)


MESSAGES = int(os.environ.get("MANE_STRESS_MESSAGES", "100000"))
PAGES = 4  # that send at the same time
ORIGINALS = messages_of_a_page()


class Vandal(threading.Thread):
    """A page that sends mutated messages, and cuts its sockets in the middle of a frame, before and after hello."""

    def __init__(self, served, seed, count):
        super().__init__()
        self.served, self.rng, self.left = served, np.random.default_rng(seed), count
        self.codes, self.cut, self.error = set(), 0, None

    def run(self):
        try:
            while self.left > 0:
                with self.served.connected(hello=None) as socket:
                    self.visit(socket)
        except Exception as error:
            self.error = error

    def visit(self, socket):
        if self.rng.random() < 0.9:
            socket.send(encode("hello", token=""))
        for _ in range(int(self.rng.integers(1, 12))):
            self.left -= 1
            data = mutated(self.rng, ORIGINALS[self.rng.integers(len(ORIGINALS))])
            try:
                socket.send(data)
            except ConnectionClosed as closed:
                self.codes.add(closed.rcvd.code if closed.rcvd else None)
                return
        if self.rng.random() < 0.3:
            self.cut += 1
            frame = b"\x82\xfe\x0f\x00mask" + self.rng.bytes(int(self.rng.integers(0, 2000)))
            with contextlib.suppress(OSError):  # the server may have hung up already
                socket.socket.setsockopt(SOL_SOCKET, SO_LINGER, RESET)
                socket.socket.sendall(frame[: int(self.rng.integers(1, len(frame)))])
            socket.socket.close()
            return
        with contextlib.suppress(ConnectionClosed):
            socket.send(b"end")
        self.codes.add(close_code(socket))


@pytest.mark.stress
def test_very_many_mutated_messages_over_sockets(served):
    """`MANE_STRESS_MESSAGES=10000` sends a tenth."""
    threads = threading.active_count()
    vandals = [Vandal(served, seed, MESSAGES // PAGES) for seed in range(PAGES)]
    served.worker.events.clear()
    for one in vandals:
        one.start()
    for one in vandals:
        one.join(3600)
        assert not one.is_alive()
        assert one.error is None
    codes = set().union(*(one.codes for one in vandals))
    assert {1007} <= codes <= {1007, 1008}  # the second where a mutation of hello came first, with another token
    assert sum(one.cut for one in vandals) > MESSAGES // 100
    # A mutation may be a message still: every kind has come through, but for the one that the server keeps to itself.
    assert {name for name, _ in served.worker.events} == {message.name for message in FROM_PAGE} - {"hello"}
    served.worker.put("state", encode("state", json="{}"))
    with served.connected() as socket:  # and a page that behaves is served
        while socket.recv(timeout=5) != encode("state", json="{}"):
            pass
    deadline = time.monotonic() + 10
    while (served.salon.page_count or threading.active_count() > threads) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert served.salon.page_count == 0  # nobody is forgotten
    assert threading.active_count() <= threads


def test_a_page_that_is_not_built_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"the page of the salon is not built; `make page` builds it"):
        require_page(tmp_path)
    (tmp_path / "index.html").write_text("<!doctype html>")
    require_page(tmp_path)


class DyingStudio:
    """A process that is seen as alive for a while after its pipe has closed."""

    def is_alive(self):
        return True

    def terminate(self):
        pass

    def join(self, seconds):
        pass


class DyingWorker(Worker):
    def _start(self, other, arguments):
        self._studio, self.other = DyingStudio(), other


def test_a_simulation_is_over_as_soon_as_its_pipe_has_closed():
    """Pages are woken once: what they are told then must be so already."""
    seen, woken = [], threading.Event()

    def wake():
        seen.append(worker.is_alive)
        woken.set()

    worker = DyingWorker(None, on_message=wake)
    assert worker.is_alive
    worker.other.close()
    assert woken.wait(5.0)
    assert seen == [False]
    worker.close()
