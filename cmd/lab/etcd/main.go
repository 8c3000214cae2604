// Command etcd measures three Cairn nodes and three etcd members on one machine, in one run, with the same clients:
// how many durable writes of equal size each acknowledges, and how long one takes.
//
//	apt-get install etcd-server
//	cd cmd/lab/etcd && go run . -clients 1,64 -rounds 5 -for 5s
//
// Rounds alternate between the two, so that what else the machine does falls on both; the table shows medians of the
// rounds and their ratio. Every member is a process of its own with its own directory and syncs what it acknowledges.
// A Cairn write is a memory with a text and a vector, searchable when it is acknowledged; an etcd write is a put of a
// fresh key with a value as long as both. With -bare the same bytes are a memory's metadata, so that there is one word
// to index: what is left is log and state.
//
// This is a module of its own, so that etcd's client does not become a dependency of the server.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// store is one of the two systems: clients connected to it write one value after the other.
type store interface {
	name() string
	client(ctx context.Context, who int) (writer, error)
	close() error
}

type writer interface {
	write(ctx context.Context, k int) error
	close() error
}

// round holds the rate and the latencies that some clients of one store reached in one stretch of time.
type round struct {
	Rate float64 `json:"writes_per_second"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
}

// row compares the medians of all rounds with so many clients.
type row struct {
	Clients int   `json:"clients"`
	Cairn   round `json:"cairn"`
	Etcd    round `json:"etcd"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	clients := flag.String("clients", "1,64", "numbers of clients, one after the other")
	rounds := flag.Int("rounds", 5, "how often each is measured")
	length := flag.Duration("for", 5*time.Second, "how long a round takes")
	text := flag.Int("text", 300, "bytes of a memory's text")
	dim := flag.Int("dim", 64, "dimensions of its vector")
	bare := flag.Bool("bare", false, "send a memory's bytes as metadata, which no index takes")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	counts, err := numbers(*clients)
	if err != nil || *rounds < 1 || *length <= 0 || *text < 32 || *dim < 1 {
		return cmp.Or(err, errors.New("-rounds, -for and -dim must be positive, -text at least 32"))
	}
	dir, err := os.MkdirTemp("", "cairn-etcd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cairn, err := startCairn(ctx, dir, *text, *dim, *bare)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cairn.close()) }()
	etcd, err := startEtcd(ctx, dir, *text+4**dim)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, etcd.close()) }()

	var rows []row
	for _, n := range counts {
		var got [2][]round
		for r := range *rounds {
			for i, s := range []store{cairn, etcd} {
				fmt.Fprintf(os.Stderr, "%d clients, round %d of %d: %s\n", n, r+1, *rounds, s.name())
				one, err := measure(ctx, s, n, *length)
				if err != nil {
					return fmt.Errorf("%s: %w", s.name(), err)
				}
				got[i] = append(got[i], one)
			}
		}
		rows = append(rows, row{Clients: n, Cairn: median(got[0]), Etcd: median(got[1])})
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(rows)
	}
	return show(rows)
}

func show(rows []row) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "clients\tcairn/s\tetcd/s\tratio\tcairn p50 ms\tetcd p50 ms\tratio\tcairn p99 ms\tetcd p99 ms\tratio\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", r.Clients, r.Cairn.Rate, r.Etcd.Rate,
			r.Cairn.Rate/r.Etcd.Rate,
			r.Cairn.P50, r.Etcd.P50, r.Cairn.P50/r.Etcd.P50, r.Cairn.P99, r.Etcd.P99, r.Cairn.P99/r.Etcd.P99)
	}
	return w.Flush()
}

// measure lets n clients write until the time is up. The first write of each, which finds the leader, is not counted.
func measure(ctx context.Context, s store, n int, length time.Duration) (round, error) {
	writers := make([]writer, n)
	took := make([][]float64, n)
	errs := make([]error, n)
	defer func() {
		for _, w := range writers {
			if w != nil {
				w.close()
			}
		}
	}()
	for i := range writers {
		w, err := s.client(ctx, i)
		if err != nil {
			return round{}, err
		}
		writers[i] = w
		if err := w.write(ctx, -1); err != nil {
			return round{}, err
		}
	}
	start := time.Now()
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			for k := 0; time.Since(start) < length; k++ {
				at := time.Now()
				if errs[i] = w.write(ctx, k); errs[i] != nil {
					return
				}
				took[i] = append(took[i], float64(time.Since(at).Microseconds())/1000)
			}
		})
	}
	wg.Wait()
	secs := time.Since(start).Seconds()
	all := slices.Concat(took...)
	if err := errors.Join(errs...); err != nil || len(all) == 0 {
		return round{}, cmp.Or(err, errors.New("nothing was written"))
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[int(math.Ceil(q*float64(len(all))))-1] }
	return round{Rate: float64(len(all)) / secs, P50: at(0.5), P99: at(0.99)}, nil
}

func median(rs []round) round {
	mid := func(of func(round) float64) float64 {
		all := make([]float64, len(rs))
		for i, r := range rs {
			all[i] = of(r)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return round{
		Rate: mid(func(r round) float64 { return r.Rate }),
		P50:  mid(func(r round) float64 { return r.P50 }),
		P99:  mid(func(r round) float64 { return r.P99 }),
	}
}

func numbers(list string) ([]int, error) {
	var out []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-clients %q: numbers from 1, with commas between them", list)
		}
		out = append(out, n)
	}
	return out, nil
}
