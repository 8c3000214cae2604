from __future__ import annotations

import http.client
import selectors
import socket
import ssl
import threading
import time
from collections import defaultdict
from typing import Any, Dict, Iterator, List, Optional, Tuple
from urllib.parse import urlsplit

IDLE = 60.0  # seconds for which a connection is kept; a node keeps it for two minutes
SILENCE = 30.0  # seconds for which a stream may be silent; an event stream has a sign of life every 15
PER_ENDPOINT = 32  # idle connections


class Abort:
    """Ends a call from another thread."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._lock = threading.Lock()
        self._sock: Optional[socket.socket] = None

    def watch(self, sock: Optional[socket.socket]) -> None:
        with self._lock:
            self._sock = sock
        if self.event.is_set():
            self.stop()

    def stop(self) -> None:
        self.event.set()
        with self._lock:
            if self._sock is not None:
                try:
                    self._sock.shutdown(socket.SHUT_RDWR)  # which wakes the thread that reads from it
                except OSError:
                    pass  # it has ended already


class Stream:
    """An answer that is read while it comes: like a file, or line by line. Close it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection, self._response = connection, response

    def read(self, size: Optional[int] = None) -> bytes:
        return self._response.read(size)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._response)

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _readable(sock: socket.socket) -> bool:
    """Report whether an idle socket has something to read, which is its end."""
    with selectors.DefaultSelector() as s:
        s.register(sock, selectors.EVENT_READ)
        return bool(s.select(0))


class Pool:
    """Idle connections by endpoint. Any thread may use it."""

    def __init__(self, context: Optional[ssl.SSLContext]) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._idle: Dict[str, List[Tuple[float, http.client.HTTPConnection]]] = defaultdict(list)

    def take(self, endpoint: str, timeout: float) -> http.client.HTTPConnection:
        """Return a connection that is open: an idle one or a new one."""
        while True:
            with self._lock:
                idle = self._idle[endpoint]
                since, connection = idle.pop() if idle else (0.0, None)
            if connection is None:
                return self._connect(endpoint, timeout)
            if time.monotonic() - since < IDLE and not _readable(connection.sock):
                connection.sock.settimeout(timeout)
                return connection
            connection.close()  # the node has closed it, or is about to

    def _connect(self, endpoint: str, timeout: float) -> http.client.HTTPConnection:
        at = urlsplit(endpoint)
        if at.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                at.hostname or "", at.port, timeout=timeout, context=self._context or ssl.create_default_context())
        else:
            connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=timeout)
        connection.connect()
        return connection

    def give(self, endpoint: str, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if connection.sock is not None and len(self._idle[endpoint]) < PER_ENDPOINT:
                self._idle[endpoint].append((time.monotonic(), connection))
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            every = [c for idle in self._idle.values() for _, c in idle]
            self._idle.clear()
        for connection in every:
            connection.close()
