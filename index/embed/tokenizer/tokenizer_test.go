package tokenizer

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func parse(t testing.TB, name string) *Tokenizer {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// transcript calls f with every text of a file and the tokens that another implementation gave it.
func transcript(t *testing.T, name string, f func(text string, want []int)) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for s := bufio.NewScanner(file); s.Scan(); lines++ {
		var text string
		var want []int
		if err := json.Unmarshal(s.Bytes(), &[]any{&text, &want}); err != nil {
			t.Fatal(err)
		}
		f(text, want)
	}
	if lines < 50 {
		t.Fatalf("%s has %d lines", name, lines)
	}
}

// TestWordPiece compares with tokenizers.js: testdata/wordpiece.mjs made the transcript.
func TestWordPiece(t *testing.T) {
	tok := parse(t, "wordpiece.json")
	if !slices.Equal(tok.Start, []int{2}) || !slices.Equal(tok.End, []int{3}) || tok.Unknown != 1 {
		t.Errorf("special tokens %v, %v, %d", tok.Start, tok.End, tok.Unknown)
	}
	transcript(t, "wordpiece.txt", func(text string, want []int) {
		got := slices.Concat(tok.Start, tok.Encode(text, 512), tok.End)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

// TestUnigram compares with SentencePiece: testdata/unigram.py made the model and the transcript.
func TestUnigram(t *testing.T) {
	tok := parse(t, "unigram.json")
	if !slices.Equal(tok.Start, []int{0}) || !slices.Equal(tok.End, []int{2}) || tok.Unknown != 3 || tok.Size != 160 {
		t.Errorf("special tokens %v, %v, %d, size %d", tok.Start, tok.End, tok.Unknown, tok.Size)
	}
	transcript(t, "unigram.txt", func(text string, want []int) {
		if got := tok.Encode(text, 512); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

// TestVocab checks that a vocab.txt gives the same tokens as a tokenizer.json with the same vocabulary.
func TestVocab(t *testing.T) {
	tok := parse(t, "wordpiece.json")
	var f struct {
		Model struct {
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	raw, err := os.ReadFile("testdata/wordpiece.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(f.Model.Vocab))
	for piece, id := range f.Model.Vocab {
		lines[id] = piece + "\r\n"
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "neither tokenizer.json nor vocab.txt") {
		t.Errorf("an empty directory: %v", err)
	}
	write("vocab.txt", strings.Join(lines, ""))
	lower, _, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	transcript(t, "wordpiece.txt", func(text string, _ []int) {
		if got, want := lower.Encode(text, 512), tok.Encode(text, 512); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
	write("tokenizer_config.json", `{"do_lower_case":false}`)
	cased, _, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := cased.Encode("cat CAT", 512); !slices.Equal(got, []int{f.Model.Vocab["cat"], tok.Unknown}) {
		t.Errorf("cased: %v", got)
	}
}

func TestLimits(t *testing.T) {
	for _, name := range []string{"wordpiece.json", "unigram.json"} {
		tok := parse(t, name)
		if got := tok.Encode(strings.Repeat("the cat sleeps ", 1000), 16); len(got) != 16 {
			t.Errorf("%s: %d tokens, want 16", name, len(got))
		}
		if got := tok.Encode("\xff\xfe", 16); len(got) != 0 && name == "wordpiece.json" {
			t.Errorf("%s: no UTF-8 has the tokens %v", name, got)
		}
	}
}

func TestRefuses(t *testing.T) {
	for want, file := range map[string]string{
		`model "BPE"`:               `{"model":{"type":"BPE"}}`,
		"an object of pieces":       `{"model":{"type":"WordPiece"}}`,
		"1 to 2097152":              `{"model":{"type":"WordPiece","vocab":{}}}`,
		"piece \"a\" with token -1": `{"model":{"type":"WordPiece","vocab":{"a":-1}}}`,
		"token 9999999":             `{"model":{"type":"WordPiece","vocab":{"a":9999999}}}`,
		`the prefix "@@"`:           `{"model":{"type":"WordPiece","vocab":{"a":0},"continuing_subword_prefix":"@@"}}`,
		`normalizer "Nmt"`:          `{"model":{"type":"WordPiece","vocab":{"a":0}},"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"}]}}`,
		`pre-tokenizer "ByteLevel"`: `{"model":{"type":"WordPiece","vocab":{"a":0}},"pre_tokenizer":{"type":"ByteLevel"}}`,
		`post-processor "Other"`:    `{"model":{"type":"WordPiece","vocab":{"a":0}},"post_processor":{"type":"Other"}}`,
		"special token -5":          `{"model":{"type":"WordPiece","vocab":{"a":0}},"post_processor":{"type":"BertProcessing","sep":["x",1],"cls":["y",-5]}}`,
		"unk_id 1 of 1":             `{"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":1}}`,
		"byte_fallback":             `{"model":{"type":"Unigram","vocab":[["a",0]],"byte_fallback":true}}`,
		"no pieces":                 `{"model":{"type":"Unigram","vocab":[["",0]]}}`,
		"score 1e+09":               `{"model":{"type":"Unigram","vocab":[["a",1e9]]}}`,
		"its trie is longer":        `{"model":{"type":"Unigram","vocab":[["a",0]]},"normalizer":{"type":"Precompiled","precompiled_charsmap":"` + base64.StdEncoding.EncodeToString([]byte{9, 0, 0, 0, 1}) + `"}}`,
		"too many":                  `{"model":{"type":"Unigram","vocab":[["a",0]]},"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"NFC"},`, 40) + `{"type":"NFC"}]}}`,
	} {
		if _, err := Parse([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// FuzzParse checks that parsing any tokenizer.json and encoding with it ends, and gives tokens of that tokenizer. The
// seeds are small, because the fuzzer is slow to minimize large inputs.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model":{"type":"WordPiece","vocab":{"[UNK]":0,"a":1,"##b":2}},"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},`+
		`"post_processor":{"type":"BertProcessing","sep":["b",2],"cls":["a",1]}}`), "a\tab ½.")
	f.Add([]byte(`{"model":{"type":"Unigram","vocab":[["▁a",-1],["b",-2]],"unk_id":0},"normalizer":{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "},`+
		`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace"}]},`+
		`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"s"}},{"Sequence":{}}],"special_tokens":{"s":{"ids":[1]}}}}`), "ab  ba")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		tok, err := Parse(raw)
		if err != nil {
			return
		}
		for _, id := range slices.Concat(tok.Start, tok.Encode(text, 64), tok.End) {
			if id < 0 || id >= tok.Size {
				t.Fatalf("token %d of %d", id, tok.Size)
			}
		}
	})
}

// FuzzCharsmap parses any character map and replaces with it.
func FuzzCharsmap(f *testing.F) {
	trie := make([]byte, 4*66) // A becomes a
	trie[4*'A'], trie[4*'A'+1], trie[0] = 'A', 1, 0
	f.Add(slices.Concat([]byte{4 * 66 & 255, 4 * 66 >> 8, 0, 0}, trie, []byte("a\x00")), "A")
	f.Add([]byte{4, 0, 0, 0, 0, 1, 0, 0, 'x'}, "\x00a")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		m, err := parseCharsmap(raw)
		if err != nil {
			return
		}
		if got := m.normalize(text); len(got) > maxReplacement*(len(text)+1) {
			t.Fatalf("%d bytes become %d", len(text), len(got))
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{"wordpiece.json", "unigram.json"} {
		tok := parse(b, name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				tok.Encode("the old violin: our neighbour has forgotten it, for 99 days?", 512)
			}
		})
	}
}

// TestVocabWithTheSameLineTwice: the number of a piece is that of its line, also after repeated lines.
func TestVocabWithTheSameLineTwice(t *testing.T) {
	tok, err := ParseVocab([]byte("[UNK]\n[CLS]\n[SEP]\nthe\n\n\nthe\ncat\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("the cat", 8); !slices.Equal(got, []int{6, 7}) || tok.Size != 8 {
		t.Errorf("%v of %d", got, tok.Size)
	}
}

// TestMetaspaceSplitsAtTheFirstMark: a text is split at its first mark, also after a first word of one or two letters
// without a mark before it.
func TestMetaspaceSplitsAtTheFirstMark(t *testing.T) {
	for text, want := range map[string][]string{"I am in": {"I", "▁am", "▁in"}, " a b": {"▁a", "▁b"}, "ab c": {"ab", "▁c"},
		"  c": {"▁", "▁c"}, "": {""}, "é x": {"é", "▁x"}} {
		split, err := (&part{Type: "Metaspace", Scheme: "never"}).splitters(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := split[0]([]string{text}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
