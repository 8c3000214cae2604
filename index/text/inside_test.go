package text

// onDisk returns how many of the changes since Open are on disk.
func (x *Index) onDisk() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.persisted - 1
}

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.used
}
