// Package results has what models get of results that are too long for them: Shorten makes a result fit, and a Store keeps the texts of which
// a model has got only a part, in memory only.
package results

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"
)

// Bounds of what a Store keeps: of each principal, and of all. Beyond them, the oldest texts of the principal are dropped, or of the one with
// the most texts or bytes, whichever bound is reached, so that no principal drops the texts of others by having many.
const (
	maxOwned      = 64
	maxOwnedBytes = 16 << 20
	maxAll        = 2048
	maxAllBytes   = 128 << 20
	maxText       = maxOwnedBytes
)

// lifetime is how long a text is kept.
const lifetime = 30 * time.Minute

// Store keeps texts. S says where a text comes from. A Store is safe for concurrent use.
type Store[S any] struct {
	mu     sync.Mutex
	kept   map[string]*Kept[S]
	owners map[string]*owner[S]
	bytes  int
	timer  *time.Timer // removes what has expired; nil if nothing is kept
	closed bool
}

// Kept is a text that is kept. It is immutable.
type Kept[S any] struct {
	ID     string
	Text   string
	Limit  int // most bytes of a result that had a part of it when it was kept
	Source S

	owner   string
	expires time.Time
}

type owner[S any] struct {
	kept  []*Kept[S] // the oldest is the first
	bytes int
	stop  func() bool // forgets to drop them when the access ends
}

// Keep keeps the text of a result of a principal, and returns its ID; empty if the text is too long. limit is the most bytes of a result. The
// texts of the principal are dropped when held ends, which may be nil.
func (s *Store[S]) Keep(principal string, held context.Context, text string, limit int, source S) (id string) {
	if len(text) > maxText {
		return ""
	}
	k := &Kept[S]{ID: rand.Text(), Text: text, Limit: limit, Source: source, owner: principal, expires: time.Now().Add(lifetime)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ""
	}
	if s.kept == nil {
		s.kept, s.owners = map[string]*Kept[S]{}, map[string]*owner[S]{}
	}
	s.makeRoom(principal, len(text))
	o := s.owners[principal]
	if o == nil {
		o = &owner[S]{stop: func() bool { return true }}
		if held != nil {
			o.stop = context.AfterFunc(held, func() { s.Drop(principal) })
		}
		s.owners[principal] = o
	}
	o.kept, o.bytes, s.bytes = append(o.kept, k), o.bytes+len(text), s.bytes+len(text)
	s.kept[k.ID] = k
	if s.timer == nil {
		s.timer = time.AfterFunc(lifetime, s.sweep)
	}
	return k.ID
}

// makeRoom drops texts until one more of that size fits.
func (s *Store[S]) makeRoom(principal string, size int) {
	for o := s.owners[principal]; o != nil && len(o.kept) > 0 && (len(o.kept) >= maxOwned || o.bytes+size > maxOwnedBytes); {
		s.remove(o.kept[0])
	}
	for len(s.kept) >= maxAll {
		s.remove(s.oldestOf(func(o *owner[S]) int { return len(o.kept) }))
	}
	for s.bytes+size > maxAllBytes {
		s.remove(s.oldestOf(func(o *owner[S]) int { return o.bytes }))
	}
}

// oldestOf returns the oldest text of the principal that has most by a measure.
func (s *Store[S]) oldestOf(measure func(*owner[S]) int) *Kept[S] {
	var oldest *Kept[S]
	most := -1
	for _, o := range s.owners {
		if n := measure(o); n > most || n == most && o.kept[0].expires.Before(oldest.expires) {
			most, oldest = n, o.kept[0]
		}
	}
	return oldest
}

// remove drops a text.
func (s *Store[S]) remove(k *Kept[S]) {
	delete(s.kept, k.ID)
	o := s.owners[k.owner]
	for i, other := range o.kept {
		if other == k {
			o.kept = append(o.kept[:i:i], o.kept[i+1:]...)
			break
		}
	}
	o.bytes, s.bytes = o.bytes-len(k.Text), s.bytes-len(k.Text)
	if len(o.kept) == 0 {
		o.stop()
		delete(s.owners, k.owner)
	}
}

// sweep drops what has expired.
func (s *Store[S]) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, first := time.Now(), time.Time{}
	for _, k := range s.kept {
		switch {
		case !now.Before(k.expires):
			s.remove(k)
		case first.IsZero() || k.expires.Before(first):
			first = k.expires
		}
	}
	if s.timer = nil; !first.IsZero() && !s.closed {
		s.timer = time.AfterFunc(first.Sub(now), s.sweep)
	}
}

// Find returns a text of a principal; nil if there is none. exists reports whether a principal has it.
func (s *Store[S]) Find(principal, id string) (_ *Kept[S], exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[id]
	switch {
	case k == nil || !time.Now().Before(k.expires):
		return nil, false
	case k.owner != principal:
		return nil, true
	}
	return k, true
}

// Drop drops the texts of a principal.
func (s *Store[S]) Drop(principal string) {
	s.Retain(func(k *Kept[S]) bool { return k.owner != principal })
}

// Retain drops the texts of which keep returns false.
func (s *Store[S]) Retain(keep func(*Kept[S]) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kept {
		if !keep(k) {
			s.remove(k)
		}
	}
}

// Close drops all texts. Further ones are not kept.
func (s *Store[S]) Close() {
	s.mu.Lock()
	s.closed = true // before texts are dropped, so that a call that ends meanwhile keeps none
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.Retain(func(*Kept[S]) bool { return false })
}

// maxPart bounds a part of a text, in bytes. A request that reads a result holds no slot of a plugin, so that a client may have any number of responses
// which it does not read.
const maxPart = 256 << 10

// Part returns the result of a tool that has a part of the text, with at most limit bytes; length 0: as much as fits. The error continues a
// sentence that begins with the name of the tool.
func (k *Kept[S]) Part(offset, length, limit int) ([]byte, error) {
	if offset >= len(k.Text) {
		return nil, fmt.Errorf("was called with the offset %d, and the result has %d bytes", offset, len(k.Text))
	}
	most := min(limit-maxNote, maxPart)
	if length == 0 || length > most {
		length = most
	}
	begin, end := Slice(k.Text, offset, length)
	note := fmt.Sprintf("[Bytes %d to %d of %d", begin, end, len(k.Text))
	if end < len(k.Text) {
		note += ". " + next(k.ID, end) + "]"
	} else {
		note += ": the end.]"
	}
	return fmt.Appendf(nil, `{"content":[%s,%s]}`, textItem(k.Text[begin:end]), textItem(note)), nil
}
