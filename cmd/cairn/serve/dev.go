package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/model"
	"github.com/cairndb/cairn/cmd/cairn/sample"
	"github.com/cairndb/cairn/cmd/cairn/surface"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/node/memory"
	"github.com/cairndb/cairn/node/oauth"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
)

// logging holds the log flags of the commands that run a node.
type logging struct{ format, level string }

func (l *logging) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.format, "log-format", "text", "text or json")
	c.Flags().StringVar(&l.level, "log-level", "info", "debug, info, warn, error")
}

func (l *logging) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, cli.Usagef("--log-level %q: debug, info, warn or error", l.level)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, cli.Usagef("--log-format %q: text or json", l.format)
}

// Dev returns the command `cairn dev`.
func Dev(s *cli.Streams) *cobra.Command {
	var home, siftHome, named, issuer string
	var withSample bool
	var base int
	var k config.KeySource
	var l logging
	c := &cobra.Command{
		Use: "dev", Short: "Run one node with no set-up", Args: cobra.NoArgs,
		Long: `Run one node with no set-up: a real log with one voter, data below --home, a client token in HOME/token.

When it serves reads and writes it prints one JSON line on stdout. Everything else goes to stderr.

Programs of this user may run commands through stringd and stop the node; "cairn serve" allows neither unless its
configuration does. Other users of this host and web pages are rejected: deploy/SECURITY.md says who can reach what.`,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := l.logger(s.Err)
			if err != nil {
				return err
			}
			cfg := node.Config{Home: home, Tokens: node.Tokens{EnsureHome: true},
				Version: cli.BuildVersion(), Logger: log, Storage: node.Storage{Encryption: k.Source()}, OAuth: oauth.Settings{Issuer: issuer}}
			if named != "" {
				if cfg.Embedder, err = model.Open(home, named); err != nil {
					return err
				}
			}
			if c.Flags().Changed("port-base") {
				if base < 1 || base > 65530 {
					return cli.Usagef("--port-base %d: 1 to 65530", base)
				}
				cfg.Addresses.Wire, cfg.Addresses.HTTP = config.Loopback(base), config.Loopback(base+1)
			}
			up := config.Setup{Node: cfg, Local: config.Local{Sift: config.Sift{Home: siftHome}}, Dev: true, Base: base}
			return runNode(c.Context(), up, func(ctx context.Context, n *node.Node, l cli.Ready) error {
				if withSample {
					if err := storeSample(ctx, s.Err, l.Home); err != nil {
						return err
					}
				}
				if cli.IsTerminal(s.Err) { // programs read the JSON line on stdout instead
					link, err := n.SignInLink(l.HTTP)
					if err != nil {
						return err
					}
					defer fmt.Fprint(s.Err, greeting(l, link, withSample))
				}
				return s.JSONLine(l)
			})
		},
	}
	cli.HomeFlag(c.Flags(), &home, "data directory")
	c.Flags().StringVar(&siftHome, "sift-home", "", "directory of the SiftCoder sockets; HOME/run/siftcoder by default")
	c.Flags().IntVar(&base, "port-base", 0, "wire on this port, gateway +1, stringd +4, Covenant's HTTP mirror +5")
	c.Flags().StringVar(&named, "embed", "", "find memories by meaning too, with a model that 'cairn embed fetch' downloaded, or a model's directory")
	c.Flags().BoolVar(&withSample, "sample", false, "store 200 memories of a fictional team to try questions on, unless they are stored already")
	issuerFlag(c, &issuer)
	k.Flags(c)
	l.flags(c)
	return c
}

// runNode runs a node until ctx ends or the node fails. It calls serves once, when the node is ready.
func runNode(ctx context.Context, up config.Setup, serves func(context.Context, *node.Node, cli.Ready) error) (err error) {
	defer holdHeapFloor()()
	memory.Limit()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cfg := up.Node
	if cfg.Home, err = filepath.Abs(cfg.Home); err != nil {
		return err
	}
	up.Node = cfg
	cfg.Storage.Kept = func(keys *seal.Ring) ([]home.Kept, error) { return surface.Kept(up, keys) }
	if err := protectProcess(cfg.Storage.Encryption.Env); err != nil { // only a warning: a sandbox may forbid it
		cfg.Logger.Warn("other processes of this user can read the environment of this one", "err", err)
	}
	n, err := node.Open(ctx, cfg)
	if err != nil {
		return config.KeyHint(err, openAdvice(err))
	}
	if err := unsetVars(cfg.Storage.Encryption.Env); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeNode(n)) }()
	at, err := addressesOf(n.Addrs(), cfg.Addresses.Advertise, cfg.TLS.Clients)
	if err != nil {
		return err
	}
	if err := at.Write(cfg.Home); err != nil {
		return err
	}
	line := cli.Ready{Ready: true, NodeID: max(cfg.Member.NodeID, 1), Wire: at.Wire, HTTP: cli.Scheme(at.TLS) + at.HTTP, Cluster: at.Cluster, Home: cfg.Home}
	closeLocal, err := surface.Open(ctx, n, up, &line, stop)
	if err != nil {
		return config.KeyHint(err, openAdvice(err))
	}
	defer func() { err = errors.Join(err, closeLocal()) }()
	if err := n.Ready(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it was ready
		}
		return config.KeyHint(err, openAdvice(err))
	}
	if err := serves(ctx, n, line); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-n.Done():
		return config.KeyHint(n.Err(), openAdvice(n.Err()))
	}
}

// openAdvice returns the advice for a node that does not start or stops by itself; blank if there is none.
func openAdvice(err error) string {
	switch {
	case home.IsLoss(err):
		return "restore a newer backup into an empty home (`cairn restore`), or go on without these records (`cairn recover --accept-loss`). Nothing was removed"
	case errors.Is(err, state.ErrLocked), errors.Is(err, syscall.EADDRINUSE):
		return "check whether another node runs in this home or on these ports; choose others with --home and --port-base of cairn dev, or in the configuration"
	case errors.Is(err, state.ErrUnapplied), errors.Is(err, oplog.ErrRecord):
		return "try a newer version first; if every node stops at this record, `cairn recover --skip-record N` skips it on each of them"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on the disk of the home; `cairn doctor` names what may be removed there, and deploy/runbooks/disk-full.md what must stay"
	case errors.Is(err, fs.ErrPermission):
		return "the home and all in it must belong to the user who runs the node; --home chooses another"
	}
	return ""
}

// closeNode stops a node, with a timeout below that of a supervisor.
func closeNode(n *node.Node) error {
	const stopTimeout = 9 * time.Second
	done := make(chan error, 1)
	go func() { done <- n.Close() }() // ends at the latest with the process
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("the node did not stop within %s", stopTimeout)
	}
}

// storeSample stores the sample in the node of a home, as a client.
func storeSample(ctx context.Context, w io.Writer, home string) error {
	t := &cli.Target{Home: home, Timeout: time.Minute} // timeout of each request
	n, err := sample.Store(ctx, t, time.Now())
	if err != nil {
		return fmt.Errorf("the sample was not stored: %w", err)
	}
	if n > 0 {
		fmt.Fprintf(w, "sample: %d memories stored in namespace %s and two others\n", n, sample.Namespace)
	}
	return nil
}

// greeting returns the text for the terminal: the node's addresses and commands to try. The commands include --home
// if it is not the default. link signs in to the console, so it must not go to a log.
func greeting(l cli.Ready, link string, hasSample bool) string {
	flag := " --home " + private.Quote(l.Home)
	if usual, err := filepath.Abs(cmp.Or(os.Getenv("CAIRN_HOME"), cli.DefaultHome)); err == nil && usual == l.Home {
		flag = ""
	}
	try := fmt.Sprintf("    cairn remember \"Alice leads the payments team\"%[1]s\n    cairn recall \"who leads payments?\"%[1]s\n", flag)
	if hasSample {
		try = fmt.Sprintf("    cairn recall \"why were customers billed twice?\"%[1]s\n    cairn edges Alice%[1]s\n    cairn conflicts list%[1]s\n", flag)
	}
	return fmt.Sprintf(`
  Cairn is up.

  console  %[3]s/
  token    %[1]s/token
  sign in  %[5]s
           works once, within a minute, on this machine

  In another terminal:

%[4]s    cairn status%[2]s

`, l.Home, flag, l.HTTP, try, cmp.Or(link, "with the token"))
}

// heapFloor is the size of a ballast that delays garbage collection. The collector runs when the heap has doubled;
// with a small heap that happens every few large requests, and each cycle delays all others. The ballast costs
// address space and up to as much garbage, but no memory, because its pages are never touched.
const heapFloor = 64 << 20

// holdHeapFloor allocates the ballast and keeps it alive until release is called.
func holdHeapFloor() (release func()) {
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
