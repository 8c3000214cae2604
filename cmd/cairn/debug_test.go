package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestDebugBundle: it holds what it should, and no memory, token or secret.
func TestDebugBundle(t *testing.T) {
	t.Parallel()
	_, home := startDev(t)
	const planted = "a phrase that was planted"
	cli(t, "remember", planted, "--home", home)
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "b.tar.gz")
	if _, code := cli(t, "debug", "bundle", "--home", home, "-o", out); code != 0 {
		t.Fatalf("exit %d", code)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		parts[filepath.Base(h.Name)] = string(b)
	}
	for name, want := range map[string]string{"doctor.txt": "fsync", "status.json": "state_hash", "metrics.txt": "cairn_applied_index",
		"files.txt": "state.db", "goroutines.txt": "goroutine 1", "heap.pprof": ""} {
		if got, ok := parts[name]; !ok || !strings.Contains(got, want) || strings.HasPrefix(got, "not available") {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	for name, text := range parts {
		if strings.Contains(text, planted) || strings.Contains(text, strings.TrimSpace(string(token))) {
			t.Errorf("%s gives away what it must not", name)
		}
	}
}

func TestConfigurationsAreRedacted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	for name, text := range map[string]string{
		"plain":        "[cluster]\ncluster_secret = \"hidden1\" # hidden2\nother_cluster_secret=\"hidden3\"\nnode_id = 3\n",
		"inline table": "cluster = { node_id = 3, cluster_secret = \"hidden1\", other_cluster_secret = 'hidden2' }\n",
		"quoted keys":  "[\"cluster\"]\n\"cluster_secret\" = \"hidden1\"\n'other_cluster_secret' = 'hidden2'\nnode_id = 3\n",
		"dotted keys":  "cluster.cluster_secret = \"hidden1\"\ncluster.node_id = 3\n",
		"many lines":   "[cluster]\ncluster_secret = \"\"\"\nhidden1\nhidden2\"\"\"\nother_cluster_secret = '''\nhidden3\n'''\nnode_id = 3\n",
		"other case":   "[Cluster]\nCluster_Secret = \"hidden1\"\nnode_id = 3\n",
		"misspelled":   "[cluster]\nclutser_secret = \"hidden1\"\nnode_id = 3\n[clutser]\nsecret = \"hidden2\"\n[raft]\nx = \"hidden3\"\n",
		"addresses":    "[cluster]\nnode_id = 3\n[embedding]\nurl = \"https://me:hidden1@host/v1?key=hidden2\"\n",
		"a command":    "[cluster]\nnode_id = 3\n[encryption]\nkey_command = \"echo hidden1\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := redacted(path)
			if err != nil || strings.Contains(string(b), "hidden") || !strings.Contains(string(b), "node_id = 3") {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
	if err := os.WriteFile(path, []byte("[cluster\ncluster_secret = \"hidden1\""), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := redacted(path); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("no TOML: %s, %v", b, err)
	}
}

// TestSecretFieldsAreMarked: a field of the configuration whose name says that it is a secret is marked as one.
func TestSecretFieldsAreMarked(t *testing.T) {
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for _, f := range reflect.VisibleFields(typ) {
			if f.Type.Kind() == reflect.Struct {
				look(f.Type)
			}
			name := f.Tag.Get("toml")
			named := strings.HasSuffix(name, "secret") || strings.HasSuffix(name, "token") || strings.HasSuffix(name, "password") || strings.HasSuffix(name, "key")
			if f.Type.Kind() == reflect.String && named && f.Tag.Get("secret") == "" {
				t.Errorf("%s is not marked", name)
			}
		}
	}
	look(reflect.TypeFor[file]())
}
