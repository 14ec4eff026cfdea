package audit

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// reportInterval is the minimum time between reports of the same failure to the host's log.
const reportInterval = time.Minute

const lostRecords = "records are missing in the audit log"

// losses counts lost records, for the audit log itself and, once a minute, for the host's log. Its lock is never
// held during I/O, so that a hanging disk does not block add.
type losses struct {
	to  string // name of the file, or of the copy
	log hclog.Logger
	now func() time.Time

	mu         sync.Mutex
	total      int64     // number of lost records
	lost       gap       // records lost since the last gap line
	unreported int64     // number of records lost since the last report to the host's log
	cause      error     // cause of the latest loss
	reportedAt time.Time // time of the last report to the host's log
	failing    bool      // a failure was reported to the host's log, and its recovery was not
	warnedAt   time.Time // time of the last warning about a rotation
}

// add counts n lost records.
func (l *losses) add(n int64, cause error) {
	now := l.now()
	l.mu.Lock()
	if l.lost.records == 0 {
		l.lost.since = now
	}
	l.total += n
	l.lost.records += n
	l.lost.cause = cause
	l.unreported += n
	l.cause = cause
	due := l.reportedAt.IsZero() || now.Sub(l.reportedAt) >= reportInterval
	unreported := l.unreported
	if due {
		l.reportedAt, l.unreported, l.failing = now, 0, true
	}
	l.mu.Unlock()
	if due {
		l.log.Error(lostRecords, "log", l.to, "lost", unreported, "error", cause)
	}
}

// gap returns the losses since the last gap line. If nothing was lost, its number of records is 0.
func (l *losses) gap() gap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// state returns the state of the log that l belongs to.
func (l *losses) state() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{Name: l.to, Lost: l.total, Failing: l.failing}
}

// gapWritten records that a gap line about n lost records was written.
func (l *losses) gapWritten(n int64) {
	l.mu.Lock()
	l.lost.records -= n
	recovered := l.failing
	unreported := l.unreported
	l.failing = false
	if recovered {
		l.unreported = 0
	}
	l.mu.Unlock()
	if recovered {
		l.log.Info("the audit log can be written again", "log", l.to, "lost", unreported)
	}
}

// reportPending reports unreported losses to the host's log, at most once per reportInterval unless final.
func (l *losses) reportPending(final bool) {
	l.mu.Lock()
	unreported, cause := l.unreported, l.cause
	due := unreported > 0
	if due && !final {
		now := l.now()
		if due = now.Sub(l.reportedAt) >= reportInterval; due {
			l.reportedAt = now
		}
	}
	if due {
		l.unreported = 0
	}
	l.mu.Unlock()
	if due {
		l.log.Error(lostRecords, "log", l.to, "lost", unreported, "error", cause)
	}
}

// rotationFailed warns that the file grows past its maximum size. A failed rotation loses no records.
func (l *losses) rotationFailed(err error) {
	now := l.now()
	l.mu.Lock()
	due := l.warnedAt.IsZero() || now.Sub(l.warnedAt) >= reportInterval
	if due {
		l.warnedAt = now
	}
	l.mu.Unlock()
	if due {
		l.log.Warn("the audit log cannot be rotated and grows past max_size", "log", l.to, "error", err)
	}
}
