package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestUIRefusesMissingConfig(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	stop() // a server would end at once
	c := newUI()
	c.SetArgs([]string{"--no-open", "--config", filepath.Join(t.TempDir(), "nope.toml")})
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	if err := c.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("got %v", err)
	}
}
