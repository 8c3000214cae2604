package process

import (
	"bufio"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// If a method panics, wherever it runs, its request is answered and the server continues.
func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	s, err := Listen(Config{Socket: filepath.Join(t.TempDir(), "s"), Token: "t", SpillDir: t.TempDir(),
		Door: api.At{Host: Alone, Also: AllScopes}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.methods = append(s.methods, method{name: "server.oops", plain: noParams(func(*Server) (any, error) { panic("oops") })},
		method{name: "process.oops", process: ordered(func(*call, target) { panic("oops") })})
	nc, err := net.Dial("unix", s.cfg.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	in := bufio.NewReader(nc)
	for _, name := range []string{"server.oops", "process.oops", "server.oops"} {
		if _, err := io.WriteString(nc, `{"jsonrpc":"2.0","id":1,"method":"`+name+`","params":{},"auth":"t"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if l, err := in.ReadString('\n'); l != `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"recovered panic: oops"}}`+"\n" {
			t.Errorf("%s: %q, %v", name, l, err)
		}
	}
}
