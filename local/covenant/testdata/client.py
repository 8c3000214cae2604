"""A client written from the protocol's document alone: python3 client.py HOME.

It runs every request kind the document lists, checks the shape of every answer, and prints the last line "ok".
"""
import json
import os
import socket
import struct
import sys
import uuid

home = sys.argv[1]
conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
conn.connect(os.path.join(home, "sock"))


def encode(message):
    payload = json.dumps(message).encode("utf-8")
    return struct.pack(">I", len(payload)) + payload


def read_exactly(n):
    data = b""
    while len(data) < n:
        part = conn.recv(n - len(data))
        if not part:
            raise SystemExit("the daemon closed the connection")
        data += part
    return data


def read_frame():
    (length,) = struct.unpack(">I", read_exactly(4))
    assert length <= 8 * 1024 * 1024
    return json.loads(read_exactly(length).decode("utf-8"))


def call(kind, want, **fields):
    conn.sendall(encode({"kind": kind, **fields}))
    reply = read_frame()
    assert reply["kind"] == want, (kind, reply)
    return reply


info = call("protocol_info", "protocol_info")["info"]
assert info == {"protocol": "covenant.ipc", "version": 1, "min_supported": 1, "max_supported": 2}, info
with open(os.path.join(home, "peers", "operator.token")) as f:
    token = f.read().strip()
display = call("authenticate", "authenticated", token_b58=token)["display"]
call("ping", "pong")

intent = call("submit_intent", "intent_result", text="the kettle is in the cellar", prefer_stream=None)
assert intent["status"] == "ok" and intent["sources"] == [], intent
records = call("recent_memory", "memories", tier="working", limit=10, prefer_stream=False)["records"]
assert records[0]["id"] == intent["intent_id"] and records[0]["text"] == intent["text"]
me = records[0]["owner"]
found = call("search_memory", "memories", query="kettle", tier=None, limit=10, min_relevance=None)["records"]
assert found[0]["id"] == intent["intent_id"]
assert call("search_memory", "memories", query="kettle", tier="episodic", limit=10, min_relevance=0.6)["records"] == []
receipts = call("recent_receipts", "receipts", limit=10, since_ms=None)["receipts"]
assert receipts[-1]["memory_record_id"] == intent["intent_id"]
assert call("ignore_check", "ignore_report", text="src/.env")["ignored"] is True

grant = call("grant_capability", "capability_granted", action="tool.call.echo", scope=None, expires_at=None)
assert grant["subject_display"] == display and grant["action"] == "tool.call.echo"
listed = call("recent_capabilities", "capabilities", limit=10)["capabilities"]
assert listed[-1]["signature"] == grant["signature_b58"]
assert "echo" in [t["name"] for t in call("list_tools", "tool_list")["tools"]]
result = call("call_tool", "tool_result", name="echo", arguments={"text": "ünïcode ☕"})
assert result == {"kind": "tool_result", "content": [{"type": "text", "text": "ünïcode ☕"}], "is_error": False}, result
assert call("revoke_capability", "capability_revoked", signature_b58=grant["signature_b58"])["removed"] is True
assert call("purge_capabilities", "capabilities_purged", before_ms=0)["purged"] == 0

for action in ("a2a.send." + display, "a2a.respond." + display):
    call("grant_capability", "capability_granted", action=action)
task = {"id": str(uuid.uuid4()), "sender": me, "recipient": me, "intent_text": "boil water"}
assert call("send_a2_a_task", "a2_a_task_queued", task=task)["task_id"] == task["id"]
queue = call("a2_a_queue", "a2_a_queue", limit=20, min_lease_age_ms=None, deadline_within_ms=None, state_filter="queued")
assert [t["task"]["id"] for t in queue["tasks"]] == [task["id"]]
assert call("try_recv_a2_a_task", "a2_a_task_opt")["task"] == task
assert call("try_recv_a2_a_task", "a2_a_task_opt")["task"] is None
answer = {"task_id": task["id"], "status": "ok", "content": [{"type": "text", "text": "done"}]}
assert call("post_a2_a_result", "a2_a_result_posted", result=answer)["task_id"] == task["id"]
assert call("try_recv_a2_a_result", "a2_a_result_opt")["result"] == answer
assert call("try_recv_a2_a_result", "a2_a_result_opt")["result"] is None

conn.sendall(encode({"kind": "recent_memory", "tier": None, "limit": 10, "prefer_stream": True}))
begin = read_frame()
assert begin["kind"] == "stream_begin" and begin["response_kind"] == "memories", begin
sequence = 0
while True:
    frame = read_frame()
    assert frame["stream_id"] == begin["stream_id"]
    if frame["kind"] == "stream_end":
        assert frame.get("summary") is None
        break
    assert frame["kind"] == "stream_chunk" and frame["sequence"] == sequence, frame
    sequence += 1
assert sequence == 1, sequence

report = call("verify", "verify_report", window=100)
assert report["orphans_total"] == 0 and all(c["passed"] for c in report["checks"]), report
events = call("recent_audit", "audit_events", limit=20, since_ms=None, prefer_stream=None)["events"]
assert len(events) == 20
assert call("verify_audit_integrity", "audit_integrity")["report"]["valid"] is True
assert call("purge_audit", "audit_purged", before_ms=0)["purged"] == 0
assert call("purge_peers", "peers_purged", before_ms=0)["purged"] == 0
assert call("purge_memory", "memory_purged", tier=None, before_ms=2**53)["purged"] == 1
assert call("recent_memory", "memories", tier=None, limit=10)["records"] == []
conn.close()
print("ok")
