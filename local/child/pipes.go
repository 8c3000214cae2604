package child

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Pipes reads the output of a program until no process has the pipes open, or until Finish stops waiting.
type Pipes struct {
	files   []*os.File
	readers sync.WaitGroup
}

// Read passes the output of a pipe of an exec.Cmd to sink, at most MaxChunk bytes at once. sink must not keep its
// argument.
func (p *Pipes) Read(pipe io.Reader, sink func([]byte)) {
	f := pipe.(*os.File)
	p.files = append(p.files, f)
	p.readers.Go(func() { drain(f, sink) })
}

// MaxChunk bounds the bytes of one read from a pipe.
const MaxChunk = 32 << 10

// Finish returns when all output is read. If descendants of the process hold the pipes open, it waits until the
// timeout, or until abort is closed. Output that was written by then is never lost, even if the machine is busy or
// the sink is slow.
func (p *Pipes) Finish(timeout time.Duration, abort <-chan struct{}) {
	drained := make(chan struct{})
	go func() { p.readers.Wait(); close(drained) }() // ends below
	select {
	case <-drained:
		return
	case <-time.After(timeout):
	case <-abort:
	}
	for _, f := range p.files {
		if f.SetReadDeadline(time.Now()) != nil {
			f.Close() // its reader ends
		}
	}
	<-drained
}

// drain reads a pipe to its end. After its deadline, it reads only what the pipe contains.
func drain(f *os.File, sink func([]byte)) {
	buf := make([]byte, MaxChunk)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			sink(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			readBuffered(f, buf, sink)
		}
		if err != nil {
			return
		}
	}
}

// pipeCapacity is the largest capacity of a pipe, by default.
const pipeCapacity = 1 << 20

// readBuffered reads the content of a pipe without waiting. It reads at most pipeCapacity, because the process may
// still write.
func readBuffered(f *os.File, buf []byte, sink func([]byte)) {
	pipe, err := f.SyscallConn()
	if err != nil || f.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := pipeCapacity; left > 0; {
		n := 0
		if pipe.Read(func(fd uintptr) bool { n, _ = syscall.Read(int(fd), buf); return true }) != nil || n <= 0 {
			return // it is empty, or at its end
		}
		sink(buf[:n])
		left -= n
	}
}
