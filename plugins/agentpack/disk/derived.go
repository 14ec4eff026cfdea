package disk

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Derived returns the value that the function "of" derives from a file of at most limit bytes. If the file has not
// changed since an earlier call, the value comes from the host's cache. The result ok is false if the file does not
// exist or cannot be read.
func Derived[T any](of *derive.Func[T], path string, limit int64) (value T, ok bool) {
	name := filepath.Base(path)
	// The loop ends at the entry of the file, so Max limits how many later entries the host returns for nothing.
	for e, err := range of.Scan(filepath.Dir(path), scan.Options{Match: []string{escape.Replace(name)}, Follow: true, MaxFile: limit, Max: 16 << 10}) {
		switch {
		case err != nil || e.Path > name:
			return value, false
		case e.Path == name:
			return e.Value, e.Derived
		}
	}
	return value, false
}

// escape turns a file name into a pattern that matches only this name.
var escape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
