package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// target is the node a command talks to: the one whose home is given, unless addresses are.
type target struct {
	home      string
	addrs     []string
	http      string
	given     string // the token itself
	tokenFile string
	database  string
	timeout   time.Duration
	asJSON    bool
	tls       bool
	ca        string
	trust     *tls.Config // made by secure

	isSet  func(flag string) bool // nil: the target is not of flags
	ofHome bool                   // the node of home is meant, wherever the environment says that one is
}

func (t *target) flags(c *cobra.Command) {
	f := c.Flags()
	t.isSet = f.Changed
	f.StringVar(&t.home, "home", cmp.Or(os.Getenv("CAIRN_HOME"), defaultHome), "home of a node on this machine: its addresses and token are found there")
	f.StringSliceVar(&t.addrs, "addr", list(os.Getenv("CAIRN_ADDRS")), "wire addresses of nodes, host:port (or CAIRN_ADDRS)")
	f.StringVar(&t.http, "url", os.Getenv("CAIRN_URL"), "gateway of a node, http://host:port (or CAIRN_URL)")
	f.StringVarP(&t.given, "token", "t", "", "the token itself; other users of this machine can see it: a file or CAIRN_TOKEN is better")
	f.StringVar(&t.tokenFile, "token-file", os.Getenv("CAIRN_TOKEN_FILE"), "file with the token (or CAIRN_TOKEN in the environment)")
	f.BoolVar(&t.tls, "tls", os.Getenv("CAIRN_TLS") != "", "speak TLS, trusting this system's authorities (or CAIRN_TLS=1)")
	f.StringVar(&t.ca, "ca", os.Getenv("CAIRN_CA"), "speak TLS, trusting the authorities in this file (or CAIRN_CA)")
	f.DurationVar(&t.timeout, "timeout", 15*time.Second, "how long to wait for an answer")
	f.BoolVar(&t.asJSON, "json", false, "print JSON")
}

// inDatabase is the flag of commands that work in one database.
func (t *target) inDatabase(c *cobra.Command) {
	c.Flags().StringVar(&t.database, "db", "", "database; the token's own by default")
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// addresses is the file a running node leaves in its home.
type addresses struct {
	Wire    string `json:"wire"`
	HTTP    string `json:"http"`
	Cluster string `json:"cluster,omitempty"`
	TLS     bool   `json:"tls,omitempty"`
	CA      string `json:"ca,omitempty"` // whom to trust
}

const (
	defaultHome = "cairn-data"
	addrsFile   = "addrs.json"
)

// inHome says whether the address of a node is to be found in its home: none is named, or by the environment alone while a flag
// names the home.
func (t *target) inHome(flag string, named bool) bool {
	return !named || t.isSet != nil && !t.isSet(flag) && (t.ofHome || t.isSet("home"))
}

func (t *target) find() (addresses, error) {
	b, err := os.ReadFile(filepath.Join(t.home, addrsFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return addresses{}, err
	}
	if err != nil {
		return addresses{}, hinted{fmt.Errorf("no node found in %s", t.home), "start one with `cairn dev`, or name one with --addr and --url"}
	}
	var a addresses
	if err := json.Unmarshal(b, &a); err != nil {
		return a, fmt.Errorf("%s: %w", filepath.Join(t.home, addrsFile), err)
	}
	return a, nil
}

// token is what was given, or is looked for in the file that was named, the environment, and the home.
func (t *target) token() (string, error) {
	if t.given != "" {
		return t.given, nil
	}
	if v := cmp.Or(os.Getenv("CAIRN_TOKEN"), os.Getenv("YQL_TOKEN")); v != "" && t.tokenFile == "" {
		return v, nil
	}
	path := cmp.Or(t.tokenFile, filepath.Join(t.home, "token"))
	b, err := os.ReadFile(path)
	if err != nil {
		return "", hinted{fmt.Errorf("no token: %w", err), "set CAIRN_TOKEN, or name a file with --token-file"}
	}
	return strings.TrimSpace(string(b)), nil
}

func (t *target) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.timeout)
}

func (t *target) dial(ctx context.Context) (*client.Client, error) {
	if t.inHome("addr", len(t.addrs) > 0) {
		a, err := t.find()
		if err != nil {
			return nil, err
		}
		t.addrs = []string{a.Wire}
		t.tls, t.ca = t.tls || a.TLS, cmp.Or(t.ca, a.CA)
	}
	secured, err := t.secure()
	if err != nil {
		return nil, err
	}
	token, err := t.token()
	if err != nil {
		return nil, err
	}
	for _, addr := range t.addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, usageError{fmt.Errorf("--addr %q is no host:port", addr)}
		}
	}
	c, err := client.Dial(ctx, client.Config{Addrs: t.addrs, Token: token, Database: t.database, TLS: secured})
	if err != nil {
		if err = fmt.Errorf("connect: %w", err); errors.Is(err, context.DeadlineExceeded) {
			return nil, hinted{err, "nobody answers there as a node does: is it the wire port, 7437 or what the configuration says?"}
		}
		return nil, t.advised(err)
	}
	return c, nil
}

// with runs f with a connected client.
func (t *target) with(ctx context.Context, f func(context.Context, *client.Client) error) error {
	ctx, cancel := t.context(ctx)
	defer cancel()
	c, err := t.dial(ctx)
	if err != nil {
		return err
	}
	err = f(ctx, c)
	if ctx.Err() == context.DeadlineExceeded && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, client.ErrUnknownOutcome) {
		err = hinted{fmt.Errorf("no answer within %s", t.timeout), "--timeout waits longer; `cairn doctor` looks for what is wrong with a node"}
	}
	return errors.Join(t.advised(err), c.Close())
}

func (t *target) url() (string, error) {
	if !t.inHome("url", t.http != "") {
		at := strings.TrimRight(t.http, "/")
		if !strings.Contains(at, "://") {
			at = scheme(t.tls || t.ca != "") + at
		}
		if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", usageError{fmt.Errorf("--url %q is no http://host:port", t.http)}
		}
		return at, nil
	}
	a, err := t.find()
	if err != nil {
		return "", err
	}
	t.tls, t.ca = t.tls || a.TLS, cmp.Or(t.ca, a.CA)
	return scheme(a.TLS) + a.HTTP, nil
}

func scheme(secure bool) string {
	if secure {
		return "https://"
	}
	return "http://"
}

// secure is how TLS is spoken; nil when it is not.
func (t *target) secure() (*tls.Config, error) {
	if t.trust != nil || !t.tls && t.ca == "" {
		return t.trust, nil
	}
	t.trust = &tls.Config{MinVersion: tls.VersionTLS12}
	if t.ca != "" {
		b, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		t.trust.RootCAs = x509.NewCertPool()
		if !t.trust.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("--ca %s: no certificate in it", t.ca)
		}
	}
	return t.trust, nil
}

// gateway is the HTTP client that trusts whom it should.
func (t *target) gateway() (*http.Client, error) {
	secured, err := t.secure()
	if err != nil {
		return nil, err
	}
	hc := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // request follows the leader, with the token
	if secured == nil {
		return hc, nil
	}
	hc.Transport = &http.Transport{TLSClientConfig: secured, ForceAttemptHTTP2: true, Proxy: http.ProxyFromEnvironment}
	return hc, nil
}

// httpError is the gateway's refusal.
type httpError struct {
	Status     int
	Text       string `json:"error"`
	LeaderAddr string `json:"leader_addr"`
}

func (e *httpError) Error() string { return fmt.Sprintf("%s (HTTP %d)", e.Text, e.Status) }

// request makes one exchange with the gateway, and a second one with the leader when the first names it.
// The answer's body is the caller's to close.
func (t *target) request(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	base, err := t.url()
	if err != nil {
		return nil, err
	}
	r, err := t.once(ctx, method, base+path, body)
	var e *httpError
	if errors.As(err, &e) && e.LeaderAddr != "" && e.LeaderAddr != base {
		return t.once(ctx, method, e.LeaderAddr+path, body)
	}
	return r, err
}

func (t *target) once(ctx context.Context, method, at string, body any) (io.ReadCloser, error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, at, in)
	if err != nil {
		return nil, usageError{err}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return t.exchange(req)
}

// fetch reads from a gateway with headers of its own.
func (t *target) fetch(ctx context.Context, at string, h http.Header) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, usageError{err}
	}
	req.Header = h
	return t.exchange(req)
}

// exchange sends a request with the token and makes an error of a refusal.
func (t *target) exchange(req *http.Request) (io.ReadCloser, error) {
	if token, err := t.token(); err == nil {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	hc, err := t.gateway()
	if err != nil {
		return nil, err
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, t.advised(err)
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	e := &httpError{Status: resp.StatusCode}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what arrived is enough to say what is wrong
	if json.Unmarshal(b, e) != nil || e.Text == "" {
		e.Text = cmp.Or(strings.TrimSpace(string(b)), http.StatusText(resp.StatusCode))
		if req.URL.Scheme == "http" && e.Status == http.StatusBadRequest { // no gateway says this without JSON
			return nil, hinted{e, "does the port speak TLS? Then the URL begins with https://, and " + trustAdvice}
		}
	}
	if e.Status == http.StatusUnauthorized {
		return nil, hinted{e, tokenAdvice}
	}
	return nil, e
}

const (
	trustAdvice = "--ca FILE names the authority to trust, or --tls says that this system trusts it"
	tokenAdvice = "--token-file or CAIRN_TOKEN names a token of this cluster; those that are revoked or expired open nothing"
)

// advised is an error with what to do about it, when a node was not reached, does not let us in, or does not answer.
func (t *target) advised(err error) error {
	var unknown x509.UnknownAuthorityError
	var answer *client.Error
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrSecured), errors.As(err, &unknown):
		return hinted{err, trustAdvice}
	case errors.Is(err, client.ErrPlain), errors.Is(err, http.ErrSchemeMismatch):
		return hinted{err, "leave out --tls and --ca, and begin --url with http://"}
	case client.IsCode(err, wire.CodeAuthInvalid):
		return hinted{err, tokenAdvice}
	case errors.As(err, &answer):
		return err
	case errors.As(err, &op) && op.Op == "dial":
		return hinted{err, "is the node running?"}
	}
	return err
}

// get reads a JSON answer.
func (t *target) get(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := t.context(ctx)
	defer cancel()
	r, err := t.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer r.Close()
	return json.NewDecoder(r).Decode(answer)
}

// json prints a value for machines.
func (a *app) json(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
