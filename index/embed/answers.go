package embed

import (
	"container/list"
	"crypto/sha256"
	"slices"
	"sync"
)

// answersBytes bounds the vectors of questions that are kept.
const answersBytes = 16 << 20

// answers caches the vectors of the latest questions by the hash of their text: no text is kept. The zero value is
// empty.
type answers struct {
	mu    sync.Mutex
	byKey map[[32]byte]*list.Element
	order list.List // of *answer, the newest first
	bytes int
}

type answer struct {
	key [32]byte
	vec []float32
}

// size returns about how many bytes an answer costs.
func (a *answer) size() int { return 4*len(a.vec) + 200 }

// get returns the caller's own copy.
func (c *answers) get(text string) ([]float32, bool) {
	key := sha256.Sum256([]byte(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return slices.Clone(e.Value.(*answer).vec), true
}

func (c *answers) put(text string, vec []float32) {
	a := &answer{key: sha256.Sum256([]byte(text)), vec: slices.Clone(vec)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[[32]byte]*list.Element{}
	}
	if _, ok := c.byKey[a.key]; ok { // two callers asked it at the same time
		return
	}
	c.byKey[a.key] = c.order.PushFront(a)
	for c.bytes += a.size(); c.bytes > answersBytes; {
		oldest := c.order.Back()
		evicted := c.order.Remove(oldest).(*answer)
		delete(c.byKey, evicted.key)
		c.bytes -= evicted.size()
	}
}
