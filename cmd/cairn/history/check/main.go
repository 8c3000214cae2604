// Command check judges a history that a soak has left, and exits with 1 when something is wrong with it.
package main

import (
	"fmt"
	"os"

	"github.com/cairndb/cairn/cmd/cairn/history"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check FILE")
		os.Exit(2)
	}
	v, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(v.Details())
	fmt.Println(v)
	if !v.Pass() {
		os.Exit(1)
	}
}

func check(path string) (*history.Verdict, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.Check(f)
}
