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

// HTTPClient is an HTTP client that trusts the authorities that the flags name, and follows no redirect: Request does,
// with the token.
func (t *Target) HTTPClient() (*http.Client, error) {
	secured, err := t.Secure()
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

// An HTTPError is an error that the gateway answered with.
type HTTPError struct {
	Status     int
	Text       string `json:"error"`
	Code       string `json:"code"`
	LeaderAddr string `json:"leader_addr"`

	Line     int    `json:"line"` // at which an import ended, 0 for another error; what follows are its reason and what it stored
	Reason   string `json:"reason"`
	Memories int    `json:"memories"`
	Edges    int    `json:"edges"`
}

func (e *HTTPError) Error() string { return e.Text }

// Status returns the status of a gateway's rejection; 0 for another error.
func Status(err error) int {
	if e, ok := errors.AsType[*HTTPError](err); ok {
		return e.Status
	}
	return 0
}

// NDJSON is a body of JSON lines.
type NDJSON []byte

// Request makes one exchange with the gateway, and a second one with the leader when the first names it. Where the
// gateway knows no leader, its node may be cut off or removed: the other endpoints are tried then. The answer's body is
// the caller's to close.
func (t *Target) Request(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	base, err := t.URL(ctx)
	if err != nil {
		return nil, err
	}
	r, err := t.leading(ctx, method, base, path, body)
	for i := 0; i < len(t.Endpoints) && len(t.Endpoints) > 1 && leaderless(err); i++ {
		one := *t
		one.Endpoints, one.gateway, one.wires = t.Endpoints[i:i+1], "", nil
		at, gone := one.URL(ctx)
		if gone != nil || at == base {
			continue
		}
		if other, failed := t.leading(ctx, method, at, path, body); failed == nil || sent(failed) {
			r, err = other, failed
		}
	}
	if leaderless(err) && !strings.Contains(err.Error(), "quorum") { // whose members are named
		err = Hint(err, "an election takes a moment: run the command again; if it stays so, `cairn status` shows which nodes are missing")
	}
	return r, err
}

// leading makes one exchange with a gateway, and a second one with the leader when the first names it.
func (t *Target) leading(ctx context.Context, method, base, path string, body any) (io.ReadCloser, error) {
	r, err := t.Once(ctx, method, base+path, body, nil)
	if e, ok := errors.AsType[*HTTPError](err); ok && e.LeaderAddr != "" && e.LeaderAddr != base {
		return t.Once(ctx, method, e.LeaderAddr+path, body, nil)
	}
	return r, err
}

// leaderless reports whether a gateway did nothing because it knows no leader.
func leaderless(err error) bool {
	e, ok := errors.AsType[*HTTPError](err)
	return ok && e.Code == "not_leader" && e.LeaderAddr == ""
}

// sent reports whether a request that failed reached a gateway, which may have carried it out.
func sent(err error) bool {
	_, broken := errors.AsType[*brokenOff](err)
	return broken || Status(err) != 0
}

// Once makes one exchange, with the gateway at an address, with its own headers. The answer's body is the caller's
// to close.
func (t *Target) Once(ctx context.Context, method, at string, body any, headers http.Header) (io.ReadCloser, error) {
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

// A brokenOff reports that the connection ended before the answer came.
type brokenOff struct {
	error
	host string
}

func (b *brokenOff) Error() string { return b.host + " ended the connection before it answered" }
func (b *brokenOff) Unwrap() error { return b.error }

// exchange sends a request with the token and makes an error of a rejection.
func (t *Target) exchange(req *http.Request) (io.ReadCloser, error) {
	token, noToken := t.Token() // health and metrics need none
	if noToken == nil {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	hc, err := t.HTTPClient()
	if err != nil {
		return nil, err
	}
	resp, err := hc.Do(req)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) { // HTTP/2 says the second
		err = &brokenOff{err, req.URL.Host}
		if req.Method != http.MethodGet {
			err = Hint(err, "what was asked for may have been done: look before you repeat it")
		}
		return nil, err
	}
	// A server that greets may do so before the request is written; the standard library has its own error for that.
	if err != nil && (strings.Contains(err.Error(), "malformed HTTP") || strings.Contains(err.Error(), "readLoopPeekFail")) {
		return nil, Hint(fmt.Errorf("what listens at %s does not speak HTTP", req.URL.Host), portAdvice)
	}
	if err != nil {
		return nil, t.advised(err)
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	e := &HTTPError{Status: resp.StatusCode}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a body that breaks off still tells the reason
	if json.Unmarshal(b, e) != nil || e.Text == "" {
		e.Text = cmp.Or(strings.TrimSpace(string(b)), http.StatusText(resp.StatusCode))
		if req.URL.Scheme == "http" && e.Status == http.StatusBadRequest { // no gateway says this without JSON
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

// Get reads a JSON answer.
func (t *Target) Get(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := t.Context(ctx)
	defer cancel()
	r, err := t.Request(ctx, method, path, body)
	return decode(r, err, answer)
}

// Call asks the gateway for an operation whose path has no parameters. The body is a request, or what a request has of
// it; nil for none.
func Call[Q, A any](ctx context.Context, t *Target, op api.Of[Q, A], body any) (answer A, err error) {
	err = t.Get(ctx, op.Method(), op.Path(), body, &answer)
	return answer, err
}

// Cluster reads the cluster's status, into an api.ClusterStatus or as JSON. A gateway tells a stranger only whether it
// is ready, so a missing token is an error.
func (t *Target) Cluster(ctx context.Context, answer any) error {
	if _, err := t.URL(ctx); err != nil {
		return err
	}
	if _, err := t.Token(); err != nil {
		return err
	}
	return t.Get(ctx, api.Cluster.Method(), api.Cluster.Path(), nil, answer)
}

// GetOnce reads a JSON answer of the gateway at an address, which is asked once.
func (t *Target) GetOnce(ctx context.Context, method, at string, body, answer any) error {
	r, err := t.Once(ctx, method, at, body, nil)
	return decode(r, err, answer)
}

// Values are the JSON values of a text, one after the other. An error is the last that is yielded.
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

// decode reads an answer, if there is one.
func decode(r io.ReadCloser, err error, answer any) error {
	if err != nil {
		return err
	}
	defer r.Close()
	return json.NewDecoder(r).Decode(answer)
}
