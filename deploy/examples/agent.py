"""An agent that remembers: before it answers it asks for what is known, and afterwards it keeps what it was told.

    pip install ./wire/client/python
    CAIRN_TOKEN_FILE=cairn-data/token python3 deploy/examples/agent.py http://127.0.0.1:7438

The model is a function here, so that the example needs no key; put a call of yours in its place.
"""
import sys

from cairn_client import Client

NAMESPACE = "examples/python-agent"


def model(known: str, question: str) -> str:
    return f"{question} A mushroom risotto." if "vegetarian" in known else f"{question} A steak."


with Client(sys.argv[1:], own_writes=True) as cairn:  # more addresses are more nodes to ask
    def answer(question: str) -> str:
        block = cairn.context(query=question, max_tokens=500, namespaces=[NAMESPACE])
        return model(block["context"], question)  # it quotes its memories, so that nothing in them reads as an instruction

    told = cairn.remember("Ada is vegetarian.", namespace=NAMESPACE, importance=0.9, attributes={"user": "ada"})
    print(answer("What should Ada eat?"))

    # What changes is corrected, not told twice: the older text stays in the history.
    cairn.correct(told["rid"], "she told us", new_text="Ada is vegetarian and allergic to nuts.", expected_revision=0)
    print(cairn.recall("what must Ada not eat?", namespace=NAMESPACE, filter={"user": "ada"})["results"][0]["text"])

    cairn.forget(told["rid"], reason="Ada asked us to")
    print(cairn.count(namespace=NAMESPACE)["count"], "memories are left")
