package stopped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// ClusterRecover returns the command `cairn cluster recover`.
func ClusterRecover(s *cli.Streams) *cobra.Command {
	var path string
	var giveUp []uint
	c := &cobra.Command{
		Use: "recover --config FILE --give-up N,N", Short: "Continue with this node alone when a majority is gone for good",
		Args: cobra.NoArgs,
		Long: `When a majority of the voters is gone for good, no leader can be elected and writes fail. This makes one surviving
node, which must be stopped, the only member of the cluster, with everything in its log.

What it may cost: writes that the lost majority acknowledged and this node had not received are gone, and a write this
node had received that was never acknowledged may appear. So stop all survivors, compare "cairn doctor --config" on each,
and recover the one whose log ends at the highest index. It fails while a majority answers on its peer addresses.

Afterwards: start this node; give every other node an EMPTY home before it starts (it joins by itself and is brought up
to date); never start one of the given-up nodes with its old home, because two of those could elect a leader of their own.
If no node survived, "cairn restore" starts from a backup.`,
		RunE: func(c *cobra.Command, _ []string) error { return recoverCluster(s, path, giveUp) },
	}
	c.Flags().StringVarP(&path, "config", "c", "cairn.toml", "configuration of the surviving node")
	c.Flags().UintSliceVar(&giveUp, "give-up", nil, "the ids of all other members: each is named, so that none is given up by mistake")
	return c
}

func recoverCluster(s *cli.Streams, path string, giveUp []uint) error {
	up, err := (&Node{Config: path}).Open(s.Err)
	if err != nil {
		return err
	}
	cfg := up.Node
	members, at, err := home.Members(cfg.Files())
	if err != nil {
		return fileHint(err)
	}
	if len(members) == 0 {
		return cli.Hint(errors.New("this home belongs to no cluster"), "`cairn restore` starts from a backup")
	}
	self := max(cfg.Member.NodeID, 1)
	var others []string
	named := true
	voters, answer := 0, 0
	alive := reachable(members)
	for i, m := range members {
		if m.ID != self {
			others = append(others, fmt.Sprint(m.ID))
			named = named && slices.Contains(giveUp, uint(m.ID))
		}
		if m.Voter {
			voters++
			if m.ID == self || alive[i] {
				answer++
			}
		}
	}
	who := "it is the only member"
	if len(others) > 0 {
		who = fmt.Sprintf("members %s and this one; %d of %d voters answer", strings.Join(others, ", "), answer, voters)
	}
	fmt.Fprintf(s.Err, "node %d: state at index %d, hash %s; %s\n", self, at.Index, at.Sum, who)
	if quorum := voters/2 + 1; voters > 1 && answer >= quorum {
		return cli.Hint(fmt.Errorf("%d of %d voters answer: the majority is not lost", answer, voters),
			"start this node; `cairn cluster remove` removes a node that is gone")
	}
	if len(others) == 0 && len(giveUp) > 0 {
		return cli.Usagef("nothing was changed: there is no other member to give up; run it without --give-up")
	}
	if !named || len(giveUp) != len(others) {
		return cli.Usage(cli.Hint(errors.New("nothing was changed"),
			fmt.Sprintf("read `cairn cluster recover --help`, then name all the other members: --give-up %s", strings.Join(others, ","))))
	}
	at, err = home.Recover(cfg.Files())
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "node %d is the only member now, at index %d\n", self, at.Index)
	fmt.Fprintf(s.Err, "next: start it; then start the others with EMPTY homes\n")
	return nil
}

// reachable reports, for each member, whether its peer address accepts a connection.
func reachable(members []raft.Member) []bool {
	up := make([]bool, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() {
			nc, err := net.DialTimeout("tcp", m.Addr, 2*time.Second)
			if err == nil {
				up[i] = true
				nc.Close()
			}
		})
	}
	wg.Wait()
	return up
}

const recoverHelp = `Start a node again when its log lost records, or has a record that cannot be applied: the node must be stopped. Or import records that the
cluster lost: the node may run.

"records lost": a single node whose log is damaged rebuilds it from what is left in its log, its snapshots and its state. If
acknowledged records are in none of them, it names them and does not start. A newer backup may have them: "cairn restore"
restores it into an empty home.

  cairn recover --config FILE --accept-loss    goes on without the records that the node names; everything else stays

The damaged files are kept next to the new ones, as *.corrupt-*. A member of a cluster never needs this: the others have what it lost.

"cannot apply record N": because of a fault in Cairn, a record of the log cannot be applied, and every node stops at it after each
start. This skips the record. What its entries would have written is lost, acknowledged or not.

  cairn recover --config FILE --skip-record N                  says what the record is and why it cannot be applied; changes nothing
  cairn recover --config FILE --skip-record N --sha256 DIGEST  skips the record that has this digest

A newer version may apply it: try that first. Skip the record on every node before you start any, with the same digest: a node that skips
another record, or skips none, ends with another state, and "cairn cluster status" shows it. The skip is in the audit ("cairn audit"), and in the
file skipped-records of the home, which has to stay. Members that join later need the file until the others have a snapshot after
the record. See deploy/runbooks/poisoned-record.md.

"a node keeps records that the cluster lacks": old copies of homes were started, and the cluster went on without records that it had acknowledged.
The node that had them moved its log aside.

  cairn recover --config FILE --lost              says which records they are; changes nothing
  cairn recover --config FILE --import-lost LOG   imports what they write, under their idempotency keys; safe to run again

Records that conflict with what the cluster has stored since are rejected: they stay in the log, and the command exits with 1. Changes of the cluster itself (databases, tokens, limits) are not imported.`

// Recover returns the command `cairn recover`.
func Recover(s *cli.Streams) *cobra.Command {
	var of Node
	var digest string
	var index uint64
	var accepted, lost bool
	var log string
	c := &cobra.Command{
		Use:   "recover [--config FILE | --home DIR] --accept-loss | --skip-record N | --lost | --import-lost LOG",
		Short: "Start a node again whose log lost records, or holds one that cannot be applied; import records that the cluster lost",
		Args:  cobra.NoArgs,
		Long:  recoverHelp,
		RunE: func(c *cobra.Command, _ []string) error {
			chosen := 0
			for _, yes := range []bool{accepted, index != 0, lost, log != ""} {
				if yes {
					chosen++
				}
			}
			switch {
			case chosen > 1:
				return cli.Usage(errors.New("give one of --accept-loss, --skip-record, --lost and --import-lost"))
			case chosen == 0:
				return cli.Usage(cli.Hint(errors.New("recover needs --accept-loss, --skip-record N, --lost or --import-lost LOG"),
					"a node that does not start says which: \"records lost\", or \"cannot apply record N\"; for a lost majority see `cairn cluster recover --help`"))
			}
			up, err := of.Open(s.Err)
			switch {
			case err != nil:
				return err
			case lost:
				return listLost(s.Out, up.Node.Home)
			case log != "":
				return importLost(c.Context(), s.Out, up.Node, log)
			case accepted:
				return acceptLoss(s.Out, up.Node)
			}
			return skipRecord(s, up.Node, oplog.Index(index), strings.ToLower(digest))
		},
	}
	of.flags(c)
	c.Flags().BoolVar(&accepted, "accept-loss", false, "go on without the records that the node names as lost")
	c.Flags().Uint64Var(&index, "skip-record", 0, "the index of the record at which every node stops")
	c.Flags().BoolVar(&lost, "lost", false, "list the records that this home keeps and the cluster lacks")
	c.Flags().StringVar(&log, "import-lost", "",
		"import the records of a log that was moved aside into the cluster; --lost lists such logs")
	c.Flags().StringVar(&digest, "sha256", "", "digest of the record, as the same command prints it without this flag")
	return c
}

func acceptLoss(w io.Writer, of node.Config) error {
	lost, err := home.AcceptLoss(of.Files())
	if err != nil {
		return fileHint(err)
	}
	if lost == "" {
		fmt.Fprintln(w, "nothing is lost: start the node")
	} else {
		fmt.Fprintf(w, "the node goes on without these records: %s. Start it\n", lost)
	}
	return nil
}

// fileHint adds to an error of a stopped node's files what to do about it.
func fileHint(err error) error {
	if errors.Is(err, home.ErrNone) {
		return cli.Hint(err, "name the node's home with --home, or its configuration with --config")
	}
	return config.KeyHint(err, "stop the node first, if it is still running")
}

func listLost(w io.Writer, dir string) error {
	if err := home.CheckUsed(dir); err != nil {
		return fileHint(err)
	}
	all := home.Lost(dir)
	for _, l := range all {
		fmt.Fprintf(w, "%s  %s\n", l.Log, l.Lost)
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "this home keeps no records that the cluster lacks")
	}
	return nil
}

func importLost(ctx context.Context, w io.Writer, of node.Config, log string) error {
	all := home.Lost(of.Home)
	i := slices.IndexFunc(all, func(l home.LostRecords) bool { return l.Log == log })
	if i < 0 {
		return cli.Hint(fmt.Errorf("%s holds no records that the cluster lacks", log), "`cairn recover --lost` lists the logs that do")
	}
	done, err := node.ImportLost(ctx, of, all[i])
	if err != nil {
		return config.KeyHint(err, "a leader must be reached at one of the members' peer addresses; run the command again")
	}
	fmt.Fprintf(w, "%d entries imported, %d were there already\n", done.Entries, done.Replayed)
	refused := 0
	for _, why := range slices.Sorted(maps.Keys(done.Refused)) {
		refused += done.Refused[why]
		fmt.Fprintf(w, "%d refused: %s\n", done.Refused[why], why)
	}
	for _, name := range slices.Sorted(maps.Keys(done.Left)) {
		fmt.Fprintf(w, "%d not imported: %s\n", done.Left[name], name)
	}
	if refused > 0 {
		return fmt.Errorf("%d entries were refused; their records stay in %s", refused, filepath.Join(of.Home, log))
	}
	return nil
}

func skipRecord(s *cli.Streams, of node.Config, at oplog.Index, digest string) error {
	u, err := home.FindUnapplied(of.Files(), at)
	switch {
	case errors.Is(err, state.ErrLocked):
		return cli.Hint(err, "the node is running: it does not stop at this record, or has not yet; stop it first")
	case errors.Is(err, home.ErrApplies):
		return cli.Hint(err, "nothing is to be skipped: start the node")
	case errors.Is(err, raft.ErrNoRecord):
		return cli.Hint(err, "the node's own log says which record it stops at: \"cannot apply record N\"")
	case err != nil:
		return config.KeyHint(err, "")
	}
	fmt.Fprintf(s.Err, "record %d: %d bytes, sha256 %s\ncannot be applied: %v\n", u.Index, u.Bytes, u.Digest, u.Fault)
	switch digest {
	case "":
		return cli.Hint(errors.New("nothing was changed"),
			fmt.Sprintf("compare the digest on all nodes; then, on each: --skip-record %d --sha256 %s", at, u.Digest))
	case u.Digest.String():
	default:
		return fmt.Errorf("record %d of this node is not the one with digest %s: nothing was changed", at, digest)
	}
	if err := home.SkipRecord(of.Files(), u); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "record %d will be skipped when this node starts\n", at)
	fmt.Fprintf(s.Err, "next: the same on every other node, then start them\n")
	return nil
}
