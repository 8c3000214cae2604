package text

// Watermark returns the applied index up to which every change is on disk.
// After Open, what came later must be applied again.
func (x *Index) Watermark() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.watermark
}

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.used
}
