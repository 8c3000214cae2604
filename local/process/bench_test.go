package process_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkSpawn measures the time from the request to the first frame.
func BenchmarkSpawn(b *testing.B) {
	socket, _ := listen(b)
	p := connect(b, socket)
	p.sh("warm", "true")
	p.exit("warm")
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("p", i)
		p.ask("process.spawn", map[string]any{"id": id, "command": "/bin/echo", "args": []string{"x"}})
		p.await("a frame", func(l line) bool { return l.ProcessID == id })
		p.exit(id)
		p.seen = p.seen[:0]
	}
}

// BenchmarkRelay measures the rate at which a child's output reaches one client, and that of a shell pipeline with
// the same bytes.
func BenchmarkRelay(b *testing.B) {
	const size = 512 << 20
	b.Run("server", func(b *testing.B) {
		socket, _ := listen(b)
		b.SetBytes(size)
		for b.Loop() {
			p := connect(b, socket)
			if err := p.nc.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
				b.Fatal(err)
			}
			p.write(request(1, "process.spawn",
				map[string]any{"id": "p", "command": "head", "args": []string{"-c", fmt.Sprint(size), "/dev/zero"}}))
			for done := false; !done; { // count lines without decoding them, because the client is not measured
				l, err := p.lines.ReadSlice('\n')
				if err != nil {
					b.Fatal(err)
				}
				done = len(l) < 120 && isExit(l)
			}
		}
	})
	b.Run("cat | base64", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c",
				fmt.Sprintf("head -c %d /dev/zero | cat | base64 -w0 >/dev/null", size)).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func isExit(l []byte) bool { return bytes.Contains(l, []byte(`"stream":"exit"`)) }
