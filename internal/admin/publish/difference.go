package publish

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// differences says what distinguishes an archive from the published one. The published one is untrusted.
func differences(published, now []byte) []string {
	before, err := archive.Parse(published)
	if err != nil {
		return []string{fmt.Sprintf("what is published is not the archive of a plugin: %v", err)}
	}
	after, err := archive.Parse(now)
	if err != nil {
		return []string{err.Error()}
	}
	old, current := digests(before), digests(after)
	all := review.CompareFiles(old, current)
	if old[sourcesFile] != current[sourcesFile] && old[sourcesFile] != "" && current[sourcesFile] != "" {
		for _, d := range review.CompareFiles(sources(before), sources(after)) {
			all = append(all, sourcesFile+": "+d)
		}
	}
	return all
}

// digests returns the digest of each file by its name.
func digests(files []archive.File) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = userfile.Digest(f.Data)
	}
	return all
}

// sources returns the digest of each source of the list in an archive, by its name.
func sources(files []archive.File) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		if f.Name != sourcesFile {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			if sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
				all[name] = sum
			}
		}
	}
	return all
}
