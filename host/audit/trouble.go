package audit

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// sayEvery is how often the host's log hears of the same trouble.
const sayEvery = time.Minute

const lostRecords = "records are missing in the audit log"

// trouble counts the records that are lost, for the audit log itself and, once a minute, for the host's.
// Its lock is never held while anything is written, so that a disk that hangs keeps nobody from counting.
type trouble struct {
	file string
	log  hclog.Logger
	now  func() time.Time

	mu      sync.Mutex
	missing gap   // since a line of the file last told; no records: nothing is missing
	unsaid  int64 // lost since the host's log was last told
	cause   error // of the latest of them
	said    time.Time
	owes    bool      // the host's log was told of a failure, and not yet of its end
	warned  time.Time // of the rotation
}

// lose counts n lost records.
func (t *trouble) lose(n int64, cause error) {
	now := t.now()
	t.mu.Lock()
	if t.missing.records == 0 {
		t.missing.since = now
	}
	t.missing.records += n
	t.missing.cause = cause
	t.unsaid += n
	t.cause = cause
	say := t.said.IsZero() || now.Sub(t.said) >= sayEvery
	unsaid := t.unsaid
	if say {
		t.said, t.unsaid, t.owes = now, 0, true
	}
	t.mu.Unlock()
	if say {
		t.log.Error(lostRecords, "file", t.file, "lost", unsaid, "error", cause)
	}
}

// gap is what is missing; no records: nothing is.
func (t *trouble) gap() gap {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.missing
}

// told notes that the file now has a line about n lost records.
func (t *trouble) told(n int64) {
	t.mu.Lock()
	t.missing.records -= n
	say := t.owes
	unsaid := t.unsaid
	t.owes = false
	if say {
		t.unsaid = 0
	}
	t.mu.Unlock()
	if say {
		t.log.Info("the audit log is written again", "file", t.file, "lost", unsaid)
	}
}

// remind tells the host's log of losses that it has not heard of, once it may hear again; last is the time
// to tell it all the same.
func (t *trouble) remind(last bool) {
	t.mu.Lock()
	unsaid, cause := t.unsaid, t.cause
	say := unsaid > 0
	if say && !last {
		now := t.now()
		if say = now.Sub(t.said) >= sayEvery; say {
			t.said = now
		}
	}
	if say {
		t.unsaid = 0
	}
	t.mu.Unlock()
	if say {
		t.log.Error(lostRecords, "file", t.file, "lost", unsaid, "error", cause)
	}
}

// unrotated notes that the file grows past its size. Nothing is lost by that.
func (t *trouble) unrotated(err error) {
	now := t.now()
	t.mu.Lock()
	say := t.warned.IsZero() || now.Sub(t.warned) >= sayEvery
	if say {
		t.warned = now
	}
	t.mu.Unlock()
	if say {
		t.log.Warn("the audit log cannot be rotated and grows past max_size", "file", t.file, "error", err)
	}
}
