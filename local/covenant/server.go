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

// Config says what a server is.
type Config = home.Config

// Server is the surface of one node.
type Server struct {
	*home.Home
	large  serve.Large
	httpAt string
	ends   []func() error // of the listeners: called first, before the connections end
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
	s.Accept(socket, "covenant", 0, s.converse, nil)
	return s, nil
}

// Socket returns the path of the socket that the server listens on.
func (s *Server) Socket() string { return filepath.Join(s.Config.Home, "sock") }

// HTTP returns the mirror's address; empty without a mirror.
func (s *Server) HTTP() string { return s.httpAt }

// claim makes the home, its directories and the socket in it. A live owner's is left to it.
func (s *Server) claim() (*serve.Socket, error) {
	if err := serve.Fits(s.Socket()); err != nil {
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
		s.ends = append(s.ends, socket.Close)
	}
	return socket, err
}

// closeTimeout limits the time for running requests when the server stops.
const closeTimeout = 2 * time.Second

// Close stops listening, ends the connections, and waits for the requests at work. It may be called twice.
func (s *Server) Close() (err error) {
	if !s.Shut() {
		return nil
	}
	for _, end := range s.ends {
		err = errors.Join(err, end())
	}
	if !s.HasOperator() {
		s.Cut() // the operator will not be known any more
	}
	s.Drain(closeTimeout)
	return errors.Join(err, s.CloseFiles())
}
