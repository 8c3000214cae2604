// Package modelserver sends requests to a server that runs a model: JSON over HTTP, with a bound on the answer. Its
// errors hold neither the server's address nor any text, because everyone who can read a node's status sees them.
package modelserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrRefused is returned when a working server rejects a text: trying again cannot help.
var ErrRefused = errors.New("texts refused")

// A Server may be used from any number of goroutines.
type Server struct {
	name, url, key string
	client         *http.Client
}

// New returns the server at an http or https address. Errors call it by name; key is its bearer token, empty without
// one.
func New(name, address, key string, timeout time.Duration) (*Server, *url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, fmt.Errorf("%s: url %q: want an http or https address", name, address)
	}
	return &Server{name, address, key, &http.Client{Timeout: timeout}}, u, nil
}

// Post sends a question and decodes the answer, at most maxBytes long, into reply. retry reports whether the same
// request may succeed later.
func (s *Server) Post(ctx context.Context, question, reply any, maxBytes int64) (retry bool, err error) {
	body, err := json.Marshal(question)
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return ctx.Err() == nil, s.unreachable(err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return false, fmt.Errorf("%w: %s: %s", ErrRefused, s.name, res.Status)
	default:
		return res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500, fmt.Errorf("%s: %s", s.name, res.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	if err != nil {
		return ctx.Err() == nil, s.unreachable(err)
	}
	if int64(len(raw)) > maxBytes {
		return false, fmt.Errorf("%s: an answer of more than %d bytes", s.name, maxBytes)
	}
	if err := json.Unmarshal(raw, reply); err != nil {
		return false, fmt.Errorf("%s: the answer has another format", s.name)
	}
	return false, nil
}

// Cut returns the part of a text to send, at most maxBytes. It is never empty: servers reject empty texts.
func Cut(text string, maxBytes int) string {
	return cmp.Or(strings.ToValidUTF8(text[:min(len(text), maxBytes)], ""), " ")
}

// unreachable returns the reason why there was no answer.
func (s *Server) unreachable(err error) error {
	var dial *net.OpError
	var name *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", s.name, context.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", s.name, context.Canceled)
	case errors.As(err, &name):
		return fmt.Errorf("%s: unknown host name", s.name)
	case errors.As(err, &dial):
		return fmt.Errorf("%s: %w", s.name, dial.Err)
	}
	return fmt.Errorf("%s: the connection ended", s.name)
}
