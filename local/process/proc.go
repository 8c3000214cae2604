package process

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/child"
)

// proc is one process, from its start until it is removed from the table.
type proc struct {
	s       *Server
	id      string
	idJSON  []byte
	pid     int
	started float64 // epoch seconds: clients recognize a reused pid by it
	cmd     *exec.Cmd
	stdin   *stdinQueue
	exited  chan struct{} // closed when the leader has ended
	done    chan struct{} // closed when the exit frame is added

	mu          sync.Mutex
	frames      *replay
	subscribers map[*conn]struct{} // connections to wake when a frame is added
	running     bool
	replaced    bool // another process has taken the id: frames are no longer sent
	ended       time.Time
}

// drainTimeout bounds how long descendants may hold the pipes open after the exit of the leader.
const drainTimeout = 5 * time.Second

// start starts a process. The client gets the text of the error unchanged.
func (s *Server) start(p spawnParams) (*proc, error) {
	path, err := lookPath(p.Command, s.path())
	if err != nil {
		return nil, err
	}
	if p.Cwd != "" {
		if i, err := os.Stat(p.Cwd); err != nil {
			return nil, &os.PathError{Op: "chdir", Path: p.Cwd, Err: errors.Unwrap(err)}
		} else if !i.IsDir() {
			return nil, &os.PathError{Op: "chdir", Path: p.Cwd, Err: syscall.ENOTDIR}
		}
	}
	c := &exec.Cmd{Path: path, Args: append([]string{p.Command}, p.Args...), Dir: p.Cwd, Env: s.childEnv(p.Env),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	in, ierr := c.StdinPipe()
	out, oerr := c.StdoutPipe()
	errs, eerr := c.StderrPipe()
	if err := errors.Join(ierr, oerr, eerr); err != nil {
		return nil, err // the garbage collector closes the pipes that were opened
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	id, _ := json.Marshal(p.ID) // a string
	pr := &proc{s: s, id: p.ID, idJSON: id, pid: c.Process.Pid, started: float64(time.Now().UnixNano()) / 1e9, cmd: c, running: true,
		frames: newReplay(s.cfg.SpillDir, s.cfg.Replay, s.cfg.Keys), subscribers: map[*conn]struct{}{}, exited: make(chan struct{}),
		done: make(chan struct{})}
	pr.stdin = newStdinQueue(in, pr.exited, func() { s.Log.Warn("[process.Manager] stdin backpressure: queue full for " + oneLine(p.ID)) })
	s.Go(func() { pr.watch(out, errs) })
	return pr, nil
}

// watch reads the output, waits for the exit, and adds the exit frame.
func (p *proc) watch(stdout, stderr io.Reader) {
	var out child.Pipes
	out.Read(stdout, p.frameSink(stdoutStream))
	out.Read(stderr, p.frameSink(stderrStream))

	child.AwaitExit(p.cmd.Process) // it is not reaped yet, so the number of its process group is not reused
	close(p.exited)
	out.Finish(drainTimeout, p.s.Ctx.Done())
	p.stdin.close()

	p.mu.Lock()
	_ = p.cmd.Wait() // closes the pipes; the status is in ProcessState
	code := p.cmd.ProcessState.ExitCode()
	p.running, p.ended = false, time.Now()
	p.frames.add(frame{stream: exitStream, code: code})
	p.wake()
	p.mu.Unlock()
	close(p.done)
	p.s.count.exits.Add(1)
	p.s.Log.Info("[process.Manager] Process " + oneLine(p.id) + " exited with code " + itoa(code))
}

// frameSink returns a function that adds output to the frames of the process.
func (p *proc) frameSink(s stream) func([]byte) {
	p.s.Log.Debug("[process.Manager] Starting " + streamNames[s] + " streaming for process " + oneLine(p.id))
	return func(b []byte) {
		data := append([]byte(nil), b...)
		p.mu.Lock()
		full := p.frames.add(frame{stream: s, data: data})
		p.wake()
		p.mu.Unlock()
		if full {
			p.frames.spill(&p.mu)
		}
		p.s.count.output.Add(int64(len(b)))
	}
}

// wake wakes the connections that follow the process. The caller holds the lock.
func (p *proc) wake() {
	for c := range p.subscribers {
		c.framesReady(p)
	}
}

// signal sends a signal to the process group. It does nothing after the leader was reaped, because the number of the
// group may be reused then.
func (p *proc) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		_ = syscall.Kill(-p.pid, sig) // an error means that the group is gone
	}
}

func (p *proc) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// detach removes all subscribers, because another process has taken the id.
func (p *proc) detach() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = true
	for c := range p.subscribers {
		c.forget(p)
	}
	clear(p.subscribers)
}

// discard closes the files of the replay.
func (p *proc) discard() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames.close()
}

// lookPath finds a command in a given PATH.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		full := filepath.Join(dir, name)
		if i, err := os.Stat(full); err == nil && i.Mode().IsRegular() && i.Mode().Perm()&0o111 != 0 {
			return full, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
