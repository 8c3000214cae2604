from __future__ import annotations

import copy
import http.client
import json
import os
import random
import ssl
import threading
import time
import uuid
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, TypeVar, Union

from ._errors import CairnError, UnknownOutcomeError
from ._http import SILENCE, Abort, Pool, Stream
from ._operations import OPERATIONS, Operations
from ._request import encode, new_key
from ._stream import Feed, import_lines, read_lines, read_recall
from .types import Result

C = TypeVar("C", bound="Client")
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0  # seconds between rounds over all endpoints
LONGEST = 2_000_000.0  # seconds for an attempt; a socket accepts little more
LATE_FOR = 10.0  # seconds for which an endpoint that did not answer is tried last


class Failure(Exception):
    """What a failed attempt says of the request."""

    def __init__(self, error: CairnError, *, final: bool = False, taken: bool = False, leader: Optional[str] = None,
                 stay: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.final = final  # another attempt is useless
        self.taken = taken  # a node may have taken it
        self.leader = leader
        self.stay = stay  # the same node is to be asked again


class Asked(NamedTuple):
    """A request on its way."""

    op: Dict[str, Any]
    path: str
    body: Optional[bytes]
    id: str
    media: str
    accept: Optional[str]
    stream: bool
    abort: Abort


class _Cluster:
    """What a client knows of the nodes, shared with those made by Client.using."""

    def __init__(self, endpoints: List[str]) -> None:
        self.lock = threading.Lock()
        self.endpoints = endpoints
        self.at = endpoints[0]  # the endpoint in use: one of the list, or a leader that a node named
        self.late: Dict[str, float] = {}  # endpoints that did not answer, and until when they are tried last
        self.forward = False  # nodes pass writes on, because a leader that they named cannot be reached from here
        self.index = ""

    def is_late(self, endpoint: str) -> bool:
        return self.late.get(endpoint, 0) > time.monotonic()

    def leave(self, at: str) -> None:
        """Move on from an endpoint to the next in the list that is not late."""
        with self.lock:
            if self.at != at:
                return  # another call has moved on already
            after = self.endpoints.index(at) + 1 if at in self.endpoints else 0
            order = self.endpoints[after:] + self.endpoints[:after]
            self.at = next((e for e in order if not self.is_late(e)), order[0])

    def leader_in(self, body: Any, at: str) -> Optional[str]:
        """Return the leader's address in a refusal, unless it is late or would take the token off TLS."""
        leader = str((body or {}).get("leader_addr") or "").rstrip("/")
        if not leader or leader == at or self.forward or self.is_late(leader):
            return None
        return leader if leader.startswith("https:") or not at.startswith("https:") else None


class Client(Operations):
    """Calls the HTTP API of a cluster. It has one method for each operation: remember, recall, put, batch and so on.

    Any number of threads may use a client.

    :param endpoints: URLs of the nodes' gateways, tried in order.
    :param token: The token. Default: the environment's CAIRN_TOKEN.
    :param token_file: A file with the token, read again when a node rejects it. Default: the environment's
        CAIRN_TOKEN_FILE.
    :param database: The database, where it is not the token's own: only tokens with the scope admin reach others.
    :param timeout: Seconds for a call with all its attempts; of a stream, until it begins.
    :param attempt_timeout: Seconds until a call that may be repeated tries another node.
    :param own_writes: Reads wait until the node has applied this client's own writes.
    :param ssl_context: How certificates are checked; the system's authorities by default.
    """

    def __init__(self, endpoints: Union[str, Sequence[str]] = "http://127.0.0.1:7438", *, token: Optional[str] = None,
                 token_file: Optional[str] = None, database: Optional[str] = None, timeout: float = 30.0,
                 attempt_timeout: float = 10.0, own_writes: bool = False,
                 ssl_context: Optional[ssl.SSLContext] = None) -> None:
        names = [endpoints] if isinstance(endpoints, str) else list(endpoints)
        if not names:
            raise ValueError("endpoints: name at least one node")
        self._cluster = _Cluster([(e if "://" in e else "http://" + e).rstrip("/") for e in names])
        self._pool = Pool(ssl_context)
        self._token = (token or (None if token_file else os.environ.get("CAIRN_TOKEN")) or "").strip() or None
        self._token_file = token_file or (None if self._token else os.environ.get("CAIRN_TOKEN_FILE"))
        self.database, self.timeout = database, timeout
        self.attempt_timeout, self.own_writes = attempt_timeout, own_writes

    def using(self: C, *, database: Optional[str] = None, timeout: Optional[float] = None) -> C:
        """Return a client with another database or timeout, which shares this one's connections."""
        other = copy.copy(self)
        other.database, other.timeout = database or self.database, timeout or self.timeout
        return other

    @property
    def index(self) -> str:
        """The position in the log of this client's latest write; pass it as min_index to read that write elsewhere."""
        return self._cluster.index

    @property
    def endpoint(self) -> str:
        """The node that the next request goes to."""
        return self._cluster.at

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def call(self, name: str, /, **fields: Any) -> Any:
        """Run an operation by the name that the HTTP reference gives it, such as ``remember_batch``."""
        return self._call(name, fields)

    def recall_each(self, query: str, **fields: Any) -> Iterator[Result]:
        """Yield the results of a recall as the node reads them."""
        return read_recall(lambda: self._open("recall", {"query": query, **fields}, "text/event-stream"))

    def _call(self, name: str, fields: Dict[str, Any], abort: Optional[Abort] = None) -> Any:
        fields = {k.rstrip("_"): v for k, v in fields.items() if v is not None and k != "self"}
        if name == "events":
            return Feed(lambda more, stop: self._open(name, more, "text/event-stream", stop), fields)
        if name in ("export", "log"):
            return read_lines(lambda: self._open(name, fields))
        if name == "backup_send":
            return self._open(name, fields)
        if name == "import":
            lines = fields.pop("lines")
            return import_lines(lines, fields, lambda more, body: self._send(name, more, abort, lines=body))
        return self._send(name, fields, abort)

    def _open(self, name: str, fields: Dict[str, Any], accept: Optional[str] = None,
              abort: Optional[Abort] = None) -> Stream:
        return self._send(name, fields, abort, accept=accept, stream=True)

    def _send(self, name: str, fields: Dict[str, Any], abort: Optional[Abort] = None, *, accept: Optional[str] = None,
              stream: bool = False, lines: Optional[bytes] = None) -> Any:
        """Repeat a request until a node answers it, its time is over, or a repetition could make the change twice."""
        op, fields, cluster = OPERATIONS[name], dict(fields), self._cluster
        key = fields.setdefault(op["key"], new_key()) if "key" in op else None  # one key for all attempts
        if op.get("fresh") and self.own_writes and not fields.get("min_index") and not fields.get("consistency"):
            fields["min_index"] = cluster.index or None
        path, body = encode(op, fields, self.database)
        media = "application/json"
        if lines is not None:
            body, media = lines, "application/x-ndjson"
        asked = Asked(op, path, body, str(uuid.uuid4()), media, accept, stream, abort or Abort())
        end, pause, sent, hops, failed = time.monotonic() + self.timeout, FIRST_PAUSE, False, 0, 0
        while True:
            at, left = cluster.at, end - time.monotonic()
            many = len(cluster.endpoints) > 1 and op["repeat"] != "once"
            try:
                return self._note(self._attempt(at, asked, min(left, self.attempt_timeout) if many else left))
            except Failure as failure:
                f = failure
            sent = sent or f.taken and op["repeat"] != "read"  # an attempt of a write may have been taken
            given = UnknownOutcomeError(f.error, key) if sent else f.error
            if f.final or asked.abort.event.is_set() or time.monotonic() >= end or sent and op["repeat"] == "once":
                raise given
            if f.leader and hops < 2:
                hops, cluster.at = hops + 1, f.leader
                continue
            failed += 1
            if not f.stay:
                cluster.leave(at)
                if failed % len(cluster.endpoints):
                    continue  # another endpoint may answer at once
            rest = max(pause * random.uniform(0.5, 1.5), f.error.retry_after)
            if time.monotonic() + rest >= end:
                raise given
            asked.abort.event.wait(rest)
            pause, hops = min(2 * pause, LAST_PAUSE), 0

    def _note(self, answer: Any) -> Any:
        """Remember where in the log a write is."""
        index = answer.get("log_index") if isinstance(answer, dict) else None
        if index:
            with self._cluster.lock:
                if int(index) > int(self._cluster.index or 0):
                    self._cluster.index = str(index)
        return answer

    def _attempt(self, at: str, asked: Asked, seconds: float) -> Any:
        """Ask one node; a Failure says what became of it."""
        token, cluster, began = self._read_token(), self._cluster, False
        headers = {"X-Request-Id": asked.id}
        if token:
            headers["Authorization"] = "Bearer " + token
        if asked.accept:
            headers["Accept"] = asked.accept
        if asked.body is not None:
            headers["Content-Type"] = asked.media
        if cluster.forward:
            headers["X-Cairn-Forward"] = "1"
        connection: Optional[http.client.HTTPConnection] = None
        try:
            connection = self._pool.take(at, min(max(seconds, 0.001), LONGEST))
            sock = connection.sock
            asked.abort.watch(sock)
            if asked.abort.event.is_set():
                raise Failure(CairnError("the call was aborted", code="aborted", request_id=asked.id), final=True)
            began = True
            try:
                connection.request(asked.op["method"], asked.path, asked.body, headers)
            except ConnectionError:
                pass  # a node that rejects a body answers before it has read all of it, and closes the connection
            response = connection.getresponse()
            if asked.stream and response.status == 200:
                sock.settimeout(SILENCE)
                stream, connection = Stream(connection, response), None  # the connection ends with the stream
                return stream
            raw = response.read()
            if not response.will_close:
                self._pool.give(at, connection)
                connection = None
            return self._answer(response, raw, at, token)
        except (OSError, http.client.HTTPException) as e:
            if isinstance(e, TimeoutError) or "timed out" in str(e):
                cluster.late[at] = time.monotonic() + LATE_FOR
                late = CairnError(f"{at} did not answer in time", code="timeout", endpoint=at, request_id=asked.id)
                raise Failure(late, taken=began) from e
            if not began and at not in cluster.endpoints:
                cluster.forward = True  # a leader's address that means nothing here
            error = CairnError(f"{at}: {e or type(e).__name__}", code="unreachable", endpoint=at, request_id=asked.id)
            raise Failure(error, taken=began) from e
        finally:
            if not asked.stream:
                asked.abort.watch(None)
            if connection is not None:
                connection.close()

    def _answer(self, response: http.client.HTTPResponse, raw: bytes, at: str, token: Optional[str]) -> Any:
        """Decode an answer, or say what a node's error means for the request."""
        status = response.status
        try:
            body = json.loads(raw)
        except ValueError as e:
            if status == 200:
                raise http.client.HTTPException(f"the answer is no JSON: {e}") from e
            body = None  # a proxy's page
        if status == 200 and not (isinstance(body, dict) and body.get("idempotency_conflict")):
            return body
        if status == 503 and isinstance(body, dict) and "error" not in body:
            return body  # health: the node says that it cannot serve
        said = body if isinstance(body, dict) else {}
        after = response.getheader("Retry-After")  # a proxy may name a date
        wait = max(float(after) if after and after.isdecimal() else 0.0, said.get("retry_after_ms", 0) / 1000)
        error = CairnError(said.get("error") or f"HTTP {status} from {at}", code=said.get("code", ""), status=status,
                           request_id=response.getheader("X-Request-Id") or "", endpoint=at, retry_after=wait,
                           body=body)
        if status == 401 and self._changed_token(token):
            raise Failure(error, stay=True)
        if status == 429 and error.code and after is None:
            raise Failure(error, final=True)  # over a quota: it will be so again
        if "log_end" in said:  # min_index is past it, as after a restore from a backup
            with self._cluster.lock:
                if int(self._cluster.index or 0) > int(said["log_end"]):
                    self._cluster.index = ""
            raise Failure(error, final=True)
        if status in (307, 412, 429) or status == 503 and error.code:
            raise Failure(error, leader=self._cluster.leader_in(said, at), stay=status == 429)
        raise Failure(error, final=status < 502, taken=status >= 502)

    def _read_token(self) -> Optional[str]:
        if self._token is None and self._token_file:
            with open(self._token_file, encoding="utf-8") as f:
                self._token = f.read().strip()
        return self._token

    def _changed_token(self, used: Optional[str]) -> bool:
        """Read the token's file again, and report whether it has another token now."""
        if not self._token_file:
            return False
        if self._token == used:
            self._token = None
        return self._read_token() != used
