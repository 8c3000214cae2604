package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/home"
)

const deployDir = "../../deploy"

func readDeploy(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(deployDir, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDeployYAML checks that every YAML document parses, and that nodes accept the configurations inside.
func TestDeployYAML(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(deployDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		seen++
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for dec := yaml.NewDecoder(f); ; {
			var doc map[string]any
			if err := dec.Decode(&doc); err != nil {
				if err.Error() != "EOF" {
					t.Errorf("%s: %v", path, err)
				}
				return nil
			}
			checkPod(t, doc)
			if data, ok := doc["data"].(map[string]any); ok && doc["kind"] == "ConfigMap" {
				text, _ := data["cairn.toml"].(string)
				for i, want := range []uint32{1, 2, 3, 4} {
					checkPodConfig(t, text, []string{"cairn-0", "cairn-1", "cairn-2", "cairn-3"}[i], want)
				}
			}
		}
	})
	if err != nil || seen < 4 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// checkPod checks a pod against the binary: the command of its hook, and the paths of its probes.
func checkPod(t *testing.T, doc map[string]any) {
	t.Helper()
	if doc["kind"] != "StatefulSet" {
		return
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var pod struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args      []string
						Lifecycle struct {
							PreStop struct{ Exec struct{ Command []string } }
						}
						LivenessProbe  struct{ HTTPGet struct{ Path string } }
						ReadinessProbe struct{ HTTPGet struct{ Path string } }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &pod); err != nil || len(pod.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("the pod: %+v, %v", pod, err)
	}
	c, root := pod.Spec.Template.Spec.Containers[0], root(&cli.Streams{})
	checkCommand(t, root, "kubernetes", c.Args)
	hook := c.Lifecycle.PreStop.Exec.Command
	if len(hook) < 3 || hook[0] != "/cairn" || !slices.Contains(hook, "handover") {
		t.Fatalf("before it stops a pod runs %q", hook)
	}
	checkCommand(t, root, "kubernetes", hook[1:])
	if c.LivenessProbe.HTTPGet.Path != "/v1/health" || c.ReadinessProbe.HTTPGet.Path != "/v1/health/ready" {
		t.Errorf("a pod is asked whether it lives at %s and is ready at %s", c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path)
	}
}

func checkPodConfig(t *testing.T, text, host string, id uint32) {
	t.Helper()
	f, unknown, err := config.Parse([]byte(text))
	if err != nil || len(unknown) > 0 {
		t.Fatalf("configuration of the pods: %v, unknown %v", err, unknown)
	}
	if err := f.FromHostname(host); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(f.Local.Disable, "string") {
		t.Errorf("pod %s serves %+v", host, f.Local)
	}
	f.Cluster.SecretFile = ""
	c, err := f.Node()
	peers := 2
	if id > 3 {
		peers = 3 // a later pod lists the first three
	}
	if err != nil || c.Member.NodeID != id || len(c.Member.Peers) != peers || c.Addresses.Advertise != host+".cairn-peers:7440" {
		t.Errorf("pod %s is %+v, %v", host, c, err)
	}
	cert := fmt.Sprintf("/etc/cairn-tls/node%d.crt", id)
	if c.TLS.Clients.Cert != cert || c.TLS.Peers.Cert != cert || c.TLS.Clients.Key != strings.Replace(cert, ".crt", ".key", 1) {
		t.Errorf("pod %s shows %+v", host, c.TLS)
	}
}

func TestComposeConfigurations(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(home.NewSecret()), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(k string) string { return map[string]string{"CAIRN_CLUSTER_CLUSTER_SECRET_FILE": secret}[k] }
	for i, name := range []string{"cairn1", "cairn2", "cairn3"} {
		up, err := config.Load(filepath.Join(deployDir, "compose", name+".toml"), true, func(*config.File) {}, env,
			slog.New(slog.DiscardHandler))
		if err != nil || up.Node.Member.NodeID != uint32(i+1) || len(up.Node.Member.Peers) != 2 ||
			up.Node.Addresses.Advertise != name+":7440" {
			t.Errorf("%s: %+v, %v", name, up.Node, err)
		}
		if !slices.Contains(up.Local.Disable, "string") { // its files would be in the user's home directory, which containers lack
			t.Errorf("%s serves %+v", name, up.Local)
		}
	}
}

// TestEveryMetricNamedExists checks that dashboards and alerts use only metrics that nodes report.
func TestEveryMetricNamedExists(t *testing.T) {
	known := map[string]bool{"up": true}
	for _, m := range engine.MetricTable {
		known[m.Name] = true
		if m.Kind == "histogram" {
			known[m.Name+"_bucket"], known[m.Name+"_sum"], known[m.Name+"_count"] = true, true, true
		}
	}
	names := regexp.MustCompile(`\b(?:cairn|yantrikdb)_[a-z_]+\b`)
	dashboard := readDeploy(t, "grafana/dashboard.json")
	if !json.Valid([]byte(dashboard)) {
		t.Error("the dashboard is not JSON")
	}
	used := map[string]bool{}
	for _, text := range []string{dashboard, readDeploy(t, "grafana/alerts.yml")} {
		for _, n := range names.FindAllString(text, -1) {
			used[n] = true
		}
	}
	if len(used) < 10 {
		t.Errorf("only %d metrics are used", len(used))
	}
	for _, n := range slices.Sorted(maps.Keys(used)) {
		if !known[n] {
			t.Errorf("no node tells %s", n)
		}
	}
}

// TestTheUnitAndAlerts checks that the systemd unit runs an existing command, and that alerts name existing runbooks.
func TestTheUnitAndAlerts(t *testing.T) {
	commands := regexp.MustCompile(`/usr/local/bin/cairn ([^\n]+)`).FindAllStringSubmatch(readDeploy(t, "systemd/cairn.service"), -1)
	if len(commands) == 0 || !strings.Contains(readDeploy(t, "systemd/cairn.service"), "\nEnvironment=HOME=/var/lib/cairn\n") {
		t.Error("the unit runs nothing, or in a home that it cannot enter")
	}
	for _, m := range commands {
		checkCommand(t, root(&cli.Streams{}), "systemd", strings.Fields(m[1]))
	}
	index := readDeploy(t, "runbooks/README.md")
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(readDeploy(t, "grafana/alerts.yml"), -1) {
		if !strings.Contains(index, m[1]) {
			t.Errorf("the index of runbooks lacks %s", m[1])
		}
	}
	files, err := os.ReadDir(filepath.Join(deployDir, "runbooks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() != "README.md" && !strings.Contains(index, "("+f.Name()) {
			t.Errorf("the index of runbooks lacks %s", f.Name())
		}
	}
	for _, m := range regexp.MustCompile(`runbook: ([a-z-]+\.md)`).FindAllStringSubmatch(readDeploy(t, "grafana/alerts.yml"), -1) {
		if _, err := os.Stat(filepath.Join(deployDir, "runbooks", m[1])); err != nil {
			t.Error(err)
		}
	}
}

func checkCommand(t *testing.T, root *cobra.Command, where string, argv []string) {
	t.Helper()
	c, _, err := root.Find(argv)
	if err != nil || c == root {
		t.Errorf("%s: no command cairn %s", where, strings.Join(argv, " "))
		return
	}
	for _, a := range argv {
		flag, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if strings.HasPrefix(a, "--") && flag != "help" && c.Flags().Lookup(flag) == nil {
			t.Errorf("%s: cairn %s has no --%s", where, c.CommandPath(), flag)
		}
	}
}
