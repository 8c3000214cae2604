#!/usr/bin/env python3
"""Computes sentence vectors with numpy, in 64 bits, straight from the published description of BERT.

It shares nothing with the Go encoder. Each argument is the directory of a model that also holds tokens.json, a list of lists of
tokens, of which those around a text are a part. It prints a JSON list of vectors a directory.
"""
import json, math, os, sys
import numpy as np

KINDS = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
erf = np.vectorize(math.erf)


def tensors(path):
    raw = open(path, "rb").read()
    end = 8 + int.from_bytes(raw[:8], "little")
    for name, t in json.loads(raw[8:end]).items():
        if name == "__metadata__":
            continue
        data = raw[end + t["data_offsets"][0]:end + t["data_offsets"][1]]
        if t["dtype"] == "BF16":
            numbers = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            numbers = np.frombuffer(data, KINDS[t["dtype"]])
        yield name, numbers.astype(np.float64).reshape(t["shape"])


def model(directory):
    def read(name):
        with open(os.path.join(directory, name)) as f:
            return json.load(f)
    config, pooling = read("config.json"), read("1_Pooling/config.json")
    normalise = any(m["type"].endswith(".Normalize") for m in read("modules.json"))
    w = dict(tensors(os.path.join(directory, "model.safetensors")))
    prefix = next(iter(w)).split("embeddings.")[0].split("encoder.")[0]
    p = lambda name: w[prefix + name]
    first = config["pad_token_id"] + 1 if "roberta" in config["model_type"] else 0
    heads = config["num_attention_heads"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + config["layer_norm_eps"]) * p(name + ".weight") + p(name + ".bias")

    def linear(x, name):
        return x @ p(name + ".weight").T + p(name + ".bias")

    def vector(ids):
        n = len(ids)
        x = p("embeddings.word_embeddings.weight")[ids] + p("embeddings.position_embeddings.weight")[first:first + n] + p("embeddings.token_type_embeddings.weight")[0]
        x = norm(x, "embeddings.LayerNorm")
        for i in range(config["num_hidden_layers"]):
            at = f"encoder.layer.{i}."
            q, k, v = (linear(x, at + "attention.self." + name).reshape(n, heads, -1).swapaxes(0, 1) for name in ("query", "key", "value"))
            s = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
            s = np.exp(s - s.max(-1, keepdims=True))
            a = (s / s.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(n, -1)
            x = norm(x + linear(a, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            y = linear(x, at + "intermediate.dense")
            y = y * (1 + erf(y / math.sqrt(2))) / 2
            x = norm(x + linear(y, at + "output.dense"), at + "output.LayerNorm")
        out = x[0] if pooling["pooling_mode_cls_token"] else x.mean(0)
        return out / np.sqrt(out @ out) if normalise else out

    return vector


for directory in sys.argv[1:]:
    f = model(directory)
    with open(os.path.join(directory, "tokens.json")) as tokens:
        print(json.dumps([[round(x, 7) for x in f(ids)] for ids in json.load(tokens)]))
