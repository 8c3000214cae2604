package history

// setSum is the summary of a closed set.
type setSum struct {
	acked    Bits
	mustHave Bits // must be present at the end: acknowledged or read
	mayHave  Bits // may be present at the end
}

// A member is the history of one number of a set.
type member struct {
	begun int64  // first request
	acked int64  // first acknowledgement; -1: never
	index uint64 // smallest index of an acknowledgement: present at the latest from there
	id    string
	may   bool // at least one attempt was not rejected
}

func members(c *checker, key string, ops []Record) map[int]*member {
	all := map[int]*member{}
	for _, o := range ops {
		if o.Op != Add {
			continue
		}
		m := all[o.Value]
		if m == nil {
			m = &member{begun: o.From, acked: -1}
			all[o.Value] = m
		}
		m.may = m.may || o.Outcome != Refused
		if o.Outcome != Done {
			continue
		}
		if m.id != "" && m.id != o.ID {
			c.violation(Twice, "%s %d was acknowledged as %s and as %s", key, o.Value, m.id, o.ID)
		}
		if m.id = o.ID; m.acked < 0 || o.To < m.acked {
			m.acked = o.To
		}
		if o.Index > 0 && (m.index == 0 || o.Index < m.index) {
			m.index = o.Index
		}
	}
	return all
}

// judgeSet checks all reads of a set. ops are sorted by start time.
func (c *checker) judgeSet(key string, ops []Record) *setSum {
	all, sum := members(c, key, ops), &setSum{}
	for n, m := range all {
		if m.acked >= 0 {
			sum.acked.Add(n)
			sum.mustHave.Add(n)
		}
		if m.may {
			sum.mayHave.Add(n)
		}
	}
	var reads []Record
	for _, r := range ops {
		if r.Op != Read {
			continue
		}
		c.checkGhosts(key, r, all)
		var must Bits // numbers that this read must show
		for n, m := range all {
			if r.Mode == Linearizable && m.acked >= 0 && m.acked < r.From || r.Mode == AtIndex && m.index > 0 && m.index <= r.Index {
				must.Add(n)
			}
		}
		var before Bits // numbers that the same process has shown before
		for _, q := range reads {
			if q.To >= r.From {
				continue
			}
			if r.Mode == Linearizable { // any number that a node has shown is committed
				must.union(q.Have)
			}
			if q.Node == r.Node && q.Life == r.Life && r.Life > 0 {
				before.union(q.Have)
			}
		}
		if miss := must.Without(r.Have); !miss.IsZero() {
			kind := Missed
			if r.Mode == AtIndex {
				kind = Behind
			}
			c.violation(kind, "node %d read %s (%s %d) from %d to %d without %s", r.Node, key, r.Mode, r.Index, r.From, r.To, miss)
		}
		if miss := before.Without(r.Have); !miss.IsZero() {
			c.violation(Back, "node %d read %s (%s) from %d to %d without %s, which it had shown before", r.Node, key, r.Mode,
				r.From, r.To, miss)
		}
		sum.mustHave.union(r.Have)
		reads = append(reads, r)
	}
	return sum
}

// checkGhosts checks that a read shows no number that it must not show.
func (c *checker) checkGhosts(key string, r Record, all map[int]*member) {
	for n := range r.Have.all() {
		switch m := all[int(n)]; {
		case m == nil:
			c.violation(Ghost, "node %d shows %s %d, which was never asked for", r.Node, key, n)
		case m.begun > r.To:
			c.violation(Ghost, "node %d shows %s %d at %d, before it was asked for at %d", r.Node, key, n, r.To, m.begun)
		case !m.may:
			c.violation(Ghost, "node %d shows %s %d, which was refused", r.Node, key, n)
		}
	}
	if !r.Twice.IsZero() {
		c.violation(Twice, "node %d shows %s %s more than once", r.Node, key, r.Twice)
	}
}

func (s *setSum) final(c *checker, r Record) {
	for n := range s.mustHave.Without(r.Have).all() {
		c.violation(Lost, "node %d does not hold %s %d in the end", r.Node, r.Key, n)
	}
	for n := range r.Have.Without(s.mayHave).all() {
		c.violation(Ghost, "node %d holds %s %d in the end, which was refused or never asked for", r.Node, r.Key, n)
	}
	for n := range r.Twice.all() {
		c.violation(Twice, "node %d holds %s %d more than once in the end", r.Node, r.Key, n)
	}
}
