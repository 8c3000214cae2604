package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// A dialer connects to a listener.
type dialer func(ctx context.Context) (net.Conn, error)

func dialTCP(addr string) dialer {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) }
}

func dialUnix(path string) dialer {
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
}

// from runs do repeatedly on several clients, each with its own connections, until ctx ends.
func (d dialer) from(clients int, do func(context.Context, net.Conn)) func(context.Context) {
	return func(ctx context.Context) {
		var wg sync.WaitGroup
		for range bombers(clients) {
			wg.Go(func() {
				for ctx.Err() == nil {
					c, err := d(ctx)
					if err != nil {
						sleep(ctx, 10*time.Millisecond)
						continue
					}
					stop := context.AfterFunc(ctx, func() { c.Close() })
					do(ctx, c)
					stop()
					c.Close()
				}
			})
		}
		wg.Wait()
	}
}

// bomberEnv is the environment variable of a process that bombs a node while another process measures it. Both share
// a machine, so at most two clients at a time use the CPU. Clients that only hold connections are not limited.
const bomberEnv = "CAIRN_TEST_BOMBER"

func bombers(clients int) int {
	if os.Getenv(bomberEnv) != "" && clients <= 32 {
		return min(2, clients)
	}
	return max(1, clients*suite.Count(25, 25, 100)/100)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// hold sends some bytes, and then keeps the connection open without reading or writing.
func hold(first []byte) func(context.Context, net.Conn) {
	return func(ctx context.Context, c net.Conn) {
		_, _ = c.Write(first)
		<-ctx.Done()
	}
}

// drip sends some bytes at once, and then more one by one.
func drip(first []byte, more byte) func(context.Context, net.Conn) {
	return func(ctx context.Context, c net.Conn) {
		_, err := c.Write(first)
		for err == nil && ctx.Err() == nil {
			sleep(ctx, 20*time.Millisecond)
			_, err = c.Write([]byte{more})
		}
	}
}

// flood sends some bytes, and then repeats others without end.
func flood(first, more []byte) func(context.Context, net.Conn) {
	return func(ctx context.Context, c net.Conn) {
		_, err := c.Write(first)
		for err == nil && ctx.Err() == nil {
			_, err = c.Write(more)
		}
	}
}

// fire sends requests and reads the answers until the other side closes the connection or is silent for a while.
func fire(requests ...[]byte) func(context.Context, net.Conn) {
	return func(ctx context.Context, c net.Conn) {
		go io.Copy(io.Discard, c) // ends with the connection
		for _, r := range requests {
			if _, err := c.Write(r); err != nil {
				return
			}
		}
		sleep(ctx, 50*time.Millisecond)
	}
}

// costlyJSON lists JSON values that are costly to decode: deep, long or huge ones, and invalid text.
func costlyJSON() map[string]string {
	return map[string]string{
		"deep":    strings.Repeat("[", 1<<20),
		"nested":  strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000),
		"wide":    "[" + strings.Repeat("0,", 1<<20) + "0]",
		"number":  strings.Repeat("9", 1<<20),
		"power":   "1e" + strings.Repeat("9", 1000),
		"keys":    "{" + strings.Repeat(`"k":0,`, 1<<18) + `"k":0}`,
		"unicode": `"` + strings.Repeat(`\ud800\u0000\udc00\u202e`, 1<<15) + strings.Repeat("e\u0301\u0327\u200d\ufeff", 1<<16) + "\xff\xfe\"",
	}
}

func httpBombs(d dialer, path string, headers map[string]string) map[string]func(context.Context) {
	head := "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	for k, v := range headers {
		head += k + ": " + v + "\r\n"
	}
	whole := func(body string) []byte {
		return fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	}
	line := []byte("X-Filler: " + strings.Repeat("a", 4000) + "\r\n")
	bombs := map[string]func(context.Context){
		"connections":    d.from(500, hold(nil)),
		"half a request": d.from(200, hold([]byte(head))),
		"slow headers":   d.from(100, drip([]byte(head+"X-Slow: "), 'a')),
		"slow bodies":    d.from(100, drip([]byte(head+"Content-Length: 10000000\r\n\r\n{"), ' ')),
		"large bodies":   d.from(16, flood([]byte(head+"Content-Length: 60000000\r\n\r\n{\"text\":\""), bytes.Repeat([]byte("x"), 64<<10))),
		"chunked bodies": d.from(16,
			flood([]byte(head+"Transfer-Encoding: chunked\r\n\r\n"),
				append([]byte("10000\r\n"), append(bytes.Repeat([]byte("x"), 64<<10), "\r\n"...)...))),
		"endless header": d.from(8, flood([]byte(head), line)),
		"endless line":   d.from(8, flood([]byte("GET /"), bytes.Repeat([]byte("a"), 64<<10))),
		"unread answers": d.from(32,
			flood(nil, whole(`{"jsonrpc":"2.0","id":1,"method":"tools/list","cmd":"/help","query":"x","text":"x"}`))),
	}
	if headers["Authorization"] != "" {
		bombs["wrong tokens"] = d.from(50,
			fire(bytes.Replace(whole("{}"), []byte(headers["Authorization"]), []byte("Bearer ydb_wrong"), 1)))
	}
	for name, v := range costlyJSON() {
		bombs["json "+name] = d.from(2,
			fire(whole(v), whole(`{"cmd":"/info","query":"x","text":`+v+`,"top_k":`+v+`,"params":`+v+`,"id":1,"jsonrpc":"2.0","method":"tools/call"}`)))
	}
	return bombs
}

// wireFrame returns an encoded frame with a length that may be wrong, flags, an opcode and a payload.
func wireFrame(length int, flags byte, op wire.Op, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(length))
	b = append(b, flags|1, byte(op), 0, 0, 0, 1)
	return append(b, payload...)
}

func wireBombs(d dialer, first wire.Op, token string) map[string]func(context.Context) {
	zeros, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	small := zeros.EncodeAll(make([]byte, 256<<20), nil) // a few kilobytes that unpack to 256 MiB
	early := func(flags byte, payload []byte) []byte { return wireFrame(6+len(payload), flags, first, payload) }
	bombs := map[string]func(context.Context){
		"connections":    d.from(500, hold(nil)),
		"slow frames":    d.from(100, drip([]byte{0, 0, 1, 0, 1, byte(first)}, 0)),
		"lying length":   d.from(50, hold(wireFrame(0x7FFFFFFF, 0, first, nil))),
		"largest length": d.from(50, hold(wireFrame(wire.MaxLength, 0, first, nil))),
		"zstd":           d.from(8, fire(early(wire.FlagZstd, small[:min(len(small), 60<<10)]))),
		"deep msgpack":   d.from(8, fire(early(0, bytes.Repeat([]byte{0x91}, 60<<10)))),
		"wide msgpack": d.from(8,
			fire(early(0, []byte{0xdf, 0xff, 0xff, 0xff, 0xff}), early(0, []byte{0xdd, 0xff, 0xff, 0xff, 0xff}),
				early(0, []byte{0xc6, 0xff, 0xff, 0xff, 0xff}))),
		"noise": d.from(8, flood(nil, bytes.Repeat([]byte{0xC1, 0, 0xFF, 7}, 16<<10))),
	}
	for name, v := range costlyJSON() {
		v = v[:min(len(v), 60<<10)]
		bombs["json "+name] = d.from(2, fire(early(0x80, []byte(v)), early(0x80, []byte(`{"token":`+v+`}`))))
	}
	if token == "" {
		return bombs
	}
	login := func(token string) []byte {
		b, err := wire.AppendPack(nil, wire.OpAuth, 0, &wire.Auth{Token: token}, false)
		if err != nil {
			panic(err)
		}
		return b
	}
	auth := login(token)
	bombs["wrong tokens"] = d.from(50, fire(login("ydb_wrong")))
	late := func(flags byte, payload []byte) []byte {
		return wireFrame(6+len(payload), flags, wire.OpRemember, payload)
	}
	bombs["zstd behind the token"] = d.from(8, fire(auth, late(wire.FlagZstd, small)))
	bombs["deep msgpack behind the token"] = d.from(8, fire(auth, late(0, bytes.Repeat([]byte{0x91}, 8<<20))))
	bombs["wide msgpack behind the token"] = d.from(8,
		fire(auth, late(0, []byte{0xdf, 0xff, 0xff, 0xff, 0xff}),
			late(0, append([]byte{0x81, 0xa4, 't', 'e', 'x', 't', 0xdb, 0xff, 0xff, 0xff, 0xff}, make([]byte, 1<<20)...))))
	bombs["unread answers"] = d.from(16, flood(auth, wireFrame(6, 0, wire.OpPing, nil)))
	bombs["half a frame behind the token"] = d.from(16,
		hold(append(bytes.Clone(auth), wireFrame(wire.MaxLength, 0, wire.OpRemember, make([]byte, 1<<20))...)))
	for name, v := range costlyJSON() {
		bombs["json "+name+" behind the token"] = d.from(2,
			fire(auth, late(0x80, []byte(`{"text":`+v+`,"metadata":`+v+`,"importance":`+v+`}`))))
	}
	return bombs
}

// prefixed returns a frame of the unix sockets: a length, which may be wrong, and a body.
func prefixed(length int, body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(length)), body...)
}

func prefixBombs(d dialer, limit int, first string) map[string]func(context.Context) {
	return map[string]func(context.Context){
		"connections":    d.from(500, hold(nil)),
		"slow frames":    d.from(100, drip(prefixed(100_000, first), ' ')),
		"lying length":   d.from(50, hold(prefixed(0xFFFFFFFF, ""))),
		"largest length": d.from(50, hold(prefixed(limit, first))),
		"noise":          d.from(8, flood(nil, bytes.Repeat([]byte{0, 0, 1, 7}, 16<<10))),
		"half a frame":   d.from(16, hold(append(prefixed(limit, ""), bytes.Repeat([]byte(" "), limit/2)...))),
	}
}

func siftBombs(d dialer) map[string]func(context.Context) {
	bombs := prefixBombs(d, 16<<20, `{"kind":`)
	for name, v := range costlyJSON() {
		for _, body := range []string{v, `{"kind":"capture","sessionId":"s","tool":"T","payload":` + v + `}`,
			`{"kind":"search","k":` + v + `,"query":` + v + `}`} {
			bombs[fmt.Sprint("json ", name, " ", len(body)-len(v))] = d.from(1, fire(prefixed(len(body), body)))
		}
	}
	return bombs
}

func covenantBombs(d dialer, token string) map[string]func(context.Context) {
	bombs := prefixBombs(d, covenantFrame, `{"kind":`)
	hello := fmt.Sprintf(`{"kind":"authenticate","token_b58":%q}`, token)
	enter := prefixed(len(hello), hello)
	for name, v := range costlyJSON() {
		body := `{"kind":"submit_intent","text":` + v + `}`
		search := `{"kind":"search_memory","query":"x","limit":` + v + `}`
		bombs["json "+name] = d.from(2, fire(prefixed(len(v), v)))
		bombs["intent "+name] = d.from(1, fire(enter, prefixed(len(body), body)))
		bombs["search "+name] = d.from(1, fire(enter, prefixed(len(search), search)))
	}
	ping := `{"kind":"recent_audit","limit":1000}`
	bombs["unread answers"] = d.from(16, flood(enter, prefixed(len(ping), ping)))
	return bombs
}

const covenantFrame = 8 << 20

func processBombs(t *testing.T, d dialer, token string) map[string]func(context.Context) {
	ask := func(method, params string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s,"auth":%q}`+"\n", method, params, token)
	}
	bombs := map[string]func(context.Context){
		"connections":    d.from(500, hold(nil)),
		"slow lines":     d.from(100, drip([]byte(`{"jsonrpc"`), ' ')),
		"endless line":   d.from(16, flood(nil, bytes.Repeat([]byte("["), 64<<10))),
		"empty lines":    d.from(4, flood(nil, bytes.Repeat([]byte("\n"), 64<<10))),
		"noise":          d.from(8, flood(nil, bytes.Repeat([]byte("\x00\xff{\n"), 16<<10))),
		"unread answers": d.from(16, flood(nil, ask("server.capabilities", "{}"))),
		"endless file":   d.from(16, flood(nil, ask("files.read", `{"path":`+quoted(largeFile(t))+`}`))),
		"endless output": d.from(2,
			flood(ask("process.spawn", `{"id":"bomb","command":"/bin/sh","args":["-c","head -c 100000000 /dev/zero"]}`),
				ask("server.ping", "{}"))),
	}
	for name, v := range costlyJSON() {
		if v = v[:min(len(v), 900<<10)]; strings.Contains(v, "\n") {
			continue
		}
		bombs["json "+name] = d.from(1, fire(append([]byte(v), '\n'), ask("files.stat", v), ask("process.spawn", `{"id":`+v+`}`)))
	}
	dir := t.TempDir()
	for name, archive := range map[string][]byte{"large": tarOfZeros(1, 256<<20), "many": tarOfZeros(20_000, 1)} {
		src := filepath.Join(dir, name+".tgz")
		bombs["tar "+name] = func(ctx context.Context) {
			for n := 0; ctx.Err() == nil; n++ {
				if err := os.WriteFile(src, archive, 0o600); err != nil {
					return
				}
				unpack := ask("files.extract_tar", `{"archivePath":`+quoted(src)+`,"destDir":`+quoted(filepath.Join(dir, name))+`}`)
				c, err := d(ctx)
				if err != nil {
					continue
				}
				stop := context.AfterFunc(ctx, func() { c.Close() })
				_, _ = c.Write(unpack)
				_, _ = c.Read(make([]byte, 4096))
				stop()
				c.Close()
			}
		}
	}
	return bombs
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func largeFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 200<<20); err != nil {
		t.Fatal(err)
	}
	return path
}

// tarOfZeros returns a compressed archive of files of zeros, which is small.
func tarOfZeros(files int, size int64) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	zeros := make([]byte, 1<<20)
	for i := range files {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprint("f", i), Mode: 0o600, Size: size, Typeflag: tar.TypeReg}); err != nil {
			panic(err)
		}
		for left := size; left > 0; left -= int64(len(zeros)) {
			if _, err := w.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
				panic(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
