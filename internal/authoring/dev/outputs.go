package dev

import (
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxStreak is the number of builds in a row during which a file may change before it counts as an output.
const maxStreak = 4

// maxDigested bounds, in bytes, the files that are compared by content. Larger ones count as changed.
const maxDigested = 16 << 20

// outputs recognizes files among the sources that builds write. A file that changes during a build causes another build, since the user
// may have saved it. If the file changes in that build too, and its content is the same as after the build before, or if it changes in
// more than maxStreak builds in a row, it is an output: from then on its changes during builds are ignored.
type outputs struct {
	known    map[string]bool
	suspects map[string]suspect // files that changed during the last build
}

type suspect struct {
	digest string // of the content after the last build; empty: unknown
	streak int    // number of builds in a row during which the file changed
}

// add records which files changed during a build. It reports whether another build is needed, and the outputs that it recognized.
func (o *outputs) add(changed []string, digest func(path string) string) (again bool, found []string) {
	suspects := map[string]suspect{}
	for _, path := range changed {
		if o.known[path] {
			continue
		}
		before := o.suspects[path]
		now := suspect{digest(path), before.streak + 1}
		if before.streak > 0 && now.digest == before.digest && now.digest != "" || now.streak > maxStreak {
			if o.known == nil {
				o.known = map[string]bool{}
			}
			o.known[path] = true
			found = append(found, path)
			continue
		}
		suspects[path], again = now, true
	}
	o.suspects = suspects
	return again, found
}

// digestFile returns a digest of the content of a file; empty if the file cannot be read or is too large.
func digestFile(path string) string {
	data, err := filesystem.ReadFile(filesystem.OS{}, path, maxDigested)
	if err != nil {
		return ""
	}
	return userfile.Digest(data)
}
