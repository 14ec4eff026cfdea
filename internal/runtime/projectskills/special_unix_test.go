//go:build unix

package projectskills

import (
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// TestFIFOBlocksNothing has FIFOs without a writer in each place where a file or directory is opened.
func TestFIFOBlocksNothing(t *testing.T) {
	s, dir := newSource(t)
	s.Dirs = append(s.Dirs, config.SkillDir{Path: filepath.Join(dir, "fifo")})
	writeSkill(t, dir, "good")
	testenv.WriteFile(t, filepath.Join(dir, "skills/bad/x"), "")
	for _, name := range []string{"fifo", "skills/fifo", "skills/bad/SKILL.md"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	list, problems := s.List(t.Context())
	if got := names(list); !slices.Equal(got, []string{"good"}) {
		t.Errorf("got %q", got)
	}
	wantProblem(t, problems, 1, "SKILL.md is not a regular file")
	wantProblem(t, problems, 1, "not a directory")
	if got, _ := s.watched(); slices.Contains(got, filepath.Join(dir, "fifo")) {
		t.Errorf("watched are %q", got)
	}
	if opened, err := s.Open("fifo"); opened != nil || err != nil {
		t.Errorf("a FIFO was opened as a skill: %v, %v", opened, err)
	}
}
