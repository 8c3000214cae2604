"""What an SDK asks of the gateway, with nothing but the standard library: the calls, and the exact keys of the answers."""
import json
import sys
import urllib.error
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


@dataclass
class ThinkResult:
    consolidation_count: int
    conflicts_found: int
    patterns_new: int
    patterns_updated: int
    personality_updated: bool
    duration_ms: int
    triggers: list


def refused(status, method, path, body=None):
    try:
        ask(method, path, body)
    except urllib.error.HTTPError as e:
        assert e.code == status, (path, e.code, e.read())
        answer = json.load(e)
        assert isinstance(answer["error"], str) and answer["code"], answer
        return answer
    raise AssertionError(f"{method} {path} was answered")


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
think = ThinkResult(**ask("POST", "/v1/think", {"run_consolidation": True, "run_conflict_scan": True, "run_pattern_mining": False, "run_personality": False,
                                               "consolidation_limit": 50}))
assert think.personality_updated is False, think
assert set(ask("POST", "/v1/think", {})) == set(ThinkResult.__dataclass_fields__)
assert [t["name"] for t in ask("GET", "/v1/personality")["traits"]] == ["attentiveness", "depth", "energy", "warmth"]
assert isinstance(ask("GET", "/v1/conflicts?status=open&limit=100")["conflicts"], list)
refused(400, "POST", "/v1/remember", {"importance": 1})
refused(404, "DELETE", "/v1/sessions/none")
refused(404, "POST", "/v1/conflicts/none/resolve", {"strategy": "keep_a"})
assert refused(409, "POST", "/v1/sessions", ask("POST", "/v1/sessions", {"client_id": "x"}) and {"client_id": "x"})["session_id"]

# An idempotency key: the same memory again is the first one, another one is a conflict with a status of 200.
once = ask("POST", "/v1/remember", {"text": "once", "idempotency_key": "k"})["rid"]
assert ask("POST", "/v1/remember", {"text": "once", "idempotency_key": "k"})["rid"] == once
clash = ask("POST", "/v1/remember", {"text": "twice", "idempotency_key": "k"})
assert clash["idempotency_conflict"] is True and clash["stored"] is False and clash["rid"] == once, clash

# The legal showcase: seven claims, two with one key, so six stay; chains are walked backwards through dst.
claims = [("treaty", "signed_by", "A", "manual", 1), ("treaty", "signed_by", "A", "heuristic", 1), ("treaty", "signed_by", "A", "heuristic", -1),
          ("A", "owns", "land", "manual", 1), ("A", "owns", "land", "manual", 1), ("B", "owns", "land", "manual", 1), ("land", "lies_in", "C", "manual", 1)]
for src, rel, dst, extractor, polarity in claims:
    ask("POST", "/v1/claim", {"src": src, "rel_type": rel, "dst": dst, "extractor": extractor, "polarity": polarity, "namespace": "legal"})
found = {c["claim_id"]: c for e in ("treaty", "land") for c in ask("GET", f"/v1/claims?entity={e}&namespace=legal")["claims"]}
assert len(found) == 6, found
wanted = {"claim_id", "src", "dst", "rel_type", "weight", "created_at", "polarity", "modality", "valid_from", "valid_to", "extractor", "confidence_band",
          "source_memory_rid", "namespace", "status_suggestion"}
assert all(set(c) == wanted for c in found.values()), found
