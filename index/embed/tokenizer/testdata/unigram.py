#!/usr/bin/env python3
"""Makes unigram.json and unigram.txt with SentencePiece (Debian: python3-sentencepiece 0.1.97).

SentencePiece trains a Unigram model on the sentences below, with normalization rules of its own, so that both the vocabulary and
the compiled character map are its work. unigram.json is that model in the form of a tokenizer.json as XLM-R has it. unigram.txt
holds a text and the tokens that SentencePiece itself gives it on each line; the Go tokenizer has to give the same.
"""
import base64, io, json, os, random, struct, sys, tempfile, unicodedata
import sentencepiece as spm

here = os.path.dirname(os.path.abspath(__file__))
subjects = "the cat,a dog,my sister,our neighbour,the old violin,die Katze,der Hund,meine Schwester,le chat,la maison,кошка,собака,el perro,la casa,猫,犬".split(",")
verbs = "sleeps,runs,remembers,is looking for,has forgotten,schläft,läuft,sucht,dort,cherche,спит,бежит,duerme,busca,が寝る,が走る".split(",")
objects = "in the attic,on the roof,near the river,every morning,for 1234 days,auf dem Dach,am Fluss,dans le jardin,près de la rivière,на крыше,у реки,en el jardín,cada mañana,屋根の上,川の近く".split(",")
rng = random.Random(22)
sentences = [f"{rng.choice(subjects)} {rng.choice(verbs)} {rng.choice(objects)}{rng.choice(['', '.', '!', '?', ', ', ': ok'])}" for _ in range(3000)]

def rules():
    yield "9", "20"
    yield "A", "20"
    yield "D", "20"
    yield "D A", "20"
    yield "A0", "20"
    yield "3000", "20"
    yield "200B", ""
    for c in list(range(0xFF01, 0xFF5F)) + [0xFB01, 0xFB02, 0xBD, 0x2122, 0x338F, 0x2126, 0x1E9B]:
        yield f"{c:X}", " ".join(f"{ord(x):X}" for x in unicodedata.normalize("NFKC", chr(c)))
    for base in "aeiouAEIOUnNcC":
        for mark in (0x300, 0x301, 0x302, 0x303, 0x308, 0x327):
            c = unicodedata.normalize("NFC", base + chr(mark))
            if len(c) == 1:
                yield f"{ord(base):X} {mark:X}", f"{ord(c):X}"

def fields(raw):
    """The fields of a protocol buffer."""
    r = io.BytesIO(raw)
    def varint():
        n = shift = 0
        while True:
            b = r.read(1)
            if not b:
                return None
            n |= (b[0] & 127) << shift
            shift += 7
            if b[0] < 128:
                return n
    while (key := varint()) is not None:
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, r.read(8)
        elif key & 7 == 2:
            yield key >> 3, r.read(varint())
        else:
            yield key >> 3, struct.unpack("<f", r.read(4))[0]

with tempfile.TemporaryDirectory() as d:
    with open(d + "/rules.tsv", "w") as f:
        f.writelines(f"{a}\t{b}\n" for a, b in rules())
    spm.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_prefix=d + "/m", vocab_size=160, model_type="unigram",
        normalization_rule_tsv=d + "/rules.tsv", bos_id=0, pad_id=1, eos_id=2, unk_id=3, bos_piece="<s>", eos_piece="</s>", num_threads=1, minloglevel=2)
    proto = open(d + "/m.model", "rb").read()
sp = spm.SentencePieceProcessor(model_proto=proto)

vocab, charsmap = [], b""
for number, value in fields(proto):
    if number == 1:
        piece = dict(fields(value))
        vocab.append([piece[1].decode(), piece.get(2, 0.0)])
    elif number == 3:
        charsmap = dict(fields(value))[2]
tokenizer = {
    "added_tokens": [{"id": i, "content": c, "special": True} for i, c in enumerate(["<s>", "<pad>", "</s>", "<unk>"])],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}]},
    "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}, "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}},
    "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab},
}
with open(here + "/unigram.json", "w") as f:
    json.dump(tokenizer, f, ensure_ascii=False, separators=(",", ":"))

texts = ["the cat sleeps in the attic", "Die Katze schläft auf dem Dach!", "кошка спит на крыше", "猫が屋根の上", "le chat près de la rivière", "ｆｕｌｌ ｗｉｄｔｈ ＡＢＣ１２３",
    "the   cat\t\truns\r\nin\u00a0the\u3000garden ", " leading and trailing ", "ﬁnd the ﬂat", "cafe\u0301 jardi\u0301n man\u0303ana", "½ ㎏ ™", "zero\u200bwidth", "🙂 emoji 🙂🙂 row",
    "unknownwordwithoutspaces", "1234 5678", "x", "..!?", "naïve Ångström", "你好世界", "สวัสดี", "a\u0327\u0301b", "</s> in a text", "snake_case camelCase /a/path",
    "the old violin: our neighbour has forgotten it, for 99 days?"]
texts += [" ".join(rng.choice(subjects + verbs + objects) for _ in range(rng.randint(1, 9))) for _ in range(40)]
texts += ["".join(rng.choice("abcdeé ñ猫犬кош.!1234 ") for _ in range(rng.randint(1, 40))) for _ in range(60)]
with open(here + "/unigram.txt", "w") as f:
    for t in texts:
        f.write(json.dumps([t, sp.encode(t)], ensure_ascii=False) + "\n")
