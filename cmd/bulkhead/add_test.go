package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/admin"
)

func TestOnlyAYesIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, " YES \n": true, "y": true, "": false, "\n": false, "n\n": false, "yess\n": false,
		strings.Repeat(" ", 100) + "y\n": false} {
		a := adding{}
		if err := a.ask(t.Context(), strings.NewReader(answer), &admin.Proposal{}); (err == nil) != want {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestAnInterruptIsANo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never, write := io.Pipe()
	defer write.Close()
	a := adding{}
	if err := a.ask(ctx, never, &admin.Proposal{}); !errors.Is(err, silent(exitNo)) {
		t.Error(err)
	}
}
