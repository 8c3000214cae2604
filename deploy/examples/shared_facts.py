"""Two agents, each with a node of its own, keep one list of facts. Each adds to it at the same time; nothing is lost.

    pip install ./wire/client/python
    CAIRN_TOKEN_FILE=cluster/token python3 deploy/examples/shared_facts.py http://127.0.0.1:7501 http://127.0.0.1:7511

A fact is a key. An agent reads it, makes the new text, and puts it with the revision that it read: if the other agent
was faster, the node answers 409 with precondition_failed, and the agent begins again from what is there now.
"""
import sys
import threading

from cairn_client import CairnError, Client

KEY, NAMESPACE = "/team/on-call", "examples/facts"
FACTS = {"north": ["Ada has Monday", "Bob has Tuesday", "Carol has Wednesday"],
         "south": ["Dan has Thursday", "Erin has Friday", "Frank has Saturday"]}


def add(cairn: Client, fact: str) -> int:
    """Add a line to the list, and return how often another agent was faster."""
    for lost in range(100):
        try:
            now = cairn.get(KEY, namespace=NAMESPACE, consistency="linearizable")
            if fact in now["text"].split("\n"):  # from an earlier run
                return lost
            condition, text = {"if_revision": now["revision"]}, f"{now['text']}\n{fact}"
        except CairnError as e:
            if e.code != "key_not_found":
                raise
            condition, text = {"if_absent": True}, fact
        try:
            cairn.put(KEY, text, namespace=NAMESPACE, reason=fact, **condition)
            return lost
        except CairnError as e:
            if (e.body or {}).get("code") != "precondition_failed":  # it may stand behind an attempt that was lost
                raise
    raise RuntimeError("other agents write this key all the time")


def agent(name: str, endpoint: str) -> None:
    with Client(endpoint) as cairn:
        for fact in FACTS[name]:
            lost = add(cairn, fact)
            print(f"{name}: {fact}, after {lost} lost races")


endpoints = sys.argv[1:] or sys.exit("name the nodes, such as http://127.0.0.1:7501 http://127.0.0.1:7511")
agents = [threading.Thread(target=agent, args=(name, endpoints[i % len(endpoints)])) for i, name in enumerate(FACTS)]
for a in agents:
    a.start()
for a in agents:
    a.join()
with Client(endpoints) as cairn:
    facts = cairn.get(KEY, namespace=NAMESPACE, consistency="linearizable")["text"].split("\n")
    assert sorted(facts) == sorted(FACTS["north"] + FACTS["south"]), facts
    print(len(facts), "facts, none lost")
