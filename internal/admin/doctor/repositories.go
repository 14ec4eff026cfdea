package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// staleLock is an age at which git's lock of a file is hardly that of a program that still runs.
const staleLock = 10 * time.Minute

// repositories warns of locks in the repositories that a plugin may change. One that a killed process left is removed by neither git nor the
// host, which cannot know whose it is.
func (e *examination) repositories(s *catalog.Plugin) {
	for _, g := range s.Grant.Git {
		if !g.Access.Covers(manifest.ReadWrite) {
			continue
		}
		for _, name := range []string{"index.lock", "HEAD.lock"} {
			file := filepath.Join(g.Repo, ".git", name)
			info, err := os.Lstat(file)
			if err != nil || time.Since(info.ModTime()) < staleLock {
				continue
			}
			e.warn("plugin "+s.Name, fmt.Sprintf("%s exists since %s: a program that changed the repository was probably interrupted, and git and the plugin refuse further changes",
				visible.Text(file), info.ModTime().Format(time.DateTime)), "if no program changes the repository now, remove that file")
		}
	}
}
