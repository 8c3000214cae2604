package logstore

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"path/filepath"
	"slices"

	hraft "github.com/hashicorp/raft"
)

// Remains holds the intact records of a damaged log.
type Remains struct {
	Records map[uint64]*hraft.Log
	End     uint64 // the last record that the log is known to have had
	Open    bool   // there may have been records after End
}

// Salvage reads the intact frames of the log in a directory, from a record on. Each frame has its own checksum, so an
// intact one counts wherever it is found. Salvage changes no file.
func Salvage(dir string, o Options, from uint64) Remains {
	o.FS = cmp.Or[FS](o.FS, OS{})
	r := Remains{Records: map[uint64]*hraft.Log{}}
	m, err := readMeta(o.FS, dir, o.Keys)
	if err == nil {
		r.End = max(m.Last, max(m.Newest, m.First, 1)-1)
	}
	names, _ := o.FS.List(dir) // if this fails, there are no segments
	files, salts := map[uint64][]byte{}, []uint64{m.Salt}
	var firsts []uint64
	for _, name := range names {
		if first, ok := parseSegmentName(name); ok {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	for i, first := range firsts {
		wanted := i+1 == len(firsts) || firsts[i+1] > max(from, m.First)
		most := int64(headerSize) // only the header of retained segments, which may be many
		if wanted {
			most = math.MaxInt64
		}
		raw, _ := readAll(o.FS, filepath.Join(dir, segmentName(first)), most) // nil when it cannot be read
		if wanted {
			files[first] = raw
		}
		if len(raw) >= headerSize {
			salts = append(salts, binary.BigEndian.Uint64(raw[len(segmentMagic)+8:]))
		}
		r.End = max(r.End, max(first, 1)-1)
	}
	newest, cut := uint64(0), true // of the newest segment: whether its end may be missing
	salts = slices.Compact(slices.Sorted(slices.Values(salts)))
	for _, first := range slices.Sorted(maps.Keys(files)) {
		newest, cut = first, true
		for _, salt := range salts {
			if was := r.collect(codec{o.Keys, salt, first}, files[first], max(from, m.First)); was > 0 {
				cut = was > int64(len(files[first]))
			}
		}
	}
	switch {
	case m.Last > 0: // the store was closed
	case err == nil && m.Newest == 0: // the store had no records
	default:
		r.Open = newest < m.Newest || cut
	}
	return r
}

// collect adds the intact frames of a segment. It returns the least length that the file had; 0 if no frame is
// intact.
func (r *Remains) collect(c codec, raw []byte, from uint64) (was int64) {
	if size, err := c.checkHeader(raw); err == nil {
		was = size
	}
	most := c.first + uint64(len(raw)/headSize)
	for at := headerSize; at+headSize <= len(raw); {
		h := readHead(raw[at:])
		if mark := h.kind == kindMark; !mark && h.kind > byte(hraft.LogConfiguration) || h.index+1 < c.first || h.index > most ||
			int(h.body) > len(raw)-at {
			at++
			continue
		}
		h, l, err := c.frame(raw[at:], int64(at))
		if err != nil {
			at++
			continue
		}
		if l == nil {
			was = max(was, int64(h.stamp))
		} else if l.Index >= from {
			r.Records[l.Index] = l
		}
		r.End = max(r.End, h.index)
		at += int(c.length(h))
		was = max(was, int64(at))
	}
	return was
}
