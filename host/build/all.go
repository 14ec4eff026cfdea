package build

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// atOnce is how many plugins are worked at. One is being compiled by the go tool while the other is run
// by the engine; both have long stretches that keep one processor busy.
const atOnce = 2

// All builds the plugins in dirs and goes on behind one that fails: its results are those that were built,
// in the order of dirs, and the error joins those of the others, each with its folder. Two plugins of one
// name are refused before anything is built.
func All(ctx context.Context, dirs []string, o Options) ([]Result, error) {
	b, err := newBuilder(o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	sources, problems := make([]*source, len(dirs)), make([]tomlfile.Problems, len(dirs))
	for i, dir := range dirs {
		sources[i], problems[i] = load(dir)
	}
	if err := distinct(sources).Err(); err != nil {
		return nil, err
	}
	results, failures := make([]Result, len(dirs)), make([]error, len(dirs))
	slots := make(chan struct{}, atOnce)
	var builds sync.WaitGroup
	for i := range dirs {
		slots <- struct{}{}
		builds.Go(func() {
			defer func() { <-slots }()
			results[i], failures[i] = b.build(ctx, sources[i], problems[i])
		})
	}
	builds.Wait()
	return gather(dirs, results, failures)
}

// gather returns the results of what did not fail, and an error of what did.
func gather(dirs []string, results []Result, failures []error) ([]Result, error) {
	var built []Result
	for i, err := range failures {
		var ps tomlfile.Problems
		switch {
		case err == nil:
			built = append(built, results[i])
		case errors.As(err, &ps): // of which each is a line
			failures[i] = fmt.Errorf("%s: not built:\n%w", dirs[i], err)
		default:
			failures[i] = fmt.Errorf("%s: not built: %w", dirs[i], err)
		}
	}
	return built, errors.Join(failures...)
}

// distinct refuses plugins that would be built into the same folder.
func distinct(sources []*source) tomlfile.Problems {
	var ps tomlfile.Problems
	first := map[string]*source{}
	for _, s := range sources {
		if s == nil || s.m.Name == "" {
			continue // its own problems say so
		}
		if other, ok := first[s.m.Name]; ok {
			ps = append(ps, s.problem("plugin", "name", fmt.Sprintf("%s is the name of the plugin in %s too", tomlfile.Quote(s.m.Name), other.dir),
				"rename one, or build them into different folders"))
			continue
		}
		first[s.m.Name] = s
	}
	return ps
}
