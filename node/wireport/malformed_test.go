package wireport

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestMalformedFrames: an invalid frame, opcode or message gets a known error text on its stream. The connection is
// closed if the next frame cannot be located, and before AUTH.
func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	d := door(func(api.Caller, *api.Op, any) (any, error) { return nil, oplog.Errorf(oplog.Internal, "asked") })
	for name, c := range map[string]struct {
		authed bool
		in     string // hex
		stream uint32
		code   wire.Code // 0: AUTH_FAIL
		text   string
		goesOn bool
	}{
		"ping first":             {false, "00000006 01 f1 00000007", 7, 1000, "expected AUTH frame", false},
		"unknown first":          {false, "00000006 01 99 00000003", 3, 4000, "unknown opcode: 0x99", false},
		"no payload of AUTH":     {false, "00000006 01 01 00000005", 5, 0, "invalid AUTH payload", false},
		"AUTH of nil":            {false, "00000007 01 01 00000005 c0", 5, 0, "invalid AUTH payload", false},
		"a wrong token":          {false, "0000000f 01 01 00000001 81a5746f6b656ea178", 1, 0, "invalid or revoked token", false},
		"too small":              {true, "00000005 01 f1 000000", 0, 4000, "frame body too small: 5 bytes (minimum 6)", false},
		"one over the limit":     {true, "01000007 01 20 00000001", 0, 4000, "frame body too large: 16777223 bytes", false},
		"version 2":              {true, "00000006 02 f1 00000001", 0, 4000, "unsupported protocol version 2", false},
		"unknown":                {true, "00000006 01 99 00000003", 3, 4000, "unknown opcode: 0x99", true},
		"AUTH again":             {true, "00000006 01 01 00000002", 2, 4000, "unsupported opcode: Auth", true},
		"an answer":              {true, "00000006 01 21 00000002", 2, 4000, "unsupported opcode: RememberOk", true},
		"a peer's":               {true, "00000006 01 c0 00000002", 2, 4000, "unsupported opcode: ClusterHello", true},
		"no payload":             {true, "00000006 01 20 00000001", 1, 4000, "invalid payload: empty payload", true},
		"no payload, compressed": {true, "00000006 41 20 00000001", 1, 4000, "invalid payload: compressed payload is empty", true},
		"no zstd":                {true, "00000009 41 20 00000001 616263", 1, 4000, "invalid payload: zstd: unexpected EOF", true},
		"no text":                {true, "00000007 01 20 00000001 80", 1, 4000, "invalid payload: missing field `text`", true},
		"a nil text": {true, "0000000d 01 20 00000001 81a474657874c0", 1, 4000,
			"invalid payload: field `text`: invalid type: unit value, expected a string", true},
		"text twice": {true, "00000015 01 20 00000001 82a474657874a161a474657874a162", 1, 4000,
			"invalid payload: duplicate field `text`", true},
	} {
		t.Run(name, func(t *testing.T) {
			nc := dial(t, startPort(t, d)) // its own port: wrong tokens are counted by address
			in := wire.NewReader(bufio.NewReader(nc), wire.MaxPlainClient)
			var b []byte
			if c.authed {
				b = pack(t, wire.OpAuth, 0, &wire.Auth{Token: secret})
			}
			raw, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(c.in), []byte(" "), nil)))
			if err == nil {
				_, err = nc.Write(append(b, raw...))
			}
			if err != nil {
				t.Fatal(err)
			}
			nc.SetReadDeadline(time.Now().Add(suite.Patience))
			if c.authed {
				if f, err := in.Next(); err != nil || f.Op != wire.OpAuthOK {
					t.Fatal(f, err)
				}
			}
			f, err := in.Next()
			if err != nil {
				t.Fatal(err)
			}
			op, code, text := wire.OpAuthFail, wire.Code(0), ""
			if c.code == 0 {
				var m wire.AuthFail
				err = wire.Unpack(f, &m, wire.MaxPlainClient)
				text = m.Reason
			} else {
				var m wire.Error
				err = wire.Unpack(f, &m, wire.MaxPlainClient)
				op, code, text = wire.OpError, m.Code, m.Message
			}
			if err != nil || f.Op != op || f.Stream != c.stream || code != c.code || text != c.text {
				t.Errorf("%s %d %q, %v; want %d %q on stream %d", f, code, text, err, c.code, c.text, c.stream)
			}
			if c.goesOn {
				if _, err := nc.Write(wire.AppendFrame(nil, wire.Empty(wire.OpPing, 9))); err != nil {
					t.Fatal(err)
				}
				if f, err := in.Next(); err != nil || f.Op != wire.OpPong || f.Stream != 9 {
					t.Errorf("it does not go on: %s, %v", f, err)
				}
			} else if f, err := in.Next(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("it goes on: %s, %v", f, err)
			}
		})
	}
}

func pack(t *testing.T, op wire.Op, stream uint32, m wire.Message) []byte {
	t.Helper()
	b, err := wire.AppendPack(nil, op, stream, m, false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
