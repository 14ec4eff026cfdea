package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// maxBuilds returns the maximum number of concurrent builds. One of them runs its build command. The engine compiles the
// modules of the other builds, each mostly on one processor.
func maxBuilds() int { return runtime.GOMAXPROCS(0) + 1 }

// turns make one module at a time, in the order of the builds: two go tools with an empty cache would each compile the standard
// library, one go tool can use all processors, and the first plugin should not wait for others.
type turns struct{ last *turn }

// turn is a build's turn to make its module. It comes when the build before it ends its turn.
type turn struct {
	before *turn
	ended  chan struct{}
	end    func() // ends the turn; further calls have no effect
}

func (t *turns) next() *turn {
	ended := make(chan struct{})
	t.last = &turn{before: t.last, ended: ended, end: sync.OnceFunc(func() { close(ended) })}
	return t.last
}

func (t *turn) wait() {
	if t.before != nil {
		<-t.before.ended
		t.before = nil // and so all turns before it
	}
}

// All builds the plugins in dirs concurrently, makes their modules in the order of dirs, and continues after a failure. It returns the results of the successful builds
// in the order of dirs, and the joined errors of the failed builds, each with its directory. If a directory is given twice, or
// plugin names are duplicate, All returns an error and builds nothing.
func All(ctx context.Context, dirs []string, o Options) ([]Result, error) {
	b, err := newBuilder(ctx, o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	sources, problems := make([]*source, len(dirs)), make([]tomlfile.Problems, len(dirs))
	for i, dir := range dirs {
		sources[i], problems[i] = load(dir)
	}
	if err := duplicateNames(sources).Err(); err != nil {
		return nil, err
	}
	results, failures, tasks := make([]Result, len(dirs)), make([]error, len(dirs)), make([]*progress.Task, len(dirs))
	for i, dir := range dirs {
		tasks[i] = o.Progress.Add(taskName(dir, sources[i]))
	}
	slots := make(chan struct{}, maxBuilds())
	var builds sync.WaitGroup
	var order turns
	for i := range dirs {
		slots <- struct{}{}
		turn := order.next()
		builds.Go(func() {
			defer func() { <-slots }()
			results[i], failures[i] = b.build(ctx, sources[i], problems[i], turn, tasks[i])
			if failures[i] == nil && o.Built != nil {
				o.Built(i)
			}
		})
	}
	builds.Wait()
	if len(dirs) == 1 {
		o.LeftOut = nil
	}
	return gather(dirs, results, failures, o.LeftOut)
}

// taskName names the build of a source, which is nil if its manifest cannot be parsed.
func taskName(dir string, s *source) string {
	if s == nil || s.m.Name == "" {
		return dir
	}
	return s.m.Name
}

// gather returns the results without failures, and the joined failures. It passes plugins whose build commands lack a tool to leftOut,
// unless that is nil.
func gather(dirs []string, results []Result, failures []error, leftOut func(UnavailableError)) ([]Result, error) {
	var built []Result
	for i, err := range failures {
		var ps tomlfile.Problems
		var lacking *UnavailableError
		switch {
		case err == nil:
			built = append(built, results[i])
		case errors.As(err, &lacking) && leftOut != nil:
			leftOut(*lacking)
			failures[i] = nil
		case errors.As(err, &ps): // each problem is a line
			failures[i] = fmt.Errorf("%s: not built:\n%w", dirs[i], err)
		default:
			failures[i] = fmt.Errorf("%s: not built: %w", dirs[i], err)
		}
	}
	return built, errors.Join(failures...)
}

// sameDirectory reports whether two existing paths are the same directory.
func sameDirectory(a, b string) bool {
	one, err := os.Stat(a)
	other, oerr := os.Stat(b)
	return err == nil && oerr == nil && os.SameFile(one, other)
}

// duplicateNames reports directories that are given twice, and plugins that would be built into the same directory.
func duplicateNames(sources []*source) tomlfile.Problems {
	var ps tomlfile.Problems
	first := map[string]*source{}
	for _, s := range sources {
		if s == nil || s.m.Name == "" {
			continue // reported by load
		}
		other, ok := first[s.m.Name]
		if ok && sameDirectory(s.m.Dir, other.m.Dir) {
			ps = append(ps, tomlfile.Problem{File: s.dir, What: "is given twice", Remedy: "name each plugin's directory once"})
			continue
		}
		if ok {
			ps = append(ps, s.problem("plugin", "name", fmt.Sprintf("%s is also the name of the plugin in %s", tomlfile.Quote(s.m.Name), other.dir),
				"rename one, or build them into different directories"))
			continue
		}
		first[s.m.Name] = s
	}
	return ps
}
