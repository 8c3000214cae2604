package text

// onDisk returns how many of the changes since Open are on disk.
func (x *Index) onDisk() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.persisted - 1
}

// inTail counts the rows that Bleve does not have yet.
func (x *Index) inTail() (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range x.sealed {
		n += len(b.rows)
	}
	return n + len(x.open.rows)
}

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.used
}
