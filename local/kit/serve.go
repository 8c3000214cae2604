package kit

import (
	"log/slog"
	"net"

	"github.com/cairndb/cairn/wire/accept"
)

// Serve accepts connections until the listener is closed, and calls take with each, which must not block.
func Serve(ln net.Listener, surface string, log *slog.Logger, take func(net.Conn)) {
	for p := accept.Patiently(ln, surface, log); ; {
		c, err := p.Accept()
		if err != nil {
			return
		}
		take(c)
	}
}
