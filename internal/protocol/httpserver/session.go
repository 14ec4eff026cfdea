package httpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// Bounds of a session.
const (
	maxResumable  = 32          // streams that can be resumed
	resumableTime = time.Minute // during which a stream can be resumed after its last message
)

// session is a session of the legacy era.
type session struct {
	server  *Server
	id      string
	digest  string // names the session where the id must not appear, since it is a credential
	owner   string // the ID of a principal
	view    *gateway.View
	gateway *gateway.Session
	own     *stream // messages that belong to no request
	calls   context.Context
	end     context.CancelFunc
	release []func() bool // stop waiting for the end of the owner's token and of the view

	mu      sync.Mutex
	streams []*kept
	last    uint64 // number of the last stream
	active  int    // requests that are handled
	known   bool   // a request other than initialize has named the session
	closed  bool
	added   time.Time // zero: clients cannot name the session
	version string    // of the protocol, once it was added
	used    time.Time
}

// kept is a stream that can be resumed.
type kept struct {
	*stream
	ended time.Time // zero while the call runs
}

// sessions are the sessions of a server.
type sessions struct {
	server *Server
	mu     sync.Mutex
	byID   map[string]*session
}

func (all *sessions) init(s *Server) {
	all.server, all.byID = s, make(map[string]*session)
}

// open opens a session, which is not found until it is added. The id has 260 random bits.
func (all *sessions) open(by access) *session {
	s := &session{server: all.server, id: rand.Text() + rand.Text(), owner: by.Principal.ID, view: by.view, own: newStream(0, &all.server.messages), used: time.Now(), active: 1}
	digest := sha256.Sum256([]byte(s.id))
	s.digest = hex.EncodeToString(digest[:8])
	s.own.resume()
	s.calls, s.end = context.WithCancel(all.server.calls)
	s.gateway = all.server.transport.Open(by.view, by.Principal, by.Held, s.own)
	return s
}

// add adds an open session of a version of the protocol, which ends with the token of its owner and with its view. It returns false if there are too many, of which none is idle.
func (all *sessions) add(s *session, version string, by access) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.byID) >= maxSessions {
		oldest := all.oldest(s.owner)
		if oldest == nil {
			return false
		}
		delete(all.byID, oldest.id)
		go oldest.close()
	}
	all.byID[s.id] = s
	s.mu.Lock()
	s.added, s.version = time.Now(), version
	s.mu.Unlock()
	remove := func() { all.remove(s) }
	if by.Held != nil {
		s.release = append(s.release, context.AfterFunc(by.Held, remove))
	}
	if all.server.canEnd(by.view) {
		s.release = append(s.release, context.AfterFunc(by.view.Ended(), remove))
	}
	return true
}

// oldest returns the session that makes room for a new one of a principal: of the principals with most sessions that are idle, the session that has
// been idle for the longest time, or rather one that its client has not used at all, so that a client that only opens sessions ends its
// own. It is nil if none is idle but those of principals with fewer sessions than this one.
func (all *sessions) oldest(owner string) (oldest *session) {
	counts := map[string]int{}
	for _, s := range all.byID {
		counts[s.owner]++
	}
	var since time.Time
	var known bool
	for _, s := range all.byID {
		used, idle := s.lastUse()
		more := -1
		if oldest != nil {
			more = cmp.Compare(counts[oldest.owner], counts[s.owner])
		}
		if idle && counts[s.owner] >= counts[owner] && (more < 0 || more == 0 && (known && !s.known || known == s.known && used.Before(since))) {
			oldest, since, known = s, used, s.known
		}
	}
	return oldest
}

// find returns the session of a principal and a view with an id, and counts a request of it until leave is called; nil if there is none.
func (all *sessions) find(id string, by access) *session {
	all.mu.Lock()
	defer all.mu.Unlock()
	s := all.byID[id]
	if s == nil || s.owner != by.Principal.ID || s.view != by.view {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	s.known = true
	return s
}

// remove ends a session.
func (all *sessions) remove(s *session) {
	all.mu.Lock()
	if all.byID[s.id] == s {
		delete(all.byID, s.id)
	}
	all.mu.Unlock()
	s.close()
}

// sweep ends sessions that have been idle for too long, and drops streams that are not resumed, until ctx ends.
func (all *sessions) sweep(ctx context.Context) {
	idle := all.server.config.SessionIdle
	ticker := time.NewTicker(min(idle/sweepIntervals, resumableTime))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			all.expire(now.Add(-idle))
		}
	}
}

func (all *sessions) expire(before time.Time) {
	all.mu.Lock()
	var expired []*session
	for id, s := range all.byID {
		if used, isIdle := s.lastUse(); isIdle && used.Before(before) {
			delete(all.byID, id)
			expired = append(expired, s)
		} else {
			s.dropEnded()
		}
	}
	all.mu.Unlock()
	for _, s := range expired {
		all.server.log.Debug("a session has expired")
		s.close()
	}
}

// lastUse returns when the last request ended. idle is set if none is handled.
func (s *session) lastUse() (used time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.active == 0
}

// leave states that a request was handled.
func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.used = time.Now()
}

// close cancels the calls of a session and ends its streams.
func (s *session) close() {
	s.end()
	for _, release := range s.release {
		release()
	}
	s.own.close() // before the gateway's session, which waits for messages that are put
	s.gateway.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.server.counter(); c != nil && !s.closed && !s.added.IsZero() {
		c.SessionEnded(s.version, time.Since(s.added))
	}
	s.closed = true
	for _, k := range s.streams {
		k.close()
	}
	s.streams = nil
}

// newStream returns the stream of a request.
func (s *session) newStream(b *budget) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return newStream(s.last, b)
}

// keep makes a stream resumable, unless the session has ended. The oldest ones, or else the oldest that have ended, are dropped when there are too many.
func (s *session) keep(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	st.resume()
	if len(s.streams) >= maxResumable {
		i := max(0, slices.IndexFunc(s.streams, func(k *kept) bool { return k.isEnded() }))
		s.streams[i].stream.forget()
		s.streams = slices.Delete(s.streams, i, i+1)
	}
	s.streams = append(s.streams, &kept{stream: st})
}

// stream returns the stream with a number; nil if there is none.
func (s *session) stream(number uint64) *stream {
	if number == 0 {
		return s.own
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.streams {
		if k.number == number {
			return k.stream
		}
	}
	return nil
}

// dropEnded drops streams whose calls have ended some time ago.
func (s *session) dropEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.streams = slices.DeleteFunc(s.streams, func(k *kept) bool {
		if k.ended.IsZero() && k.isEnded() {
			k.ended = now
		}
		old := !k.ended.IsZero() && now.Sub(k.ended) > resumableTime
		if old {
			k.forget()
		}
		return old
	})
}
