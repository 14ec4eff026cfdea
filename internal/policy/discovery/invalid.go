package discovery

import (
	"errors"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// InvalidError says that the config cannot be used. Its text is that of Problems, which name the file, line, key and remedy.
type InvalidError struct {
	File     string
	Included []string // files that the config includes, or would if they could be read
	Problems tomlfile.Problems

	empty       bool // whether the files can be used, but let no plugin be served
	sourcesOnly bool // whether they are empty, but have [sources]
}

func (e *InvalidError) Error() string { return e.Problems.Error() }

func (e *InvalidError) Unwrap() error { return e.Problems }

// SourcesOnly reports whether the only problem is that no plugin was added yet from the sources that the config names.
func (e *InvalidError) SourcesOnly() bool { return e.sourcesOnly }

// FindOrExplain is like Find, but if o.ServeNothing is set and the config is invalid, or there are no plugins, it returns a Found
// without plugins, with the reason in Invalid or NoPlugins.
func FindOrExplain(o Options) (*Found, error) {
	found, err := Find(o)
	invalid, none := (*InvalidError)(nil), (*NoPluginsError)(nil)
	if !o.ServeNothing || !errors.As(err, &invalid) && !errors.As(err, &none) {
		return found, err
	}
	return nothing(o, invalid, none)
}

// FindForReload is like Find for a host that serves plugins already. If the last plugin was removed, or may not be served any more,
// it returns a Found without plugins, with the reason in Invalid or NoPlugins. If there are plugins but none is built, it returns an
// error, since a module may be about to be replaced.
func FindForReload(o Options) (*Found, error) {
	found, err := Find(o)
	invalid, none, missing := (*InvalidError)(nil), (*NoPluginsError)(nil), (*missingError)(nil)
	switch {
	case errors.As(err, &none) && !none.unbuilt, errors.As(err, &invalid) && invalid.empty:
		return nothing(o, invalid, none)
	case !errors.As(err, &missing):
	case missing.plugin != "" && len(o.Plugins) > 1:
		o.Plugins = slices.DeleteFunc(slices.Clone(o.Plugins), func(name string) bool { return name == missing.plugin })
		return FindForReload(o)
	default:
		found, err = nothing(o, nil, &NoPluginsError{problem: err.Error(), remedy: "restore what was removed, or start the server with other options"})
		if err == nil {
			found.Config, found.Files = missing.config, missing.files
		}
	}
	return found, err
}

// nothing returns a Found without plugins, with the reason.
func nothing(o Options, invalid *InvalidError, none *NoPluginsError) (*Found, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	places, err := findPlaces(o)
	if err != nil {
		return nil, err
	}
	f := &Found{Options: o, Invalid: invalid, NoPlugins: none, Places: places, CacheDir: cacheDir(o.System)}
	if invalid != nil {
		f.Config = invalid.File
	}
	return f, nil
}
