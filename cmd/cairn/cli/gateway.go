package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"strings"
	"syscall"

	"github.com/cairndb/cairn/node/api"
)

// Scheme returns the scheme of a gateway's URL.
func Scheme(secure bool) string {
	if secure {
		return "https://"
	}
	return "http://"
}

// HTTPClient returns an HTTP client that trusts the authorities from the flags. It follows no redirects: Request
// follows the leader itself, with the token.
func (t *Target) HTTPClient() (*http.Client, error) {
	secured, err := t.TLSConfig()
	if err != nil {
		return nil, err
	}
	hc := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if secured == nil {
		return hc, nil
	}
	hc.Transport = &http.Transport{TLSClientConfig: secured, ForceAttemptHTTP2: true, Proxy: http.ProxyFromEnvironment}
	return hc, nil
}

// An HTTPError is an error response of the gateway.
type HTTPError struct {
	Status     int
	Text       string `json:"error"`
	Code       string `json:"code"`
	LeaderAddr string `json:"leader_addr"`

	Line     int    `json:"line"` // where an import ended; 0 for other errors. Reason and the counts below belong to it
	Reason   string `json:"reason"`
	Memories int    `json:"memories"`
	Edges    int    `json:"edges"`
}

func (e *HTTPError) Error() string { return e.Text }

// Status returns the HTTP status of an HTTPError; 0 for other errors.
func Status(err error) int {
	if e, ok := errors.AsType[*HTTPError](err); ok {
		return e.Status
	}
	return 0
}

// NDJSON is a request body of JSON lines.
type NDJSON []byte

// Request sends a request to the gateway, and to the leader if the gateway redirects there. If the gateway knows no
// leader, its node may be partitioned or removed, so Request then tries the other endpoints. The caller closes the
// body.
func (t *Target) Request(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	base, err := t.URL(ctx)
	if err != nil {
		return nil, err
	}
	r, err := t.requestFollowingLeader(ctx, method, base, path, body)
	for i := 0; i < len(t.Endpoints) && len(t.Endpoints) > 1 && isNoLeader(err); i++ {
		one := *t
		one.Endpoints, one.gatewayURL, one.wireAddrs = t.Endpoints[i:i+1], "", nil
		at, gone := one.URL(ctx)
		if gone != nil || at == base {
			continue
		}
		if other, failed := t.requestFollowingLeader(ctx, method, at, path, body); failed == nil || reachedGateway(failed) {
			r, err = other, failed
		}
	}
	if isNoLeader(err) && !strings.Contains(err.Error(), "quorum") { // the error about a lost quorum names the missing members already
		err = Hint(err, "an election takes a moment: run the command again; if it stays so, `cairn status` shows which nodes are missing")
	}
	return r, err
}

// requestFollowingLeader sends a request to a gateway, and again to the leader if the gateway redirects there.
func (t *Target) requestFollowingLeader(ctx context.Context, method, base, path string, body any) (io.ReadCloser, error) {
	r, err := t.RequestAt(ctx, method, base+path, body, nil)
	if e, ok := errors.AsType[*HTTPError](err); ok && e.LeaderAddr != "" && e.LeaderAddr != base {
		return t.RequestAt(ctx, method, e.LeaderAddr+path, body, nil)
	}
	return r, err
}

// isNoLeader reports whether a gateway rejected the request because it knows no leader.
func isNoLeader(err error) bool {
	e, ok := errors.AsType[*HTTPError](err)
	return ok && e.Code == "not_leader" && e.LeaderAddr == ""
}

// reachedGateway reports whether a failed request reached a gateway, which may have executed it.
func reachedGateway(err error) bool {
	_, broken := errors.AsType[*brokenConnection](err)
	return broken || Status(err) != 0
}

// RequestAt sends a request with additional headers to the gateway at an address, and follows no leader. The caller
// closes the body.
func (t *Target) RequestAt(ctx context.Context, method, at string, body any, headers http.Header) (io.ReadCloser, error) {
	var in io.Reader
	kind := "application/json"
	if lines, ok := body.(NDJSON); ok {
		in, kind = bytes.NewReader(lines), "application/x-ndjson"
	} else if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, at, in)
	if err != nil {
		return nil, Usage(err)
	}
	maps.Copy(req.Header, headers)
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	return t.exchange(req)
}

// A brokenConnection is the error when the connection ends before the answer.
type brokenConnection struct {
	error
	host string
}

func (b *brokenConnection) Error() string { return b.host + " ended the connection before it answered" }
func (b *brokenConnection) Unwrap() error { return b.error }

// exchange sends a request with the token, and returns an HTTPError if the status is not 2xx.
func (t *Target) exchange(req *http.Request) (io.ReadCloser, error) {
	token, noToken := t.Token() // not an error yet: health and metrics need no token
	if noToken == nil {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	hc, err := t.HTTPClient()
	if err != nil {
		return nil, err
	}
	resp, err := hc.Do(req)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) { // HTTP/2 returns ErrUnexpectedEOF
		err = &brokenConnection{err, req.URL.Host}
		if req.Method != http.MethodGet {
			err = Hint(err, "what was asked for may have been done: look before you repeat it")
		}
		return nil, err
	}
	// A server of another protocol may send a greeting before the request is written; net/http reports that
	// differently.
	if err != nil && (strings.Contains(err.Error(), "malformed HTTP") || strings.Contains(err.Error(), "readLoopPeekFail")) {
		return nil, Hint(fmt.Errorf("what listens at %s does not speak HTTP", req.URL.Host), portAdvice)
	}
	if err != nil {
		return nil, t.withAdvice(err)
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	e := &HTTPError{Status: resp.StatusCode}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a truncated body still contains the reason
	if json.Unmarshal(b, e) != nil || e.Text == "" {
		e.Text = cmp.Or(strings.TrimSpace(string(b)), http.StatusText(resp.StatusCode))
		if req.URL.Scheme == "http" && e.Status == http.StatusBadRequest { // a gateway's own errors are JSON
			return nil, Hint(e, "if the port uses TLS, begin the URL with https://, and "+trustAdvice)
		}
	}
	switch {
	case e.Status == http.StatusUnauthorized && noToken != nil:
		return nil, noToken
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden && e.Code != "forbidden":
		return nil, Hint(e, tokenAdvice)
	}
	return nil, e
}

// Get sends a request as Request does, and decodes the JSON answer.
func (t *Target) Get(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := t.Context(ctx)
	defer cancel()
	r, err := t.Request(ctx, method, path, body)
	return decode(r, err, answer)
}

// Call executes an operation whose path has no parameters. The body is the operation's request or some fields of it;
// nil for no body.
func Call[Q, A any](ctx context.Context, t *Target, op api.Of[Q, A], body any) (answer A, err error) {
	err = t.Get(ctx, op.Method(), op.Path(), body, &answer)
	return answer, err
}

// Cluster reads the cluster's status into an api.ClusterStatus or raw JSON. A missing token is an error: without one,
// a gateway reports only whether it is ready.
func (t *Target) Cluster(ctx context.Context, answer any) error {
	if _, err := t.URL(ctx); err != nil {
		return err
	}
	if _, err := t.Token(); err != nil {
		return err
	}
	return t.Get(ctx, api.Cluster.Method(), api.Cluster.Path(), nil, answer)
}

// GetAt sends a request as RequestAt does, and decodes the JSON answer.
func (t *Target) GetAt(ctx context.Context, method, at string, body, answer any) error {
	r, err := t.RequestAt(ctx, method, at, body, nil)
	return decode(r, err, answer)
}

// Values yields the JSON values of a stream. After an error it ends.
func Values[T any](r io.Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for d := json.NewDecoder(r); ; {
			var v T
			err := d.Decode(&v)
			if errors.Is(err, io.EOF) || !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// decode decodes an answer and closes it, unless err is set.
func decode(r io.ReadCloser, err error, answer any) error {
	if err != nil {
		return err
	}
	defer r.Close()
	return json.NewDecoder(r).Decode(answer)
}
