package b58

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func TestKnownTexts(t *testing.T) {
	for raw, text := range map[string]string{
		"":                     "",
		"61":                   "2g",
		"626262":               "a3gV",
		"00000000000000000000": "1111111111",
		"516b6fcd0f":           "ABnLTmg",
		"572e4794":             "3EFU7m",
		"10c8511e":             "Rt5zm",
	} {
		b, _ := hex.DecodeString(raw)
		if got := Encode(b); got != text {
			t.Errorf("%s is %q, want %q", raw, got, text)
		}
		if got, err := Decode(text); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%q is %x, %v; want %s", text, got, err, raw)
		}
	}
	for _, bad := range []string{"0", "O", "I", "l", "2g ", "é", string(make([]byte, 300))} {
		if _, err := Decode(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{0, 0, 1, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), 100)]
		if got, err := Decode(Encode(b)); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%x comes back as %x, %v", b, got, err)
		}
	})
}
