package create

import (
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// maxName bounds a name, in code points.
const maxName = 64

// Name turns a string into a valid name: lower case, with hyphens for other characters; otherwise if nothing is left.
func Name(text, otherwise string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			out.WriteRune(r)
		} else {
			out.WriteByte('-')
		}
	}
	name := strings.Trim(out.String(), "-")
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-")
	}
	if name == "" {
		return otherwise
	}
	return name
}

// rename makes the names of artifacts valid, and unique within a type by appending a number.
func rename(artifacts []manifest.Artifact) {
	taken := map[manifest.Type]map[string]bool{}
	for i := range artifacts {
		a := &artifacts[i]
		if taken[a.Type] == nil {
			taken[a.Type] = map[string]bool{}
		}
		base := Name(a.Name, string(a.Type))
		a.Name = base
		for n := 2; taken[a.Type][a.Name]; n++ {
			suffix := "-" + strconv.Itoa(n)
			a.Name = strings.TrimRight(base[:min(len(base), maxName-len(suffix))], "-") + suffix
		}
		taken[a.Type][a.Name] = true
	}
}
