// Package standalone runs the process surface as its own program: a daemon, the bridge that an SSH session
// attaches to, and the installer of an agent's command line.
//
//	-serve    runs the daemon, detached; -socket, and -token-file or -token-fd
//	-bridge   copies between stdin, stdout and the socket
//	-stop     asks a daemon to end; the token is in CLAUDE_RPC_TOKEN
//	-version  prints the version
//	-install  installs an agent's command line if needed, and prints the result as __INSTALL_RESULT__<json>
//
// Flags begin with one dash or two. Messages begin with "claustrum: ". The exit code is 1 for a failure and 2 for
// invalid arguments. The program opens no memory. cmd/cairn runs it for cairn process, and if the binary is named
// claustrum.
package standalone

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Program holds the arguments and the streams of a run.
type Program struct {
	Args     []string // after the program's name
	In       *os.File
	Out, Err io.Writer
	ID, Date string // of the build; empty if unknown
}

// options are the flags.
type options struct {
	serve, bridge, stop, version, install bool

	socket, tokenFile, metrics string
	tokenFD                    int
	keepChildren               bool

	cliDir, cliVersion, cliURL, cliChecksum, cliZst string
	cliKeep                                         int
}

func (o *options) flags(f *flag.FlagSet) {
	f.BoolVar(&o.serve, "serve", false, "run the daemon")
	f.BoolVar(&o.bridge, "bridge", false, "relay stdin and stdout to the daemon")
	f.BoolVar(&o.stop, "stop", false, "ask the daemon to end")
	f.BoolVar(&o.version, "version", false, "print the version")
	f.BoolVar(&o.install, "install", false, "make sure that the agent's command line is there")
	f.StringVar(&o.socket, "socket", "", "path of the socket (default ~/.claude/remote/rpc.sock)")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token; it is removed once read")
	f.IntVar(&o.tokenFD, "token-fd", -1, "descriptor the token is read from")
	f.StringVar(&o.metrics, "metrics-addr", "", "address for Prometheus counters; off by default")
	f.BoolVar(&o.keepChildren, "keep-children", false, "leave processes alive when the daemon ends")
	f.StringVar(&o.cliDir, "cli-dir", "", "directory of installed command lines")
	f.StringVar(&o.cliVersion, "cli-version", "", "version that is to be there")
	f.StringVar(&o.cliURL, "cli-url", "", "where to fetch it, zstd-compressed")
	f.StringVar(&o.cliChecksum, "cli-checksum", "", "SHA-256 of the compressed file")
	f.StringVar(&o.cliZst, "cli-zst", "", "compressed file that is here already; wins over -cli-url")
	f.IntVar(&o.cliKeep, "cli-keep", 3, "how many versions stay; 0 keeps all")
}

// Main runs the program and returns its exit code.
func Main(p Program) int {
	p.ID = cmp.Or(p.ID, "claustrum-dev")
	var o options
	f := flag.NewFlagSet("claustrum", flag.ContinueOnError)
	f.SetOutput(p.Err)
	o.flags(f)
	if err := f.Parse(p.Args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	var err error
	switch {
	case o.version:
		fmt.Fprintf(p.Out, "claustrum %s (built %s)\n", p.ID, cmp.Or(p.Date, "unknown"))
		return 0
	case o.install:
		printResult(p.Out, install(&o, p.ID))
		return 0
	case !o.stop && !o.bridge && !o.serve:
		fmt.Fprintln(p.Err, "claustrum: one of --version/--install/--serve/--bridge/--stop is required")
		return 2
	}
	if o.socket == "" {
		home, herr := os.UserHomeDir()
		if herr != nil {
			fmt.Fprintf(p.Err, "claustrum: cannot resolve home directory: %v\n", herr)
			return 1
		}
		o.socket = filepath.Join(home, ".claude", "remote", "rpc.sock")
	}
	switch {
	case o.stop:
		stop(&o, p.Out)
	case o.bridge:
		err = bridge(&o, p)
	default:
		err = serve(&o, p)
	}
	if err != nil {
		if !errors.Is(err, errReported) {
			fmt.Fprintf(p.Err, "claustrum: %v\n", err)
		}
		return 1
	}
	return 0
}
