package discovery

import (
	"errors"

	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

// InvalidError says that the config cannot be used. Its text is that of Problems, which name the file, line, key and remedy.
type InvalidError struct {
	File     string
	Included []string // files that the config includes, or would if they could be read
	Problems tomlfile.Problems
}

func (e *InvalidError) Error() string { return e.Problems.Error() }

func (e *InvalidError) Unwrap() error { return e.Problems }

// FindOrExplain is like Find, but if o.ServeNothing is set and the config is invalid, or there are no plugins, it returns a Found
// without plugins, with the reason in Invalid or NoPlugins.
func FindOrExplain(o Options) (*Found, error) {
	found, err := Find(o)
	invalid, none := (*InvalidError)(nil), (*NoPluginsError)(nil)
	if !o.ServeNothing || !errors.As(err, &invalid) && !errors.As(err, &none) {
		return found, err
	}
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	places, err := findPlaces(o)
	if err != nil {
		return nil, err
	}
	explained := &Found{Options: o, Invalid: invalid, NoPlugins: none, Places: places, CacheDir: cacheDir(o.System)}
	if invalid != nil {
		explained.Config = invalid.File
	}
	return explained, nil
}
