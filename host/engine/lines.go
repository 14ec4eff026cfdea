package engine

import (
	"bytes"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

// lineLog turns what a module prints into lines of the host's log.
type lineLog struct {
	instance *instance
	level    hclog.Level
	line     []byte
	kept     []string // the first and the last lines, for the error of a crash
	logged   int      // lines of the call that runs
}

// maxLogged is how many lines of a call reach the log: a crash of a Go program prints hundreds.
const maxLogged = 50

// keptLines is how many lines an error repeats of the beginning, where a crash says its reason, and of
// the end.
const keptLines = 10

func (l *lineLog) Write(p []byte) (int, error) {
	l.instance.spend(len(p))
	if c := l.instance.current; c != nil {
		c.spendLog(len(p), bytes.Count(p, []byte{'\n'}))
	}
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			l.keep(rest)
			break
		}
		l.keep(rest[:end])
		l.flush()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// keep drops what makes a line longer than a log line may be.
func (l *lineLog) keep(p []byte) {
	l.line = append(l.line, p[:min(len(p), max(0, maxLogLine+1-len(l.line)))]...)
}

func (l *lineLog) flush() {
	if len(l.line) == 0 {
		return
	}
	text := visible.Bounded(string(l.line), maxLogLine)
	l.line = l.line[:0]
	if l.kept = append(l.kept, text); len(l.kept) > 2*keptLines {
		l.kept = slices.Delete(l.kept, keptLines, keptLines+1)
	}
	switch l.logged++; {
	case l.logged < maxLogged:
		l.instance.owner.spec.Log.Log(l.level, text)
	case l.logged == maxLogged:
		l.instance.owner.spec.Log.Log(l.level, "what else the call prints is left out")
	}
}
