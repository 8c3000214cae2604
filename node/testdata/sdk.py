"""What an SDK asks of the gateway, with nothing but the standard library: the calls, and the exact keys of the answers."""
import json
import sys
import urllib.request
from dataclasses import dataclass


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": "Bearer " + sys.argv[1]}
    if data is not None:
        headers["Content-Type"] = "application/json"
    with urllib.request.urlopen(urllib.request.Request(sys.argv[2] + path, data, headers, method=method)) as r:
        return json.load(r)


@dataclass
class Memory:
    rid: str
    text: str
    memory_type: str
    score: float
    importance: float
    created_at: float
    why_retrieved: list
    metadata: dict
    namespace: str
    domain: str
    source: str
    certainty: float
    valence: float


@dataclass
class Stats:
    active_memories: int
    consolidated_memories: int
    tombstoned_memories: int
    edges: int
    entities: int
    operations: int
    open_conflicts: int
    pending_triggers: int


def remember(text, **more):
    body = {"text": text, "importance": 0.5, "memory_type": "semantic", "domain": "", "source": "user", "namespace": "",
            "metadata": {}, "valence": 0.0, "half_life": 168.0, "certainty": 1.0}
    return ask("POST", "/v1/remember", {**body, **more})["rid"]


session = ask("POST", "/v1/sessions", {"namespace": "default", "client_id": "", "metadata": {}})["session_id"]
rid = remember("Alice leads the payments team", metadata={"k": [1, "ü"]})
rule = remember("WHEN a build fails THEN read the log", memory_type="rule")
found = ask("POST", "/v1/recall", {"query": "who leads payments?", "top_k": 5, "include_consolidated": False, "expand_entities": True})
memories = [Memory(**m) for m in found["results"]]
assert memories[0].rid == rid and memories[0].metadata == {"k": [1, "ü"]}, memories
assert found["total"] == 2, found
typed = ask("POST", "/v1/recall", {"query": "x", "top_k": 5, "memory_type": "rule", "expand_entities": False, "include_consolidated": False})
assert [m["rid"] for m in typed["results"]] == [rule], typed
assert ask("POST", "/v1/relate", {"entity": "Alice", "target": "payments", "relationship": "leads", "weight": 1.0})["edge_id"]
stats = Stats(**ask("GET", "/v1/stats"))
assert stats.active_memories == 2 and stats.edges == 1 and stats.operations >= 3, stats
assert ask("POST", "/v1/forget", {"rid": rid})["found"] is True
assert ask("DELETE", "/v1/sessions/" + session)["memory_count"] == 2
assert ask("GET", "/v1/health")["status"] == "ok"
assert ask("GET", "/v1/pack-context")["pack_context"] is None
assert ask("GET", "/v1/databases")["databases"][0]["id"] == 1
