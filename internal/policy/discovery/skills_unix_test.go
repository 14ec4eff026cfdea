//go:build unix

package discovery

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

func TestSkillsThatAreAFIFOBlockNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "skills"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &Found{Places: config.Places{Project: dir}}
	f.SkillDirs = []config.SkillDir{{Path: "${project}/skills"}}
	if s := f.skillFiles(); len(s.paths) != 1 {
		t.Errorf("watched are %q", s.paths)
	}
}
