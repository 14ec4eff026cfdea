package bearer

import (
	"context"
	"crypto/subtle"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Tokens are the tokens that a server accepts. It is safe for concurrent use.
type Tokens struct {
	single  *call.Principal // of the server's single token
	current atomic.Pointer[accepted]

	updating sync.Mutex
}

// accepted are the tokens at one time. It is immutable.
type accepted struct {
	single *holder // nil: there is no single token
	byID   map[string]*holder
}

// holder is a token that is accepted.
type holder struct {
	digest digest
	access Access
	end    context.CancelFunc // ends access.Held
}

// NewTokens returns an empty set. single is the principal of the server's single token.
func NewTokens(single *call.Principal) *Tokens {
	t := &Tokens{single: single}
	t.current.Store(new(accepted))
	return t
}

// Set replaces the tokens. single is empty if there is no single token. The access of tokens that are not accepted any more ends. The results
// are how many tokens are new, and how many are not accepted any more.
func (t *Tokens) Set(single string, named []Named) (added, ended int) {
	t.updating.Lock()
	defer t.updating.Unlock()
	old := t.current.Load()
	next := &accepted{byID: make(map[string]*holder, len(named))}
	if single != "" {
		next.single = newHolder(digestOf(single), old.single, t.single, nil)
	}
	for i := range named {
		n := &named[i]
		if d, err := n.digest(); err == nil {
			next.byID[n.ID] = newHolder(d, old.byID[n.ID], n.principal(), n.Expires)
		}
	}
	t.current.Store(next)
	changed := func(before, after *holder) {
		if before == after {
			return
		}
		if after != nil {
			added++
		}
		if before != nil {
			ended++
			before.end()
		}
	}
	changed(old.single, next.single)
	for id, h := range old.byID {
		changed(h, next.byID[id])
	}
	for id, h := range next.byID {
		if old.byID[id] == nil {
			changed(nil, h)
		}
	}
	return added, ended
}

// newHolder returns old if that is of the same token, else a new holder.
func newHolder(d digest, old *holder, p *call.Principal, expires *time.Time) *holder {
	h := &holder{digest: d, access: Access{Principal: p}}
	if expires != nil {
		h.access.Expires = *expires
	}
	if old != nil && old.digest == d && old.access.Expires.Equal(h.access.Expires) && old.access.Principal.Name == p.Name {
		return old
	}
	if expires != nil {
		h.access.Held, h.end = context.WithDeadline(context.Background(), *expires)
	} else {
		h.access.Held, h.end = context.WithCancel(context.Background())
	}
	return h
}

// Authenticate returns the access of a token; nil if it is none of these tokens. The error is a *Refused. The time that it takes does not
// depend on secrets: the ID of a named token is none.
func (t *Tokens) Authenticate(token string) (*Access, error) {
	if len(token) > maxToken {
		return nil, nil
	}
	now, d := t.current.Load(), digestOf(token)
	h := now.single
	if id := idOf(token); id != "" && now.byID[id] != nil {
		h = now.byID[id]
	}
	switch {
	case h == nil || subtle.ConstantTimeCompare(h.digest[:], d[:]) != 1:
		return nil, nil
	case !h.access.Expires.IsZero() && !time.Now().Before(h.access.Expires):
		return nil, &Refused{Why: "the token has expired", Principal: h.access.Principal}
	}
	return &h.access, nil
}
