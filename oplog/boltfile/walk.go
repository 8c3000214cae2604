package boltfile

import "io"

// A Visitor is told what a file holds, in the file's order. Its slices are good until it returns.
type Visitor struct {
	Enter func(bucket []byte) error
	Row   func(key, value []byte) error
	Leave func() error
}

// Walk reads a whole file without opening it, as from a place that cannot be mapped into memory, from one goroutine. Every page
// is verified before the first row is told.
func Walk(f io.ReaderAt, size int64, v Visitor) error {
	w := walk{f: f, size: size}
	if err := w.verify(0); err != nil {
		return err
	}
	return w.tell(w.root, v)
}

// tell visits a page that was verified.
func (w *walk) tell(id uint64, v Visitor) error {
	b, err := w.read(id, 1, nil)
	if err != nil {
		return err
	}
	whole := make([]byte, w.pageSize*(int64(order.Uint32(b[12:]))+1))
	if _, err := w.f.ReadAt(whole, int64(id)*w.pageSize); err != nil {
		return damaged("page %d: %v", id, err)
	}
	return w.elements(whole, 0, v)
}

// elements visits a page, or a bucket that lies inside one.
func (w *walk) elements(b []byte, depth int, v Visitor) error {
	if len(b) < headSize || depth > maxDepth {
		return damaged("a bucket of %d bytes", len(b))
	}
	flags, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if headSize+count*elemSize > len(b) {
		return damaged("%d elements in %d bytes", count, len(b))
	}
	for i := range count {
		at := headSize + i*elemSize
		e := b[at : at+elemSize]
		if flags == branchPage {
			if err := w.tell(order.Uint64(e[8:]), v); err != nil {
				return err
			}
			continue
		}
		pos, key, value := int64(order.Uint32(e[4:])), int64(order.Uint32(e[8:])), int64(order.Uint32(e[12:]))
		from := int64(at) + pos
		if from+key+value > int64(len(b)) {
			return damaged("element %d ends at %d of %d", i, from+key+value, len(b))
		}
		k, val := b[from:from+key], b[from+key:from+key+value]
		if order.Uint32(e)&bucketLeaf == 0 {
			if err := v.Row(k, val); err != nil {
				return err
			}
			continue
		}
		if err := w.inner(k, val, depth, v); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) inner(name, value []byte, depth int, v Visitor) error {
	if len(value) < inlineSize {
		return damaged("a bucket of %d bytes", len(value))
	}
	if err := v.Enter(name); err != nil {
		return err
	}
	var err error
	if root := order.Uint64(value); root != 0 {
		err = w.tell(root, v)
	} else {
		err = w.elements(value[inlineSize:], depth+1, v)
	}
	if err != nil {
		return err
	}
	return v.Leave()
}
