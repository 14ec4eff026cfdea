package review

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// maxFiles bounds the files that CompareFiles names.
const maxFiles = 10

// CompareFiles says which files differ between two sets, which have the digest of each file by its name. The names are untrusted.
func CompareFiles(old, new map[string]string) []string {
	var all []string
	for name, sum := range old {
		switch now, has := new[name]; {
		case !has:
			all = append(all, visible.Text(name)+" is missing now")
		case now != sum:
			all = append(all, visible.Text(name)+" has changed")
		}
	}
	for name := range new {
		if _, has := old[name]; !has {
			all = append(all, visible.Text(name)+" is new")
		}
	}
	slices.Sort(all)
	if len(all) > maxFiles {
		all = append(all[:maxFiles], fmt.Sprintf("and %d more", len(all)-maxFiles))
	}
	return all
}
