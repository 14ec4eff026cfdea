package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

func TestCodeErrorNamesTheReason(t *testing.T) {
	for want, reason := range map[engine.Code]code.Reason{
		engine.CodeModuleMissing: code.Missing, engine.CodeDigest: code.Digest, engine.CodeInvalidModule: code.Invalid, engine.CodeInternal: code.Compiler, engine.CodeQueue: code.Interrupted,
	} {
		s := newSupervisor(t, func(c *Config) {
			c.Prepare = func(context.Context) (*Launch, error) {
				return nil, CodeError("it", "m.wasm", fmt.Errorf("wrapped: %w", &code.Error{Reason: reason, Text: "why\x1b"}))
			}
		})
		text := "cannot run: why·"
		if reason == code.Invalid {
			text = "cannot run m.wasm: why·"
		}
		if reason == code.Interrupted {
			text += ": try again"
		}
		_, err := s.Call(t.Context(), method("echo"))
		if failure := (*engine.Error)(nil); !errors.As(err, &failure) || failure.Code != want || failure.Message != text {
			t.Errorf("the code %s: got %#v", want, err)
		}
	}
	if err := CodeError("it", "m.wasm", context.Canceled); !errors.Is(err, context.Canceled) || errors.As(err, new(*engine.Error)) {
		t.Errorf("CodeError converts the error of a context to %v, want it unchanged", err)
	}
}

// TestStaleCodeIsRecompiled checks that code that the worker cannot use is discarded, and that the call runs with new code.
func TestStaleCodeIsRecompiled(t *testing.T) {
	discarded, released := 0, make(chan struct{}, 2)
	s := newSupervisor(t, func(c *Config) {
		prepare := c.Prepare
		c.Prepare = func(ctx context.Context) (*Launch, error) {
			l, err := prepare(ctx)
			if discarded == 0 {
				l.Setup.Plugin = "stale"
			}
			l.Discard = func() error { discarded++; return nil }
			l.Release = func() { released <- struct{}{} }
			return l, err
		}
	})
	wantEcho(t, s)
	<-released // the launch of the worker that could not use the code
	if discarded != 1 {
		t.Errorf("the compiled code was discarded %d times, want 1", discarded)
	}
}
