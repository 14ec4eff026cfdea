package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestConfirmAcceptsOnlyYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, " YES \n": true, "y": true, "": false, "\n": false, "n\n": false, "yess\n": false,
		strings.Repeat(" ", 100) + "y\n": false} {
		if err := confirm(t.Context(), strings.NewReader(answer), "Go on"); (err == nil) != want {
			t.Errorf("confirm with the answer %q: got the error %v", answer, err)
		}
	}
}

func TestInterruptedConfirmIsRefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never, write := io.Pipe()
	defer write.Close()
	if err := confirm(ctx, never, "Go on"); !errors.Is(err, exitStatus(exitNo)) {
		t.Error(err)
	}
}
