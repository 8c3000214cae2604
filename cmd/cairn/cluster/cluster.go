// Package cluster contains the verbs that create a cluster and change its members, and its certificate authority.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/status"
	"github.com/cairndb/cairn/cmd/cairn/stopped"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Command returns the command `cairn cluster`.
func Command(s *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "cluster",
		Short: "A cluster: init, secret, cert, status, keys, join, leave, remove, promote, transfer, handover, recover"}
	group.AddCommand(clusterInit(s), clusterSecret(s), clusterCert(s), stopped.ClusterRecover(s), status.Command(s), clusterKeys(s))
	var t cli.Target
	var addr, role string
	var id uint32
	var force bool
	change := func(verb, short, node string) *cobra.Command {
		needsID := verb != "leave" && verb != "transfer"
		c := &cobra.Command{Use: verb, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			if needsID && id == 0 {
				return cli.Usagef("cluster %s needs --node-id", verb)
			}
			if _, _, err := net.SplitHostPort(addr); verb == "join" && err != nil {
				return cli.Usagef("cluster join needs --peer-addr, the host:port of the node's peer port, not %q", addr)
			}
			var out map[string]string
			if err := t.Get(c.Context(), "POST", "/v1/cluster/"+verb,
				map[string]any{"node_id": id, "addr": addr, "role": role, "force": force}, &out); err != nil {
				return err
			}
			return s.PrintResult(t.JSON, out, "%s", out["message"])
		}}
		t.Flags(c)
		c.Flags().Uint32Var(&id, "node-id", 0, node)
		return c
	}
	join := change("join", "Add a node; it becomes a voter when it has caught up", "id of the node")
	join.Flags().StringVar(&addr, "peer-addr", "", "its peer address, host:port")
	join.Flags().StringVar(&role, "role", "voter", "voter or read_replica")
	leave := change("leave", "Remove the node that receives the command from its cluster",
		"id of the node that should leave: the command fails if another node receives it")
	remove := change("remove", "Remove a node that is gone for good", "id of the node")
	promote := change("promote", "Make a replica a voter", "id of the node")
	for _, c := range []*cobra.Command{join, leave, remove, promote} {
		even := "go on even if too few voters would answer afterwards: the cluster then accepts no writes and no other change until enough are back"
		if c == join {
			even += "; or if the node at --peer-addr cannot prove that it is --node-id, only when the home of that node is gone for good"
		}
		c.Flags().BoolVar(&force, "force", false, even)
	}
	group.AddCommand(join, leave, remove, promote,
		change("transfer", "Transfer leadership, to --node-id if given", "id of the node that should lead"), handover(s))
	return group
}

type initFlags struct {
	config.NodeFile         // configuration of one node
	nodes, base             int
	output, dir, secretFile string
	tls                     bool
}

func clusterInit(s *cli.Streams) *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use: "init", Short: "Write the configuration of a node, or with --nodes of a whole cluster on this machine", Args: cobra.NoArgs,
		Example: "  cairn cluster init --node-id 1 --peers 10.0.0.2:7440,10.0.0.3:7440 --advertise 10.0.0.1:7440 --tls\n" +
			"  cairn cluster init --nodes 3 --dir ./cluster --port-base 7500",
		RunE: func(c *cobra.Command, _ []string) error { return initCluster(s, f) },
	}
	fl := c.Flags()
	fl.IntVar(&f.NodeID, "node-id", 0, "this node's number")
	fl.StringVarP(&f.output, "output", "o", "./cairn.toml", "file to write the configuration to")
	fl.StringVar(&f.DataDir, "data-dir", "./data", "data directory")
	fl.IntVar(&f.WirePort, "wire-port", 7437, "wire port")
	fl.IntVar(&f.HTTPPort, "http-port", 7438, "gateway port")
	fl.IntVar(&f.ClusterPort, "cluster-port", 7440, "peer port")
	fl.StringSliceVar(&f.Peers, "peers", nil, "the other members' peer addresses")
	fl.StringVar(&f.Advertise, "advertise", "", "the address peers dial; 127.0.0.1 and the peer port by default")
	fl.StringVar(&f.Secret, "secret", "",
		"cluster secret; a new one is made when it is empty; other users of this machine can see it: prefer --secret-file")
	fl.StringVar(&f.secretFile, "secret-file", "", "file with the cluster secret")
	fl.BoolVar(&f.tls, "tls", false,
		"make certificates for the nodes, and an authority in tls/ next to the configuration unless there is one")
	fl.BoolVar(&f.InsecurePeers, "insecure-peers", false,
		"let members on other machines talk in plain text, without certificates; only on a network that nobody else reaches")
	fl.IntVar(&f.nodes, "nodes", 0, "write this many configurations for one machine")
	fl.StringVar(&f.dir, "dir", "./cluster", "with --nodes: directory to write them to")
	fl.IntVar(&f.base, "port-base", 7500, "with --nodes: node N uses the ten ports from here + 10·(N−1)")
	return c
}

func clusterSecret(s *cli.Streams) *cobra.Command {
	return &cobra.Command{Use: "secret", Short: "Print a new cluster secret", Args: cobra.NoArgs,
		Example: "  (umask 077; cairn cluster secret > /etc/cairn/secret)      # and on every member: cluster_secret_file = \"/etc/cairn/secret\"",
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(s.Out, home.NewSecret())
			return nil
		}}
}

func initCluster(s *cli.Streams, f initFlags) (err error) {
	if f.Secret, err = config.ReadSecret(f.Secret, f.secretFile, "--secret-file"); err != nil {
		return err
	}
	if f.nodes < 0 || f.NodeID < 0 {
		return cli.Usagef("--nodes and --node-id want a number above 0")
	}
	if most := 65536 - 10*f.nodes; f.nodes > 0 && (f.base < 1 || f.base > most) {
		return cli.Usagef("--port-base: want a number from 1 to %d for %d nodes of ten ports each, got %d", most, f.nodes, f.base)
	}
	made := f.Secret == ""
	f.Secret = cmp.Or(f.Secret, home.NewSecret())
	dir := f.dir
	if f.nodes == 0 {
		dir = filepath.Dir(f.output)
	}
	var certify func(*config.NodeFile) error
	if f.tls {
		certify = func(n *config.NodeFile) error { return Certify(dir, n) }
	}
	if err := (node.Config{Home: f.DataDir, Member: node.Member{Secret: f.Secret}}).Validate(); err != nil {
		return cli.Usage(err)
	}
	if f.nodes == 0 {
		if f.NodeID == 0 {
			return cli.Usagef("cluster init needs --node-id, or --nodes for a whole cluster")
		}
		f.Advertise = cmp.Or(f.Advertise, config.Loopback(f.ClusterPort))
		switch {
		case f.tls || f.InsecurePeers:
		case f.OnLoopback():
			f.Bind = "127.0.0.1"
		default:
			return cli.Usagef("members on other machines need certificates: add --tls, or --insecure-peers if nobody else is on their network")
		}
		if f.DataDir, err = filepath.Abs(f.DataDir); err != nil { // a relative path would mean another, empty home if the node starts elsewhere
			return err
		}
		if err := config.Write(f.output, f.NodeFile, certify); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "config written to %s\n", f.output)
		if made {
			fmt.Fprintf(s.Out, "cluster_secret: %s\n", f.Secret)
		}
		fmt.Fprintf(s.Err, "next: give the other nodes the same secret, then run `cairn serve --config %s` on each; an admin token is in %s from then on\n",
			private.Quote(f.output), filepath.Join(f.DataDir, "token"))
		return nil
	}
	files, err := config.WriteLocalCluster(f.dir, f.nodes, f.base, f.Secret, certify)
	if err != nil {
		return err
	}
	return shareToken(s, f.dir, files)
}

// shareToken writes one token into dir and into the homes of its nodes on this machine.
func shareToken(s *cli.Streams, dir string, files []string) error {
	token := filepath.Join(dir, "token")
	text := []byte(access.NewToken() + "\n")
	if err := syncwriter.Replace(token, text, 0o600); err != nil {
		return err
	}
	for _, file := range files { // every node registers its home's token with the cluster
		data := strings.TrimSuffix(file, ".toml")
		if err := private.MakeDir(data); err != nil {
			return err
		}
		if err := syncwriter.Replace(filepath.Join(data, "token"), text, 0o600); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Out, "configs written to %s\ntoken: %s\n", strings.Join(files, " "), token)
	return nil
}

// Certify issues a node's certificate from the authority in dir/tls, and sets the path in its configuration.
func Certify(dir string, n *config.NodeFile) error {
	abs, err := filepath.Abs(filepath.Join(dir, "tls"))
	if err != nil {
		return err
	}
	au, err := OpenAuthority(abs)
	if err != nil {
		return err
	}
	hosts := []string{"127.0.0.1", "localhost"}
	if h, _, err := net.SplitHostPort(n.Advertise); err == nil && !slices.Contains(hosts, h) {
		hosts = append(hosts, h)
	}
	n.TLS = abs
	_, err = au.Issue(uint32(n.NodeID), hosts, time.Now().Add(-time.Hour), time.Now().AddDate(0, 0, nodeDays))
	return err
}

// handover returns the command `cairn cluster handover`. A supervisor runs it before it stops a node, so that no
// client waits for an election.
func handover(s *cli.Streams) *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: "handover",
		Short: "Move leadership away from this node and wait until another node leads; for hooks that run before the node stops",
		Args:  cobra.NoArgs,
		Long: `If the node that receives the command leads, it hands leadership over, and the command waits until another node leads. If it does not
lead, or is the only voter, nothing happens. Exits with 1 when no other node leads in time: the node may be stopped all the same, and
the others elect a leader.`,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := t.Context(c.Context())
			defer cancel()
			said, err := handOver(ctx, &t)
			if err != nil {
				return err
			}
			return s.PrintResult(t.JSON, map[string]string{"message": said}, "%s", said)
		}}
	t.Flags(c)
	return c
}

func handOver(ctx context.Context, t *cli.Target) (string, error) {
	asked := false
	var refused error // error of the last attempt; a member that lagged may have caught up at the next
	var s api.ClusterStatus
	for {
		if err := t.Cluster(ctx, &s); err != nil && ctx.Err() == nil {
			return "", err
		}
		switch {
		case cli.Voters(&s, false) == 1:
			return "there is no other voter to hand over to", nil
		case s.Role != "Leader" && s.LeaderID != nil && *s.LeaderID != s.NodeID:
			return fmt.Sprintf("node %d leads", *s.LeaderID), nil
		case s.Role == "Leader" && !asked:
			var out map[string]any
			refused = t.Get(ctx, "POST", "/v1/cluster/transfer", map[string]any{}, &out)
			if cli.Status(refused) == http.StatusConflict {
				break
			}
			if refused != nil {
				return "", refused
			}
			asked = true
		case s.Role != "Leader":
			asked = false // ask again if the node becomes leader again
		}
		if pause.For(ctx, 50*time.Millisecond) != nil {
			err := errors.New("no other node leads yet")
			if _, why, ok := strings.Cut(s.Condition, ": "); ok {
				err = fmt.Errorf("%w: %s", err, why)
			}
			if refused != nil {
				err = fmt.Errorf("%w (%w)", err, refused)
			}
			return "", cli.Hint(err, "check that a majority of the nodes is running; this node may be stopped all the same")
		}
	}
}
