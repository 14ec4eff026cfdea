//go:build unix

package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// entry contains the fields of a line that the tests inspect.
type entry struct {
	Kind, ID, Tool, Arguments, Cause string

	Lost int64
}

// entries parses the lines of all files of a log, newest file first. It fails on incomplete lines.
func entries(t *testing.T, file string) []entry {
	t.Helper()
	var all []entry
	for i := 0; ; i++ {
		name := file
		if i > 0 {
			name = fmt.Sprintf("%s.%d", file, i)
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			t.Errorf("%s ends in the middle of a line", name)
		}
		for line := range bytes.Lines(text) {
			var e entry
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s: %v in %q", name, err, line)
			}
			all = append(all, e)
		}
	}
}

// count returns the number of records in the log and the number of lost records according to its gaps.
func count(all []entry) (kept, lost int64) {
	for _, e := range all {
		if e.Kind == "gap" {
			lost += e.Lost
		} else {
			kept++
		}
	}
	return kept, lost
}

func open(t *testing.T, c audit.Config) *audit.Log {
	t.Helper()
	l, err := audit.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func write(t *testing.T, l *audit.Log, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if err := l.Write(audit.Record{Kind: audit.KindCall, Tool: tool}); err != nil {
			t.Fatal(err)
		}
	}
}

func closeLog(t *testing.T, l *audit.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "audit.jsonl") }

// journal records a host's log.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Output: j, Level: hclog.Debug})
}

// clock is a fake clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 7, 29, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
