"""A client with nothing but the standard library: the protocol's sample encoder, and a use of each request."""
import json
import socket
import struct
import sys


def call(sock_path, request, timeout=60.0):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(timeout)
    s.connect(sock_path)
    body = json.dumps(request).encode("utf-8")
    s.sendall(struct.pack(">I", len(body)) + body)
    header = b""
    while len(header) < 4:
        header += s.recv(4 - len(header))
    n = struct.unpack(">I", header)[0]
    body = b""
    while len(body) < n:
        body += s.recv(n - len(body))
    return json.loads(body)


def half_closing(sock_path, request):
    """Writes one frame, ends its side, and reads until the daemon ends its own."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(60)
    s.connect(sock_path)
    body = json.dumps(request).encode("utf-8")
    s.sendall(struct.pack(">I", len(body)) + body)
    s.shutdown(socket.SHUT_WR)
    data = b""
    while chunk := s.recv(65536):
        data += chunk
    return json.loads(data[4:])


def main(path):
    ok = lambda r: r["data"] if r["ok"] else sys.exit("refused: " + r["error"])
    assert ok(call(path, {"kind": "ping"}))["pid"] > 0
    r = ok(call(path, {"kind": "capture", "sessionId": "s_42", "tool": "Read", "payload": {"file_path": "/etc/hosts"},
                       "ts": 1714688532000, "source": "claude-code"}))
    assert isinstance(r["id"], int), r
    umlaut = ok(half_closing(path, {"kind": "capture", "sessionId": "s_42", "tool": "Notification",
                                    "payload": {"message": "Größe 大 😀"}}))
    drain = call(path, {"kind": "drain"})
    assert drain["ok"] and drain["data"]["pending"] == 0, drain
    hits = ok(call(path, {"kind": "search", "query": "hosts", "k": 5}))["hits"]
    assert hits and hits[0]["text"] == "Read /etc/hosts", hits
    near = ok(half_closing(path, {"kind": "timeline", "nearId": hits[0]["id"], "window": 3}))
    assert near["near"]["id"] == hits[0]["id"] and near["rows"], near
    rows = ok(call(path, {"kind": "get", "ids": [umlaut["summaryId"], 999]}))["summaries"]
    assert [x["text"] for x in rows] == ["Größe 大 😀"], rows
    status = ok(call(path, {"kind": "status"}))
    assert status["counts"]["raw"] + status["counts"]["summarized"] + status["counts"]["skipped"] == status["counts"]["events"]
    assert status["namespace"] == "default" and len(status["workspace"]) == 12, status
    done = ok(call(path, {"kind": "backfill", "limit": 1}, timeout=300))
    assert {"scanned", "captured", "skipped"} <= set(done), done
    no = call(path, {"kind": "nonsense"})
    assert no == {"ok": False, "error": "unknown request kind: nonsense"}, no
    print("ok")


main(sys.argv[1])
