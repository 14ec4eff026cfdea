package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
)

// derived checks whether derived data can be stored. Without a usable cache it adds no check, since the check "cache" reports that.
func (e *examination) derived() {
	if e.cached == "" {
		return
	}
	dir := derived.Dir(e.cached)
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil // the host will create the directory in the cache, which is writable
	case err != nil:
		err = fmt.Errorf("cannot be accessed: %w", usage.Cause(err))
	case !info.IsDir():
		err = errors.New("is not a directory")
	default:
		err = writable(dir)
	}
	sets, lerr := derived.List(dir)
	if err == nil && lerr != nil {
		err = fmt.Errorf("cannot be read: %w", usage.Cause(lerr))
	}
	if err != nil {
		e.warn("derived data", fmt.Sprintf("%s %v: files are parsed again by each new worker", dir, err), "remove it: the host creates it again")
		return
	}
	var size int64
	for _, s := range sets {
		size += s.Size
	}
	e.ok("derived data", "%s: %.1f MB, at most %.0f MB", dir, float64(size)/1e6, float64(derived.MaxTotal)/1e6)
}
