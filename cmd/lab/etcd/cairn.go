package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// cairnNodes are three `cairn serve` processes, built from this tree.
type cairnNodes struct {
	processes
	addrs     []string
	token     string
	text, dim int
	bare      bool // nothing to index
}

func startCairn(ctx context.Context, dir string, text, dim int, bare bool) (_ *cairnNodes, err error) {
	c := &cairnNodes{text: text, dim: dim, bare: bare}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	bin := filepath.Join(dir, "cairn")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/cairn")
	build.Dir = filepath.Join("..", "..", "..") // with the server's own go.mod
	if err := quiet(build); err != nil {
		return nil, err
	}
	base, err := freeRun(30)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "cluster")
	if err := quiet(exec.CommandContext(ctx, bin, "cluster", "init", "--nodes", "3", "--dir", home, "--port-base",
		strconv.Itoa(base))); err != nil {
		return nil, err
	}
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		return nil, err
	}
	c.token = strings.TrimSpace(string(token))
	for i := range 3 {
		name := fmt.Sprint("node", i+1)
		if err := c.start(filepath.Join(dir, name+".log"), bin, "serve", "--config", filepath.Join(home, name+".toml")); err != nil {
			return nil, err
		}
		c.addrs = append(c.addrs, fmt.Sprint("127.0.0.1:", base+10*i))
	}
	return c, writable(ctx, c)
}

func (c *cairnNodes) name() string { return "cairn" }

func (c *cairnNodes) client(ctx context.Context, who int) (writer, error) {
	conn, err := client.Dial(ctx, client.Config{Addrs: c.addrs, Token: c.token})
	if err != nil {
		return nil, err
	}
	return &cairnWriter{c: conn, who: who, of: c, rng: rand.New(rand.NewPCG(uint64(who), 1))}, nil
}

type cairnWriter struct {
	c   *client.Client
	who int
	of  *cairnNodes
	rng *rand.Rand
}

func (w *cairnWriter) close() error { return w.c.Close() }

func (w *cairnWriter) write(ctx context.Context, k int) error {
	if w.of.bare {
		text := sentence(w.rng, w.who, k, w.of.text+4*w.of.dim)
		m := wire.NewRemember("bench")
		m.Namespace, m.Metadata = "bench", wire.JSON(strconv.Quote(text))
		_, err := w.c.Remember(ctx, m)
		return err
	}
	m := wire.NewRemember(sentence(w.rng, w.who, k, w.of.text))
	m.Namespace = "bench"
	m.Embedding = make([]float32, w.of.dim)
	for i := range m.Embedding {
		m.Embedding[i] = float32(w.rng.NormFloat64())
	}
	_, err := w.c.Remember(ctx, m)
	return err
}

// sentence is n bytes of words, no two alike.
func sentence(rng *rand.Rand, who, k, n int) string {
	b := fmt.Appendf(nil, "writer %d note %d", who, k)
	for len(b) < n {
		b = fmt.Appendf(b, " word%d", rng.IntN(5000))
	}
	return string(b[:n])
}
