package live

import (
	"fmt"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

func TestQuestionsWaitUntilTheirCallIsMadeAgain(t *testing.T) {
	s := stateOf()
	waiting := func() (ids string) {
		for _, q := range s.Snapshot().Waiting {
			ids += q.ID
		}
		return ids
	}
	asks := func(id, client string) *audit.Record {
		return &audit.Record{ID: id, Kind: audit.KindCall, Plugin: "a", Method: "tools/call", Tool: "a_write", Principal: "local", Client: client, Outcome: audit.Asked, Code: "approve"}
	}
	s.Ask(asks("1", "x"), time.Hour)
	s.Ask(asks("2", "y"), time.Hour)
	s.Ask(asks("3", "x"), time.Hour)
	s.Ask(asks("4", "x"), 0)
	if got := waiting(); got != "123" {
		t.Errorf("these wait: %s", got)
	}
	s.Answer(asks("", "x"))
	if got := waiting(); got != "23" {
		t.Errorf("after an answer these wait: %s", got)
	}
	s.Answer(asks("", "z"))
	other := asks("", "x")
	other.Tool = "a_other"
	s.Answer(other)
	if got := waiting(); got != "23" {
		t.Errorf("after answers of others these wait: %s", got)
	}
	for i := range 2 * maxEvents {
		s.Ask(asks(fmt.Sprintf("<%d>", i), "x"), time.Hour)
	}
	if got := s.Snapshot().Waiting; len(got) != maxEvents || got[maxEvents-1].ID != fmt.Sprintf("<%d>", 2*maxEvents-1) {
		t.Errorf("%d wait, the latest is %+v", len(got), got[len(got)-1])
	}
}
