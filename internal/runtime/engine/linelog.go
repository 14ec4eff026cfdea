package engine

import (
	"bytes"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// lineLog is an io.Writer for a module's standard output or error. It logs each line.
type lineLog struct {
	instance *instance
	level    hclog.Level
	line     []byte   // the incomplete last line
	kept     []string // the first and last keptLines lines, for Error.Detail
	logged   int      // number of lines that the current call has printed
}

// maxLogged bounds the lines of one call that are logged: a crashing Go program prints hundreds.
const maxLogged = 50

// keptLines is the number of lines kept from the beginning, where a crashing program states the reason, and from the end.
const keptLines = 10

func (l *lineLog) Write(p []byte) (int, error) {
	l.instance.Spend(len(p))
	if c := l.instance.current; c != nil {
		c.chargeLog(len(p), bytes.Count(p, []byte{'\n'}))
	}
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			l.appendLine(rest)
			break
		}
		l.appendLine(rest[:end])
		l.flush()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// appendLine appends to the incomplete line, up to one byte more than maxLogLine so that flush marks it as truncated.
func (l *lineLog) appendLine(p []byte) {
	l.line = append(l.line, p[:min(len(p), max(0, maxLogLine+1-len(l.line)))]...)
}

func (l *lineLog) flush() {
	if len(l.line) == 0 {
		return
	}
	text := visible.Bounded(string(l.line), maxLogLine)
	l.line = l.line[:0]
	if l == l.instance.stderr {
		l.instance.panicked.add(text)
	}
	if l.kept = append(l.kept, text); len(l.kept) > 2*keptLines {
		l.kept = slices.Delete(l.kept, keptLines, keptLines+1)
	}
	switch l.logged++; {
	case l.logged < maxLogged:
		l.instance.owner.spec.Log.Log(l.level, text)
	case l.logged == maxLogged:
		l.instance.owner.spec.Log.Log(l.level, "further output of this call is dropped")
	}
}
