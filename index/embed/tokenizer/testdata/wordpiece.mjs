// Makes wordpiece.txt with @huggingface/tokenizers 0.2.0 from the npm registry, a tokenizer in JavaScript:
//
//	npm install @huggingface/tokenizers@0.2.0 && node wordpiece.mjs
//
// wordpiece.json is a BERT tokenizer with a small vocabulary, written by hand. wordpiece.txt holds a text and its tokens, those around it
// included, on each line; the Go tokenizer has to give the same.
import { Tokenizer } from "@huggingface/tokenizers";
import { readFileSync, writeFileSync } from "node:fs";

const here = new URL(".", import.meta.url);
const config = JSON.parse(readFileSync(new URL("wordpiece.json", here)));
const tokenizer = new Tokenizer(config, {});
let state = 22;
const random = (n) => ((state = (state * 1103515245 + 12345) % 2147483648), Math.floor((state / 2147483648) * n));
const texts = ["The cat sleeps.", "CATS & dogs!", "café naïve Ångström", "İstanbul", "ΣΊΣΥΦΟΣ", "東京に行く", "한국어", "don't stop-me now", "a\tb\nc", "zero\u200bwidth\u0000nul",
    "nb\u00a0sp", "unbelievable", "x".repeat(101), "qqq", "e\u0301", "price: $5.00 + 3% = ?", "“quoted” — dashed…", "snake_case camelCase v1.2.3", "", "   ", "🙂 cat", "\u000bvertical"];
const parts = ["cat", "dog", "sleep", "s", "ing", "é", "Ü", "東", " ", " ", "!", "-", "_", "un", "able", "q", "1", "23", "\u0301", "ß", "."];
for (let i = 0; i < 60; i++) texts.push(Array.from({ length: 1 + random(14) }, () => parts[random(parts.length)]).join(""));
writeFileSync(new URL("wordpiece.txt", here), texts.map((t) => JSON.stringify([t, tokenizer.encode(t).ids]) + "\n").join(""));
