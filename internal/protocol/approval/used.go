package approval

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// Bounds of the approvals that are remembered. No user approves so many calls in the time in which one can be used.
const (
	maxUsed          = 1 << 16
	maxUsedPrincipal = 1 << 12
)

// sweepInterval bounds how often the record is searched for approvals that have expired.
const sweepInterval = time.Second

// ErrUsed is the error of Use for an approval that was used before.
var ErrUsed = errors.New("it was used before")

// Used is the record of the approvals that were used and have not expired. Its zero value is empty; it is safe for concurrent use.
type Used struct {
	mu     sync.Mutex
	by     map[string]use
	counts map[string]int // by principal
	latest int64          // the latest time that was seen, in milliseconds: an approval that has expired stays so if the clock is set back
	swept  int64
}

type use struct {
	principal string
	expires   int64
}

// Use uses an approval of a principal. Of several calls with one approval, one returns nil. If the record is full, the approval cannot be
// used, since a second use could not be told from the first.
func (u *Used) Use(a *interaction.Approval, principal string, now time.Time) error {
	if a.ID == "" {
		return nil // no client has the state
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.latest = max(u.latest, now.UnixMilli())
	if _, used := u.by[a.ID]; used || a.Expires <= u.latest {
		return ErrUsed
	}
	if u.full(principal) {
		u.sweep()
	}
	if u.full(principal) {
		return fmt.Errorf("too many calls were approved in a short time (%d, and %d of this account): wait until their approvals expire", len(u.by), u.counts[principal])
	}
	if u.by == nil {
		u.by, u.counts = map[string]use{}, map[string]int{}
	}
	u.by[a.ID] = use{principal, a.Expires}
	u.counts[principal]++
	return nil
}

func (u *Used) full(principal string) bool {
	return len(u.by) >= maxUsed || u.counts[principal] >= maxUsedPrincipal
}

// sweep removes the approvals that have expired.
func (u *Used) sweep() {
	if u.latest-u.swept < sweepInterval.Milliseconds() {
		return
	}
	u.swept = u.latest
	for id, one := range u.by {
		if one.expires > u.latest {
			continue
		}
		delete(u.by, id)
		if u.counts[one.principal]--; u.counts[one.principal] == 0 {
			delete(u.counts, one.principal)
		}
	}
}
