package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// Target is the node or cluster that a command talks to: the one at Endpoints, or else the one whose home is Home.
type Target struct {
	ContextName   string // name of the context; blank: the current one
	Home          string
	Endpoints     []string // wire ports and gateways, in any order; see endpoints.go
	TokenText     string   // the token itself
	TokenFile     string
	Database      string
	Timeout       time.Duration
	JSON          bool
	TLS           bool
	CA            string
	tlsConfig     *tls.Config // cached by TLSConfig
	activeContext string      // the context that applyContext used; blank: none
	wireAddrs     []string    // cached by Wire
	gatewayURL    string      // cached by URL
	silent        []string    // the endpoints, if the probe reached none of them

	IsSet      func(flag string) bool // reports whether the user gave a flag; nil if no flags were parsed
	PreferHome bool                   // use Home's node even if the environment has endpoints
}

// oldFlagNames maps earlier names of flags to the current ones, for existing scripts. Help does not show them.
var oldFlagNames = map[string]string{"url": "endpoints", "addr": "endpoints", "data-dir": "home"}

// Flags adds the flags for the connection, the token and the output format.
func (t *Target) Flags(c *cobra.Command) {
	t.flags(c.Flags())
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		t.IsSet = c.Flags().Changed // of the command that runs: commands of a group share a target
		return t.applyContext(c)
	}
	if err := c.RegisterFlagCompletionFunc("context", CompleteContext); err != nil {
		panic("cli: " + err.Error()) // impossible: the flag exists
	}
}

// BeforeVerbs allows these flags before the verb, as in "cairn --json list". It adds hidden copies to the group so
// that cobra finds the verb: otherwise cobra takes "list" for the value of --json. The verb itself parses the flags.
func BeforeVerbs(group *cobra.Command) {
	ours := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(Target).flags(ours)
	ours.VisitAll(func(f *pflag.Flag) {
		if group.Flags().Lookup(f.Name) == nil {
			f.Hidden = true
			group.Flags().AddFlag(f)
		}
	})
}

func (t *Target) flags(f *pflag.FlagSet) {
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(oldFlagNames[name], name))
	})
	f.StringVar(&t.ContextName, "context", os.Getenv("CAIRN_CONTEXT"), "`name` of a context, see cairn context (or CAIRN_CONTEXT)")
	HomeFlag(f, &t.Home, "`directory` of a node on this machine, with its addresses and token (or CAIRN_HOME)")
	f.StringSliceVar(&t.Endpoints, "endpoints",
		strings.FieldsFunc(os.Getenv("CAIRN_ENDPOINTS"), func(r rune) bool { return r == ',' }),
		"`addresses` of nodes, host:port or http://host:port (or CAIRN_ENDPOINTS)")
	f.StringVarP(&t.TokenText, "token", "t", "", "the `token` itself, which other users of this machine can see")
	f.StringVar(&t.TokenFile, "token-file", os.Getenv("CAIRN_TOKEN_FILE"),
		"`file` with the token (or CAIRN_TOKEN_FILE, or the token itself in CAIRN_TOKEN)")
	f.BoolVar(&t.TLS, "tls", os.Getenv("CAIRN_TLS") != "", "speak TLS, trusting this system's authorities (or CAIRN_TLS)")
	f.StringVar(&t.CA, "ca", os.Getenv("CAIRN_CA"), "speak TLS, trusting the authorities in this `file` (or CAIRN_CA)")
	f.DurationVar(&t.Timeout, "timeout", 15*time.Second, "`time` to wait for an answer")
	f.BoolVar(&t.JSON, "json", false, "print JSON")
}

// HomeFlag adds --home, the directory of a node.
func HomeFlag(f *pflag.FlagSet, home *string, usage string) {
	f.StringVar(home, "home", cmp.Or(os.Getenv("CAIRN_HOME"), DefaultHome), usage)
}

// DatabaseFlag adds --db, for commands that work in one database.
func (t *Target) DatabaseFlag(c *cobra.Command) {
	c.Flags().StringVar(&t.Database, "db", "", "database; the token's own by default")
}

// WithDatabase adds the database, if one was given, to the query of a gateway's path.
func (t *Target) WithDatabase(path string) string {
	switch {
	case t.Database == "":
		return path
	case strings.Contains(path, "?"):
		return path + "&database=" + url.QueryEscape(t.Database)
	}
	return path + "?database=" + url.QueryEscape(t.Database)
}

const (
	DefaultHome = "cairn-data"
	addressFile = "addrs.json"
)

// usesHome reports whether to read the node's addresses from its home: no endpoints were given, or they come from the
// environment and a flag (or PreferHome) selects the home.
func (t *Target) usesHome() bool {
	return len(t.Endpoints) == 0 || t.IsSet != nil && !t.IsSet("endpoints") && (t.PreferHome || t.IsSet("home"))
}

// Token returns the token from --token, or else from the environment, the token file or the home.
func (t *Target) Token() (string, error) {
	if t.TokenText != "" {
		return t.TokenText, nil
	}
	if v := cmp.Or(os.Getenv("CAIRN_TOKEN"), os.Getenv("YQL_TOKEN")); v != "" && t.TokenFile == "" {
		return strings.TrimSpace(v), nil
	}
	if t.TokenFile != "" {
		return parseToken(private.ReadNamed(t.TokenFile))
	}
	if err := t.checkHome(); err != nil {
		return "", err
	}
	return parseToken(private.Read(filepath.Join(t.Home, "token")))
}

func parseToken(b []byte, err error) (string, error) {
	if err != nil {
		return "", Hint(fmt.Errorf("no token: %w", err), "set CAIRN_TOKEN, or name a file with --token-file")
	}
	return strings.TrimSpace(string(b)), nil
}

// Context returns a context that ends after the target's timeout.
func (t *Target) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.Timeout)
}

// Dial connects to the wire port of a node.
func (t *Target) Dial(ctx context.Context) (*client.Client, error) {
	addrs, err := t.Wire(ctx)
	if err != nil {
		return nil, err
	}
	return t.dial(ctx, addrs)
}

// dial connects to one of the wire addresses.
func (t *Target) dial(ctx context.Context, addrs []string) (*client.Client, error) {
	secured, err := t.TLSConfig()
	if err != nil {
		return nil, err
	}
	token, err := t.Token()
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, client.Config{Addrs: addrs, Token: token, Database: t.Database, TLS: secured})
	if err != nil {
		if err = fmt.Errorf("connect: %w", err); errors.Is(err, context.DeadlineExceeded) {
			return nil, Hint(err, "no Cairn node answers at this address: name its wire port, 7437 unless the configuration has another")
		}
		return nil, t.withAdvice(err)
	}
	return c, nil
}

// With connects, runs f with the client under the timeout, and closes the client.
func (t *Target) With(ctx context.Context, f func(context.Context, *client.Client) error) error {
	ctx, cancel := t.Context(ctx)
	defer cancel()
	c, err := t.Dial(ctx)
	if err != nil {
		return err
	}
	err = f(ctx, c)
	if ctx.Err() == context.DeadlineExceeded && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, client.ErrUnknownOutcome) &&
		!errors.Is(err, client.ErrNoLeader) {
		err = Hint(fmt.Errorf("no answer within %s", t.Timeout),
			"--timeout waits longer; `cairn doctor` looks for what is wrong with a node")
	}
	return errors.Join(t.withAdvice(err), c.Close())
}

// TLSConfig returns the TLS configuration; nil without TLS.
func (t *Target) TLSConfig() (*tls.Config, error) {
	if t.tlsConfig != nil || !t.TLS && t.CA == "" {
		return t.tlsConfig, nil
	}
	t.tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		b, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		t.tlsConfig.RootCAs = x509.NewCertPool()
		if !t.tlsConfig.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("--ca %s: no certificate in it", t.CA)
		}
	}
	return t.tlsConfig, nil
}

const (
	portAdvice  = "name a port for clients: the wire port, 7437, or the gateway, 7438, unless the configuration has others"
	nodeAdvice  = "`cairn cluster cert` issues the node a certificate; it is used at once"
	trustAdvice = "name the authority to trust with --ca FILE, or give --tls if this system trusts it"
	tokenAdvice = "name a token of this cluster that may do this, with --token-file or CAIRN_TOKEN; a revoked or expired one is refused"
)

// withAdvice adds a hint to an error about an unreachable node, a rejected token or certificate, or a wrong protocol.
func (t *Target) withAdvice(err error) error {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var answer *client.Error
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && op.Addr != nil {
		cause := op.Err
		if call, ok := errors.AsType[*os.SyscallError](cause); ok {
			cause = call.Err
		}
		at := op.Addr.String()
		if len(t.silent) > 1 {
			at = strings.Join(t.silent, ", ")
		}
		err = fmt.Errorf("nothing answers at %s: %w", at, cause)
	}
	if err != nil && t.activeContext != "" && !errors.As(err, &answer) {
		err = fmt.Errorf("context %s: %w", t.activeContext, err)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrSecured), errors.As(err, &unknown):
		return Hint(err, trustAdvice)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Hint(err, "check this machine's clock; "+nodeAdvice)
	case errors.As(err, &host):
		return Hint(err, "name the node as its certificate does, or add the name: "+nodeAdvice)
	case strings.Contains(err.Error(), "expected ClusterHello"), strings.Contains(err.Error(), "tls: certificate required"): // answers of a peer port
		return Hint(err, portAdvice)
	case errors.Is(err, client.ErrPlain), errors.Is(err, http.ErrSchemeMismatch):
		return Hint(err, "leave out --tls and --ca, and begin the URL of a gateway with http://")
	case client.IsCode(err, wire.CodeAuthInvalid):
		return Hint(err, tokenAdvice)
	case errors.As(err, &answer):
		return err
	case op != nil && op.Op == "dial" && t.activeContext != "" && t.ContextName == "":
		return Hint(err, fmt.Sprintf("check that the node is running; `cairn context remove %s` goes back to the node of this directory",
			private.Quote(t.activeContext)))
	case op != nil && op.Op == "dial" && t.usesHome():
		return Hint(err, "start the node of the home "+private.Quote(t.Home)+"; `cairn doctor --home "+private.Quote(t.Home)+"` says what keeps it from running")
	case op != nil && op.Op == "dial":
		return Hint(err, "check that the node is running, and its address")
	}
	return err
}
