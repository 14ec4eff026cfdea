package disk

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Derived returns the result of a derive function for a file of at most limit bytes. If the file is unchanged since an
// earlier call, the result is from the host's cache. It returns false if the file does not exist or cannot be read.
func Derived[T any](of *derive.Func[T], path string, limit int64) (value T, ok bool) {
	name := filepath.Base(path)
	// The loop ends at the file, so Max limits how many further entries the host returns.
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

// escape makes a name a pattern that matches only this name.
var escape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
