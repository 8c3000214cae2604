package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Limits of the memory commands.
const (
	defaultK      = 8
	maxK          = 100
	defaultBudget = 4000
	maxPreview    = 240
	maxText       = 1 << 20
	maxScan       = 10_000 // rows that one list reads
	maxBatch      = 1000   // memories forgotten by one entry
)

var tiers = []string{"working", "episodic", "longterm"}

func oneOf(choices ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(choices, v) {
			return fmt.Errorf("want %s", strings.Join(choices, ", "))
		}
		return nil
	}
}

func number(lo, hi float64) func(string) error {
	return func(v string) error {
		if f, err := strconv.ParseFloat(v, 64); err != nil || math.IsNaN(f) || f < lo || f > hi {
			return fmt.Errorf("want a number from %g to %g", lo, hi)
		}
		return nil
	}
}

func wholeNumber(lo, hi int) func(string) error {
	return func(v string) error {
		if n, err := strconv.Atoi(v); err != nil || n < lo || n > hi {
			return fmt.Errorf("want a whole number from %d to %d", lo, hi)
		}
		return nil
	}
}

func checkTime(v string) error {
	_, err := parseTime(v)
	return err
}

func checkKeyValue(v string) error {
	if k, _, ok := strings.Cut(v, "="); !ok || k == "" {
		return errors.New("want key=value")
	}
	return nil
}

// parseTime parses a date in any form that all surfaces accept, or a duration ago.
func parseTime(v string) (time.Time, error) {
	at, err := field.ParseWhen(v, time.Now())
	if err != nil {
		err = errors.New("want " + field.WantDate + ", or how long ago (90m, 7d)")
	}
	return at, err
}

var (
	nsFlag   = lang.Flag{Name: "--ns"}
	jsonFlag = lang.Flag{Name: "--json", NoValue: true}
	helpFlag = lang.Flag{Name: "--help", NoValue: true}
	tierFlag = lang.Flag{Name: "--tier", Check: oneOf(tiers...)}

	afterFlag       = lang.Flag{Name: "--after", Check: wholeNumber(0, math.MaxInt)}
	consistencyFlag = lang.Flag{Name: "--consistency", Check: oneOf("local", "leader")}
)

// memoryArgs are the arguments of a memory command.
type memoryArgs struct {
	*call
	flags lang.Flags
	text  string // the text between the flags, followed by the body
	ns    string // empty: all namespaces
}

// allNamespaces makes a command that reads memories. Without --ns it reads the whole database, because agents share
// one memory.
func allNamespaces(f func(*call, memoryArgs) (answer, error), flags ...lang.Flag) func(*call) (string, error) {
	return memoryCommand(f, func(*call) string { return "" }, flags)
}

// ownNamespace makes a command that stores, counts or removes memories. Without --ns it works in the agent's own
// namespace.
func ownNamespace(f func(*call, memoryArgs) (answer, error), flags ...lang.Flag) func(*call) (string, error) {
	return memoryCommand(f, func(c *call) string { return c.Agent.ID }, flags)
}

// memoryCommand makes a command that reads its flags, chooses the namespace, and handles --help and --json.
func memoryCommand(f func(*call, memoryArgs) (answer, error), namespace func(*call) string, flags []lang.Flag) func(*call) (string, error) {
	// Every command accepts the flags for the freshness of its answer.
	if !slices.ContainsFunc(flags, func(f lang.Flag) bool { return f.Name == afterFlag.Name }) {
		flags = append(flags, afterFlag, consistencyFlag)
	}
	flags = append(flags, nsFlag, jsonFlag, helpFlag)
	return func(c *call) (string, error) {
		if c.args == "--help" {
			return c.usage(flags), nil
		}
		fl, text, err := lang.TakeFlags(c.args, flags)
		if err != nil {
			return "", err
		}
		if c.hasBody && c.body != "" {
			text = strings.TrimPrefix(text+"\n"+c.body, "\n")
		}
		a := memoryArgs{call: c, flags: fl, text: text, ns: namespace(c)}
		if ns, ok := fl["--ns"]; ok {
			if a.ns = ns; ns == "*" { // of the flag alone: an agent may have this id
				a.ns = ""
			}
		}
		if err := c.awaitFresh(fl); err != nil {
			return "", err
		}
		v, err := f(c, a)
		if err != nil {
			return "", err
		}
		if fl.Has("--json") {
			b, err := kit.JSON(v.json)
			return string(b), err
		}
		return v.text, nil
	}
}

// answer is an answer as text and as JSON.
type answer struct {
	text string
	json any
}

func (c *call) usage(flags []lang.Flag) string {
	d := c.find()
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n---\n%s\n", d.usage, d.about)
	for _, k := range flags {
		fmt.Fprintf(&b, "  %s\n", k.Name)
	}
	return strings.TrimRight(b.String(), "\n")
}

// addShortcut makes @m1, @m2 and so on shortcuts for the memories of an answer.
func (c *call) addShortcut(i int, m *oplog.Memory) (name string) {
	name = fmt.Sprint("m", i+1)
	c.Shortcuts[name] = m.RID
	return name
}

// resolve returns the id for a shortcut such as @m1, or the word itself.
func (c *call) resolve(word string) (string, error) {
	name, ok := strings.CutPrefix(word, "@")
	if !ok {
		return word, nil
	}
	if id, ok := c.Shortcuts[name]; ok {
		return id, nil
	}
	return "", lang.Errorf(lang.NotFound, "Shortcut not found: @%s", name)
}

// noLeaderTimeout bounds a write while no leader is known. The client gets NO_LEADER soon, but an election may still
// end in time.
const noLeaderTimeout = 700 * time.Millisecond

// write runs an operation that changes the memory.
func write[Q, A any](c *call, of api.Of[Q, A], request *Q) (*A, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	if at, err := c.nodeStatus(); err == nil && at.Leader == nil {
		ctx, cancel = context.WithTimeout(c.ctx, noLeaderTimeout)
	}
	defer cancel()
	return of.Ask(ctx, c.Settings.Memory, request)
}

// nodeStatus returns the role of the node in its cluster, and the index that it has applied.
func (c *call) nodeStatus() (*api.PlaceAnswer, error) {
	return api.Place.Ask(c.ctx, c.Settings.Memory, &api.Nothing{})
}

// memoryJSON is a memory in a JSON answer.
type memoryJSON struct {
	ID         string          `json:"id"`
	Namespace  string          `json:"ns"`
	Text       string          `json:"text"`
	Type       string          `json:"type"`
	Tier       string          `json:"tier"`
	Importance float64         `json:"importance"`
	Source     string          `json:"source,omitempty"`
	Created    string          `json:"created"`
	Status     string          `json:"status"`
	Score      float64         `json:"score,omitempty"`
	Why        []string        `json:"why,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

func toJSON(m *oplog.Memory) memoryJSON {
	n := memoryJSON{ID: m.RID, Namespace: m.Namespace, Text: m.Text, Type: m.Type, Tier: tierOf(m), Importance: m.Importance, Source: m.Source,
		Created: m.Created.Time().Format(time.RFC3339), Status: m.Status.String()}
	if json.Valid(m.Metadata) {
		n.Metadata = m.Metadata
	}
	return n
}

// tierOf returns the tier of a memory. Memories of other dialects without a tier are longterm.
func tierOf(m *oplog.Memory) string { return cmp.Or(m.Tier, "longterm") }

// headline returns the id, day and tier of a memory.
func headline(m *oplog.Memory) string {
	return fmt.Sprintf("%s · %s · %s", m.RID, m.Created.Time().Format(time.DateOnly), tierOf(m))
}

// indented returns the text of a memory for the lines below its headline: the whole text if full is set, otherwise
// its beginning.
func indented(m *oplog.Memory, full bool) string {
	text := strings.TrimSpace(m.Text)
	if !full {
		text = lang.Truncate(text, maxPreview)
	}
	return "    " + api.Quote(m.Source, m.Namespace, text)
}

// tagsOf returns the tags in the metadata of a memory.
func tagsOf(m *oplog.Memory) []string {
	var meta struct {
		Tags []string `json:"tags"`
	}
	_ = json.Unmarshal(m.Metadata, &meta) // metadata of another shape has no tags
	return meta.Tags
}

// splitList splits the comma-separated value of a flag.
func splitList(s string) []string { return lang.TrimAll(strings.Split(s, ",")) }
