package covenant

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/serve"
)

// Config configures a server.
type Config = home.Config

// Server serves the protocol on one node.
type Server struct {
	*home.Home
	large   serve.Large
	httpAt  string
	closers []func() error // close the listeners
}

// Listen opens a home and serves it until Close.
func Listen(cfg Config) (*Server, error) {
	s := &Server{Home: home.New(cfg), large: serve.NewLarge(maxLarge)}
	err := door.CheckOrigins(s.Config.Origins)
	var socket *serve.Socket
	if err == nil {
		socket, err = s.claim()
	}
	if err == nil {
		err = s.OpenFiles()
	}
	if err == nil && s.Config.HTTP != "" {
		err = s.listenHTTP()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Go(s.ResolveOperator)
	s.Accept(socket, "covenant", 0, s.serveConn, nil)
	return s, nil
}

// Socket returns the path of the socket.
func (s *Server) Socket() string { return filepath.Join(s.Config.Home, "sock") }

// HTTP returns the address of the HTTP mirror, or "" without a mirror.
func (s *Server) HTTP() string { return s.httpAt }

// claim creates the home, its directories and the socket. It does not take the socket from a live server.
func (s *Server) claim() (*serve.Socket, error) {
	if err := serve.CheckPath(s.Socket()); err != nil {
		return nil, err
	}
	for _, dir := range []string{"identity", "peers", "a2a"} {
		if err := os.MkdirAll(filepath.Join(s.Config.Home, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(s.Config.Home, 0o700); err != nil {
		return nil, err
	}
	socket, err := serve.Claim(s.Socket(), serve.Answers)
	if err == nil {
		s.closers = append(s.closers, socket.Close)
	}
	return socket, err
}

// closeTimeout bounds how long Close waits for running requests.
const closeTimeout = 2 * time.Second

// Close stops listening, ends the connections, and waits for running requests. It may be called twice.
func (s *Server) Close() (err error) {
	if !s.StopReading() {
		return nil
	}
	for _, end := range s.closers {
		err = errors.Join(err, end())
	}
	if !s.HasOperator() {
		s.Cancel() // requests that wait for the operator would not be answered
	}
	s.Drain(closeTimeout)
	return errors.Join(err, s.CloseFiles())
}
