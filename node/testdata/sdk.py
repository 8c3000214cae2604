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
assert found["total"] == 1, found  # the rule beside it has no word of the question
typed = ask("POST", "/v1/recall", {"query": "what when a build fails", "top_k": 5, "memory_type": "rule", "expand_entities": False, "include_consolidated": False})
assert [m["rid"] for m in typed["results"]] == [rule], typed
assert ask("POST", "/v1/relate", {"entity": "Alice", "target": "payments", "relationship": "leads", "weight": 1.0})["edge_id"]
stats = Stats(**ask("GET", "/v1/stats"))
assert stats.active_memories == 2 and stats.edges == 1 and stats.operations >= 3, stats
assert ask("POST", "/v1/forget", {"rid": rid})["found"] is True
assert ask("DELETE", "/v1/sessions/" + session)["memory_count"] == 2
assert ask("GET", "/v1/health")["status"] == "ok"
assert set(ask("GET", "/v1/pack-context")) == {"pack_context", "packs_pending", "packs_poisoned"}
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

# An idempotency key: the same memory again is the first one, another one is a conflict, which names the first. The
# client raises its error for it only when the status is 200.
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

# What the later clients do on a follower's refusal: the same request again at the leader's gateway, at most two hops.
def follow(base, method, path, body):
    for _ in range(3):
        data = json.dumps(body).encode()
        headers = {"Authorization": "Bearer " + sys.argv[1], "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(base + path, data, headers, method=method)) as r:
                return base, json.load(r)
        except urllib.error.HTTPError as e:
            answer = json.load(e)
            assert e.code == 307 and e.headers["Location"] == answer["leader_addr"] + path and "read-only" in answer["error"] and isinstance(answer["leader"], int), (e.code, answer)
            base = answer["leader_addr"]
    raise AssertionError("no leader found")


at, stored = follow(sys.argv[3], "POST", "/v1/remember", {"text": "stored through a follower's refusal"})
assert at == sys.argv[2] and len(stored["rid"]) == 36, (at, stored)

# reflect: a recall a type, and the typed ways to remember.
for kind in ("self_model", "rule", "hypothesis", "constraint", "goal", "narrative_arc", "learning_signal"):
    typed_rid = remember(f"[{kind}] of the agent", memory_type=kind, metadata={"class": kind, "priority": 1}, namespace="self")
    rows = ask("POST", "/v1/recall", {"query": kind, "top_k": 5, "memory_type": kind, "namespace": "self", "expand_entities": False, "include_consolidated": False})
    assert [Memory(**m).rid for m in rows["results"]] == [typed_rid], rows

# The demonstrations: seed in batches of few fields, think by the other names, read back.
batch = ask("POST", "/v1/remember/batch", {"memories": [{"text": f"line {i} of the play", "importance": 0.5, "domain": "play", "namespace": "bard"} for i in range(50)]})
assert len(batch["rids"]) == 50 and batch["count"] == 50 and len(set(batch["rids"])) == 50
assert set(ask("POST", "/v1/think", {"run_consolidation": False, "run_conflicts": True, "run_patterns": False})) == set(ThinkResult.__dataclass_fields__)
assert len(ask("POST", "/v1/recall", {"query": "line of the play", "top_k": 5, "namespace": "bard"})["results"]) == 5
assert isinstance(ask("GET", "/v1/conflicts?namespace=bard&limit=50")["conflicts"], list)
assert ask("GET", "/v1/stats?namespace=bard")["active_memories"] == 50

# The bridge for models: what it sends, and what it takes from the answers.
edge = ask("POST", "/v1/relate", {"src": "Ada", "dst": "engine", "rel_type": "designs", "weight": 0.7})["edge_id"]
edges = ask("POST", "/v1/graph", {"action": "query", "entity": "engine"})["edges"]
assert edges == [{"edge_id": edge, "src": "Ada", "dst": "engine", "rel_type": "designs", "weight": 0.7}], edges
old = remember("Ada lives in London", namespace="bridge")
fixed = ask("POST", "/v1/correct", {"rid": old, "reason": "moved", "new_text": "Ada lives in Turin", "metadata_merge": {"checked": True}})
assert {"rid", "corrected_rid", "original_rid", "revision"} <= set(fixed), fixed
newer = remember("Ada lives in Rome", namespace="bridge")
assert ask("GET", "/v1/current?namespace=bridge")["record"]["rid"] == newer
refused(404, "GET", "/v1/current?namespace=nothing")
asked = ask("POST", "/v1/recall", {"query": "an unheard-of thing", "top_k": 3})
assert 0 <= asked["confidence"] <= 1 and isinstance(asked["hints"], list)
ask("POST", "/v1/recall", {"query": "an unheard-of thing", "top_k": 3})
gaps = ask("GET", "/v1/insights/gaps?min_count=2&max_avg_top_score=0.5&limit=10")["gaps"]
assert gaps and set(gaps[0]) == {"query", "count", "avg_top_score", "avg_results", "last_seen", "last_seen_iso"} and gaps[0]["count"] == 2, gaps
digest = ask("GET", "/v1/session/digest?max_decisions=8&max_conflicts=5&max_triggers=5&snippet_chars=240&include_gaps=true&max_gaps=5")
assert {"narrative_head", "top_decisions", "open_conflicts", "open_conflict_count", "pending_triggers", "pending_trigger_count", "last_maintenance", "knowledge_gaps"} == set(digest)
drafted = ask("POST", "/v1/session/end", {"summary": "It works. It is late.", "namespace": "bridge", "domain": "general"})
assert drafted["count"] == 2 and len(drafted["drafted"]) == 2, drafted
# The plug-in of Hermes: its buffer of turns, its tasks and its skills, as it sends them.
for i in range(4):
    assert ask("POST", "/v1/conversation/turns", {"role": "user", "content": f"turn {i}", "max_turns": 3, "namespace": "hermes"})["recorded"]
turns = ask("GET", "/v1/conversation/recent?limit=10&namespace=hermes")["turns"]
assert [t["content"] for t in turns] == ["turn 1", "turn 2", "turn 3"] and {"role", "content", "created_at"} <= set(turns[0]), turns
ask("POST", "/v1/conversation/clear", {"namespace": "hermes"})
assert ask("GET", "/v1/conversation/recent?limit=10&namespace=hermes")["turns"] == []
task = ask("POST", "/v1/tasks", {"title": "ask who is on call", "priority": "high", "namespace": "hermes"})["id"]
part = ask("POST", "/v1/tasks", {"title": "find the roster", "priority": "low", "namespace": "hermes", "parent_id": task})["id"]
tasks = ask("GET", "/v1/tasks?namespace=hermes&status=open")["tasks"]
assert [t["id"] for t in tasks] == [task, part] and set(tasks[0]) >= {"id", "namespace", "title", "status", "priority", "parent_id", "created_at", "updated_at"}, tasks
assert ask("PATCH", f"/v1/tasks/{task}", {"status": "done"})["updated"] and ask("GET", f"/v1/tasks/{task}")["status"] == "done"
assert ask("DELETE", f"/v1/tasks/{part}")["deleted"]
refused(404, "GET", f"/v1/tasks/{part}")
skill = {"skill_id": "workflow.release.clean", "body": "Run the tests, tag the release, publish it, and read the page once more as a stranger.", "skill_type": "procedure",
         "applies_to": ["release"], "on_conflict": "reject", "triggers": ["ship it"], "version": "1.0.0"}
assert ask("POST", "/v1/skills/define", skill)["stored"]
refused(409, "POST", "/v1/skills/define", skill)
skills = ask("POST", "/v1/skills/search", {"query": "how to ship a release", "top_k": 5, "applies_to": "release"})
assert skills["total"] == 1 and skills["skills"][0]["metadata"]["skill_id"] == "workflow.release.clean" and skills["skills"][0]["score"] > 0, skills
assert ask("POST", "/v1/skills/workflow.release.clean/outcome", {"succeeded": True, "note": "out within minutes"})["recorded"]

health = ask("GET", "/v1/health")["cluster"]
assert health["accepts_writes"] is True and health["role"] == "Leader" and "idempotency_key" in ask("GET", "/v1/health")["capabilities"]
cluster = ask("GET", "/v1/cluster")
assert cluster["clustered"] and cluster["role"] == "Leader" and cluster["role_label"] == "leader" and cluster["configured_role"] == "voter", cluster
assert {"node_id", "addr", "role", "reachable", "current_term", "last_seen_secs_ago"} <= set(cluster["peers"][0]) and cluster["peers"][0]["role"] == "voter", cluster
