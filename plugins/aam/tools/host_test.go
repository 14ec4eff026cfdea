package tools

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestOpen(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	tests := []struct {
		name                  string
		project, home         string // the values of environment variables
		wantProject, wantHome string
	}{
		{"the host's project", other, "/home/me/", other, "/home/me"},
		{"else the working directory", "", "/home/me", cwd, "/home/me"},
		{"no home", other, "", other, ""},
		{"a home that is no absolute path", other, "me", other, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BULKHEAD_PROJECT", test.project)
			t.Setenv("HOME", test.home)
			m, err := open(context.Background())
			if err != nil || m.Project != test.wantProject || m.Home != test.wantHome || m.Now.IsZero() {
				t.Errorf("got project %s, home %s, %v", m.Project, m.Home, err)
			}
		})
	}
}

func TestHostWithoutOptionalOperations(t *testing.T) {
	for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if err := lock("x", folder); err != nil {
			t.Errorf("lock without support by the host: %v", err)
		}
	}
	if mode, err := modes(filepath.Join(t.TempDir(), "x"), nil); err != nil || mode != 0o644 {
		t.Errorf("modes without support by the host: %v, %v", mode, err)
	}
	if prober(context.Background())("https://example.org") {
		t.Error("a server answers where there is no network")
	}
}
