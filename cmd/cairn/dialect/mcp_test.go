package dialect

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestANodeThatIsAwayIsCalledThat: an unreachable node is reported as such, also if it ends during a request, which
// the SDK reports as a rejection.
func TestANodeThatIsAwayIsCalledThat(t *testing.T) {
	rejected := &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}
	for _, cut := range []error{&url.Error{Op: "Post", URL: "http://127.0.0.1/mcp", Err: io.EOF}, io.ErrUnexpectedEOF} {
		_, err := translateError(0, fmt.Errorf("calling: %w: %w", rejected, cut))
		var said *jsonrpc.Error
		if !errors.As(err, &said) || said.Code != codeUnreachable {
			t.Errorf("%v: %v", cut, err)
		}
	}
	if _, err := translateError(0, fmt.Errorf("calling: %w", rejected)); !errors.Is(err, rejected) {
		t.Errorf("an answer of the node: %v", err)
	}
}
