package build

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Check says everything that is wrong with the plugin in dir, by file and line: with its manifest, and,
// where the module is there, with that. A source whose module has yet to be built is in order. It writes
// nothing but the cache. Of o it uses neither Out nor Progress.
func Check(ctx context.Context, dir string, o Options) tomlfile.Problems {
	s, ps := load(dir)
	if s == nil {
		return ps
	}
	ps = append(ps, s.check()...)
	if filepath.IsLocal(s.m.Module.File) { // else a problem says so
		ps = append(ps, checkModule(ctx, s, o)...)
	}
	return byLine(ps)
}

func checkModule(ctx context.Context, s *source, o Options) tomlfile.Problems {
	module, err := s.openModule()
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.makes() && s.m.Module.SHA256 == "":
		return nil
	case err != nil:
		return tomlfile.Problems{s.unopened(err)}
	}
	module.Close()
	b, err := newBuilder(o)
	if err != nil {
		return tomlfile.Problems{{File: o.CacheDir, What: err.Error(), Remedy: "name a folder that can be written"}}
	}
	defer b.close()
	return b.inspect(ctx, s, filepath.Join(s.m.Dir, s.m.Module.File), s.m.Module.SHA256)
}
