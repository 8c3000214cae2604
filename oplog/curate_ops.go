package oplog

// MaxRecast bounds the sources of a merge and the products of a split.
const MaxRecast = 100

// Recast merges several memories into one, or splits one into several. The sources stay readable and lead to what was
// made of them. Their fields before it become a revision, so that TakeBack returns them. The entry is rejected unless
// every source is as the decision knew it.
type Recast struct {
	Sources []Grounds  `msgpack:"s"`
	Into    []Remember `msgpack:"i"`
	Reason  string     `msgpack:"r,omitempty" max:"text"`
	At      Time       `msgpack:"at"`

	Edges []Copied `msgpack:"-"` // relations that name a source: they travel in a HandOn next to it
}

// TakeBack ends a merge or a split: it forgets what was made and makes the sources active again, with their keys. The
// entry is rejected unless every memory is as the decision knew it.
type TakeBack struct {
	Made    []Grounds `msgpack:"m"`
	Sources []Grounds `msgpack:"s"`
	At      Time      `msgpack:"at"`

	Texts []Statements `msgpack:"-"` // what the sources' texts state: it travels in a Stated next to it
	Marks []Mark       `msgpack:"-"` // what the sources superseded, and what superseded them: they travel in a Supersede
}
