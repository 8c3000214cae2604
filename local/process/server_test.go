package process_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/local/process"
	"github.com/cairndb/cairn/local/process/conformance"
)

const token = "s3cret token"

func listen(t testing.TB) (socket string, s *process.Server) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	s, err := process.Listen(process.Config{Socket: socket, Token: token, SpillDir: t.TempDir(), AllowShutdown: true,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return socket, s
}

func TestVectors(t *testing.T) {
	conformance.Run(t, token, func(t *testing.T) string {
		socket, s := listen(t)
		go func() { // whoever runs a server closes it when it is told to stop
			<-s.Done()
			s.Close()
		}()
		return socket
	})
}
