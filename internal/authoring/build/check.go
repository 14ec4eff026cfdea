package build

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Check returns all problems of the plugin in dir, by file and line: the problems of its manifest, and those of its module
// unless the module has yet to be built. It writes only to the cache, and ignores o.Out and o.Progress.
func Check(ctx context.Context, dir string, o Options) tomlfile.Problems {
	s, ps := load(dir)
	if s == nil {
		return ps
	}
	ps = append(ps, slices.Concat(s.check(), s.warnOfCost())...)
	if filepath.IsLocal(s.m.Module.File) { // load has reported any other path
		ps = append(ps, checkModule(ctx, s, o)...)
	}
	return sortByLine(ps)
}

func checkModule(ctx context.Context, s *source, o Options) tomlfile.Problems {
	module, err := s.openModule()
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.hasBuild() && s.m.Module.SHA256 == "":
		return nil
	case err != nil:
		return tomlfile.Problems{s.openProblem(err)}
	}
	module.Close()
	b, err := newBuilder(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		return tomlfile.Problems{s.problem("module", "file", "was not examined: "+err.Error(), "")}
	case err != nil:
		return tomlfile.Problems{{File: o.CacheDir, What: err.Error(), Remedy: "name a writable directory"}}
	}
	defer b.close()
	return b.inspect(ctx, s, filepath.Join(s.m.Dir, s.m.Module.File), s.m.Module.SHA256)
}
