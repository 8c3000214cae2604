package sift

import (
	"os/exec"
	"testing"
)

// TestPythonClient runs a client that was written from the text of the protocol only.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: ", err)
	}
	d := start(t, nil)
	out, err := exec.CommandContext(t.Context(), python, "testdata/client.py", d.socket).CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Fatalf("%v\n%s", err, out)
	}
}
