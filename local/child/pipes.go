package child

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Pipes receive a program's output. They are read until no process holds them, or until Finish has waited for that long
// enough.
type Pipes struct {
	files   []*os.File
	readers sync.WaitGroup
}

// Read hands everything that a pipe of an exec.Cmd brings to sink, which keeps nothing of it, in pieces of MaxPiece
// bytes at most.
func (p *Pipes) Read(pipe io.Reader, sink func([]byte)) {
	f := pipe.(*os.File)
	p.files = append(p.files, f)
	p.readers.Go(func() { drain(f, sink) })
}

// MaxPiece limits the bytes read from a pipe at once.
const MaxPiece = 32 << 10

// Finish returns when all is read. Descendants of the process may hold its pipes for so long, or until hurry is closed.
// What was written by then is read in any case, however late the readers are: bytes that a process wrote before its end
// are not lost because the machine is busy, or the disk they go to is slow.
func (p *Pipes) Finish(within time.Duration, hurry <-chan struct{}) {
	drained := make(chan struct{})
	go func() { p.readers.Wait(); close(drained) }() // ends below
	select {
	case <-drained:
		return
	case <-time.After(within):
	case <-hurry:
	}
	for _, f := range p.files {
		if f.SetReadDeadline(time.Now()) != nil {
			f.Close() // its reader ends
		}
	}
	<-drained
}

// drain reads a pipe to its end, or, when its deadline has passed, what is in it.
func drain(f *os.File, sink func([]byte)) {
	buf := make([]byte, MaxPiece)
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

// pipeCapacity is the largest capacity of a pipe, unless its maker changed that.
const pipeCapacity = 1 << 20

// readBuffered reads what a pipe holds and waits for nothing. A process that goes on writing is not read for ever.
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
