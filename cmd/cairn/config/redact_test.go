package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

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
			b, err := Redacted(path)
			if err != nil || strings.Contains(string(b), "hidden") || !strings.Contains(string(b), "node_id = 3") {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
	if err := os.WriteFile(path, []byte("[cluster\ncluster_secret = \"hidden1\""), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := Redacted(path); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("no TOML: %s, %v", b, err)
	}
}

// TestSecretFieldsAreMarked: configuration fields with a secret in their name have the tag secret.
func TestSecretFieldsAreMarked(t *testing.T) {
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for _, f := range reflect.VisibleFields(typ) {
			if f.Type.Kind() == reflect.Struct {
				look(f.Type)
			}
			name := f.Tag.Get("toml")
			named := strings.HasSuffix(name, "secret") || strings.HasSuffix(name, "token") || strings.HasSuffix(name, "password") ||
				strings.HasSuffix(name, "key")
			if f.Type.Kind() == reflect.String && named && f.Tag.Get("secret") == "" {
				t.Errorf("%s is not marked", name)
			}
		}
	}
	look(reflect.TypeFor[File]())
}
