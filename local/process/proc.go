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

// proc is one process, from its start until its entry goes.
type proc struct {
	s       *Server
	id      string
	idJSON  []byte
	pid     int
	started float64 // epoch seconds: with it clients tell whether a pid is still the same process
	cmd     *exec.Cmd
	in      *stdinQueue
	exited  chan struct{} // closed when the leader has ended
	done    chan struct{} // closed with the exit frame

	mu       sync.Mutex
	frames   *replay
	subs     map[*conn]struct{} // woken when a frame is there
	running  bool
	replaced bool // its id belongs to another one: it is silent
	ended    time.Time
}

// drainTime limits the time that a descendant may hold the pipes open after the leader's exit.
const drainTime = 5 * time.Second

// start runs a command. The client is told the error as it is.
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
		return nil, err // the collector closes those that were made
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	id, _ := json.Marshal(p.ID) // a string
	pr := &proc{s: s, id: p.ID, idJSON: id, pid: c.Process.Pid, started: float64(time.Now().UnixNano()) / 1e9, cmd: c, running: true,
		frames: newReplay(s.cfg.SpillDir, s.cfg.Replay, s.cfg.Keys), subs: map[*conn]struct{}{}, exited: make(chan struct{}),
		done: make(chan struct{})}
	pr.in = newStdinQueue(in, pr.exited, func() { s.Log.Warn("[process.Manager] stdin backpressure: queue full for " + oneLine(p.ID)) })
	s.Go(func() { pr.watch(out, errs) })
	return pr, nil
}

// watch reads the output and sees the process out.
func (p *proc) watch(stdout, stderr io.Reader) {
	var out child.Pipes
	out.Read(stdout, p.pump(stdoutStream))
	out.Read(stderr, p.pump(stderrStream))

	child.AwaitExit(p.cmd.Process) // it stays a zombie: its group's number cannot be given to another
	close(p.exited)
	out.Finish(drainTime, p.s.Ctx.Done())
	p.in.close()

	p.mu.Lock()
	_ = p.cmd.Wait() // which closes the pipes; the status is in ProcessState
	code := p.cmd.ProcessState.ExitCode()
	p.running, p.ended = false, time.Now()
	p.frames.add(frame{stream: exitStream, code: code})
	p.wake()
	p.mu.Unlock()
	close(p.done)
	p.s.count.exits.Add(1)
	p.s.Log.Info("[process.Manager] Process " + oneLine(p.id) + " exited with code " + itoa(code))
}

// pump turns the process's output into frames.
func (p *proc) pump(s stream) func([]byte) {
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

// wake tells the subscribed connections that a frame is there; the caller holds the lock.
func (p *proc) wake() {
	for c := range p.subs {
		c.news(p)
	}
}

// signal reaches the whole group, while the leader is not reaped: later the group's number may be another's.
func (p *proc) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		_ = syscall.Kill(-p.pid, sig) // a group that is gone needs no signal
	}
}

func (p *proc) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// silence removes all subscribers for good: the id belongs to another process from now on.
func (p *proc) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = true
	for c := range p.subs {
		c.forget(p)
	}
	clear(p.subs)
}

// discard closes the files of a process that is no longer known.
func (p *proc) discard() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames.close()
}

// lookPath finds a command on a PATH that need not be this process's own.
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
