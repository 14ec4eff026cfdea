package discovery

import (
	"errors"

	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

// InvalidError says that the config cannot be used. Its text is that of Problems, which name the file, line, key and remedy.
type InvalidError struct {
	File     string
	Problems tomlfile.Problems
}

func (e *InvalidError) Error() string { return e.Problems.Error() }

func (e *InvalidError) Unwrap() error { return e.Problems }

// FindOrExplain is like Find, but if the config is invalid and o.ServeNothing is set, it returns a Found without plugins, with the
// reason in Invalid.
func FindOrExplain(o Options) (*Found, error) {
	found, err := Find(o)
	invalid := (*InvalidError)(nil)
	if !o.ServeNothing || !errors.As(err, &invalid) {
		return found, err
	}
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	places, err := findPlaces(o)
	if err != nil {
		return nil, err
	}
	return &Found{Options: o, Config: invalid.File, Invalid: invalid, Places: places, CacheDir: cacheDir(o.System)}, nil
}
