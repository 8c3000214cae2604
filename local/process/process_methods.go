package process

import (
	"cmp"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
)

// call is a running process.* request.
type call struct {
	c  *conn
	s  *Server
	id any

	size     int  // of the request line
	requeued bool // another queue or goroutine completes the request and subtracts size
}

// target holds the process id of a request.
type target struct {
	ID string `json:"id"`
}

func (t target) process() string { return t.ID }

// reply answers the request. It is called once.
func (k *call) reply(result any, err error) { k.c.answer(encodeAnswer(k.id, result, err)) }

type spawnParams struct {
	target
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	WantPid bool              `json:"wantPid"`
}

func spawn(k *call, p spawnParams) {
	switch {
	case p.ID == "":
		k.reply(nil, errNoID)
		return
	case p.Command == "":
		k.reply(nil, rpcErrorf(codeParams, "Command is required"))
		return
	}
	var pr *proc
	err := k.s.withPermission("process.spawn", api.RunProgram, func() (err error) {
		pr, err = k.s.start(p)
		return err
	})
	if err != nil {
		k.s.Log.Error("[process.Manager] Failed to start process " + oneLine(p.ID) + ": " + oneLine(err.Error()))
		k.reply(nil, err)
		return
	}
	k.s.Log.Info("[process.Manager] Process " + oneLine(p.ID) + " started, PID=" + itoa(pr.pid) + ", command=" + oneLine(p.Command))
	k.s.count.spawns.Add(1)
	if !k.s.register(pr) {
		k.reply(nil, rpcErrorf(codeInternal, "the server is stopping"))
		return
	}
	r := kit.Object{"success", true}
	if p.WantPid {
		r = append(r, "pid", pr.pid, "startTime", pr.started)
	}
	k.c.answer(encodeAnswer(k.id, r, nil))
	k.c.follow(pr, 1)
}

type stdinParams struct {
	target
	Data   string `json:"data"`
	Offset *int64 `json:"offset"`
}

var (
	errNoID       = rpcErrorf(codeParams, "Process ID is required")
	errNotRunning = rpcErrorf(codeParams, "Process not running")
)

func stdin(k *call, p stdinParams) {
	if p.Offset != nil && *p.Offset < 0 {
		k.reply(nil, errParams)
		return
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil {
		k.reply(nil, rpcErrorf(codeParams, "Invalid base64 data"))
		return
	}
	pr := k.s.lookup(p.ID)
	if pr == nil {
		k.reply(nil, rpcErrorf(codeParams, "Process not found"))
		return
	}
	waiting := "stdin/" + p.ID // requests that wait for room in the stdin queue, in order
	if k.c.queueIdle(waiting) {
		if full := k.offerStdin(pr, data, p.Offset); full == nil {
			return
		}
	}
	k.requeued = true
	k.c.enqueue(waiting, func() {
		defer k.c.addQueuedBytes(-k.size)
		for full := k.offerStdin(pr, data, p.Offset); full != nil; full = k.offerStdin(pr, data, p.Offset) {
			select {
			case <-full:
			case <-pr.done:
			case <-k.s.Ctx.Done():
				k.reply(nil, errNotRunning)
				return
			}
		}
	})
}

// offerStdin offers data and answers. If the queue is full, it does not answer and returns the channel to wait for.
func (k *call) offerStdin(pr *proc, data []byte, offset *int64) <-chan struct{} {
	if !pr.alive() {
		k.reply(nil, errNotRunning)
		return nil
	}
	applied, accepted, full, err := pr.stdin.offer(data, offset)
	switch {
	case errors.Is(err, errFull):
		return full
	case errors.Is(err, errGap):
		k.reply(nil, rpcErrorf(codeOffsetGap, "stdin offset gap: offset ahead of applied bytes"))
	case err != nil:
		k.reply(nil, errNotRunning)
	default:
		k.s.count.input.Add(int64(max(0, accepted)))
		r := kit.Object{"success", true, "applied", applied}
		if accepted == duplicate {
			r = append(r, "duplicate", true)
		}
		k.reply(r, nil)
	}
	return nil
}

type waitParams struct {
	target
	Signal    string `json:"signal"`
	TimeoutMs int64  `json:"timeoutMs"`
	Escalate  *bool  `json:"escalate"`
}

var signals = map[string]syscall.Signal{
	"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
}

// parseSignal knows the common names, with or without SIG. Any other name is TERM.
func parseSignal(name string) syscall.Signal {
	return cmp.Or(signals[strings.TrimPrefix(name, "SIG")], syscall.SIGTERM)
}

type killParams struct {
	target
	Signal string `json:"signal"`
}

// kill answers before it sends the signal, so that the exit frame follows the answer.
func kill(k *call, p killParams) {
	pr := k.s.lookup(p.ID)
	k.reply(kit.Object{"success", true}, nil)
	if pr != nil {
		pr.signal(parseSignal(p.Signal))
	}
}

type killResult struct {
	Found     bool `json:"found"`
	Died      bool `json:"died"`
	Already   bool `json:"alreadyExited,omitempty"`
	Escalated bool `json:"escalated,omitempty"`
}

const (
	defaultGrace = 3 * time.Second
	maxGrace     = 10 * time.Minute
	killGrace    = 5 * time.Second // minimum wait after SIGKILL
)

func killAndWait(k *call, p waitParams) {
	pr := k.s.lookup(p.ID)
	switch {
	case p.ID == "":
		k.reply(nil, errNoID)
	case pr == nil:
		k.reply(killResult{}, nil)
	case !pr.alive():
		k.c.answerAfter(pr, encodeAnswer(k.id, killResult{Found: true, Died: true, Already: true}, nil))
	default:
		grace := defaultGrace
		if p.TimeoutMs > 0 {
			grace = time.Duration(min(p.TimeoutMs, maxGrace.Milliseconds())) * time.Millisecond
		}
		pr.signal(parseSignal(p.Signal))
		k.requeued = true
		k.c.goAnswer(k.id, func() {
			defer k.c.addQueuedBytes(-k.size)
			k.await(pr, grace, p.Escalate == nil || *p.Escalate)
		})
	}
}

// await waits for the end of a process and answers. After the grace period it escalates to SIGKILL if asked to.
func (k *call) await(pr *proc, grace time.Duration, escalate bool) {
	r := killResult{Found: true, Died: pr.doneWithin(grace)}
	if !r.Died && escalate {
		pr.signal(syscall.SIGKILL)
		r.Escalated, r.Died = true, pr.doneWithin(max(grace, killGrace))
	}
	if r.Died {
		k.c.answerAfter(pr, encodeAnswer(k.id, r, nil))
	} else {
		k.reply(r, nil)
	}
}

func (p *proc) doneWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
	case <-p.s.Ctx.Done():
	}
	return !p.alive()
}

type reattachParams struct {
	target
	FromSeq int64 `json:"fromSeq"`
	WantPid bool  `json:"wantPid"`
}

type reattachResult struct {
	Found   bool    `json:"found"`
	Running bool    `json:"running"`
	First   uint64  `json:"firstSeq"`
	Last    uint64  `json:"lastSeq"`
	Applied int64   `json:"stdinApplied"`
	Pid     int     `json:"pid,omitempty"`
	Started float64 `json:"startTime,omitempty"`
}

func reattach(k *call, p reattachParams) {
	switch {
	case p.FromSeq < 0:
		k.reply(nil, errParams)
		return
	case p.ID == "":
		k.reply(nil, errNoID)
		return
	}
	for {
		pr := k.s.lookup(p.ID)
		if pr == nil {
			k.reply(reattachResult{}, nil)
			return
		}
		line := func(r reattachResult) []byte {
			k.s.count.reattaches.Add(1)
			if p.WantPid {
				r.Pid, r.Started = pr.pid, pr.started
			}
			return encodeAnswer(k.id, r, nil)
		}
		if k.c.reattach(pr, uint64(p.FromSeq), line) { // false: another process has taken the id
			return
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
