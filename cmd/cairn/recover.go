package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/raft"
)

func (a *app) clusterRecover() *cobra.Command {
	var path string
	var giveUp []uint
	c := &cobra.Command{
		Use: "recover --config FILE --give-up N,N", Short: "Continue with this node alone when a majority is gone for good", Args: cobra.NoArgs,
		Long: `When a majority of the voters is gone for good, no leader can be elected and no write is taken. This makes one surviving
node, which must be stopped, the only member of the cluster, with everything in its log.

What it may cost: writes that the lost majority acknowledged and this node had not received are gone, and a write this
node had received that was never acknowledged may appear. So stop all survivors, compare "cairn doctor --config" on each,
and recover the one whose log ends at the highest index. It refuses while a majority answers on its peer addresses.

Afterwards: start this node; give every other node an EMPTY home before it starts (it joins by itself and is brought up
to date); never start one of the given-up nodes with its old home, for two of those could elect a leader of their own.
If no node survived, "cairn restore" starts from a backup.`,
		RunE: func(c *cobra.Command, _ []string) error { return a.recoverCluster(path, giveUp) },
	}
	c.Flags().StringVarP(&path, "config", "c", "cairn.toml", "configuration of the surviving node")
	c.Flags().UintSliceVar(&giveUp, "give-up", nil, "the ids of all other members: each is named, so that none is given up by mistake")
	return c
}

func (a *app) recoverCluster(path string, giveUp []uint) error {
	up, err := (&stopped{config: path}).open(a)
	if err != nil {
		return err
	}
	cfg := up.Node
	members, at, err := home.Members(cfg.Files())
	if err != nil {
		return config.KeyHint(err, "stop the node first, if it is still running")
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
	fmt.Fprintf(a.Err, "node %d: state at index %d, hash %s; members %s and this one; %d of %d voters answer\n",
		self, at.Index, at.Sum, strings.Join(others, ", "), answer, voters)
	if quorum := voters/2 + 1; voters > 1 && answer >= quorum {
		return cli.Hint(fmt.Errorf("%d of %d voters answer: the majority is not lost", answer, voters), "start this node; `cairn cluster remove` takes out a node that is gone")
	}
	if !named || len(giveUp) != len(others) {
		return cli.Usage(cli.Hint(errors.New("nothing was changed"),
			fmt.Sprintf("read `cairn cluster recover --help`, then name all the other members: --give-up %s", strings.Join(others, ","))))

	}
	at, err = home.Recover(cfg.Files())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "node %d is the only member now, at index %d\n", self, at.Index)
	fmt.Fprintf(a.Err, "next: start it; then start the others with EMPTY homes\n")
	return nil
}

// reachable says which members' peer addresses take a connection.
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
