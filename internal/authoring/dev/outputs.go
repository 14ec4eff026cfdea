package dev

import (
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/watch"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxStreak is the number of builds in a row during which a file may change before it is suspected to be an output.
const maxStreak = 4

// maxDigested bounds, in bytes, the files that are compared by content. Larger ones count as changed.
const maxDigested = 16 << 20

// outputs recognizes files among the sources that builds write. A file that changes during a build causes another build, since the user
// may have saved it, unless its content is that after the build before, which the build has read. Programs save sources for minutes, so
// that a file which changes in more than maxStreak builds in a row is only suspected. The next build begins when no source has changed for
// a while. A file that changes during this build, too, is an output: its changes during builds are ignored until a build does not change it.
type outputs struct {
	known    map[string]bool
	suspects map[string]suspect // files that changed during the last build
}

type suspect struct {
	digest string // of the content after the last build; empty: unknown
	streak int    // number of builds in a row during which the file changed
}

// add records which files changed during a build. calm reports whether no source had changed for a while before the build. It returns when
// another build is needed, and the outputs that it recognized.
func (o *outputs) add(changed []string, calm bool, digest func(path string) string) (next watch.Next, found []string) {
	suspects, known := map[string]suspect{}, map[string]bool{}
	for _, path := range changed {
		before := o.suspects[path]
		now := suspect{digest(path), before.streak + 1}
		switch {
		case o.known[path]:
			known[path] = true
			continue
		case calm && before.streak > maxStreak:
			known[path], found = true, append(found, path)
			continue
		case now.streak > maxStreak:
			next = max(next, watch.AfterCalm)
		case before.streak == 0, now.digest != before.digest, now.digest == "":
			next = watch.AtOnce
		}
		suspects[path] = now
	}
	o.suspects, o.known = suspects, known
	return next, found
}

// digestFile returns a digest of the content of a file; empty if the file cannot be read or is too large.
func digestFile(path string) string {
	data, err := filesystem.ReadFile(filesystem.OS{}, path, maxDigested)
	if err != nil {
		return ""
	}
	return userfile.Digest(data)
}
