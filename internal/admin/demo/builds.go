package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// builds are the builds of the plugins, in the order of chapters.
type builds struct {
	built []chan struct{} // each is closed when the plugin is built
	ended chan struct{}   // closed when all builds have ended
	err   error           // the errors of builds; may be read after ended
}

func startBuilds(ctx context.Context, root, out string, tasks *progress.Set) *builds {
	b := &builds{ended: make(chan struct{})}
	var dirs []string
	for _, c := range chapters {
		dirs = append(dirs, filepath.Join(root, "plugins", c.plugin))
		b.built = append(b.built, make(chan struct{}))
	}
	cache, err := discovery.CacheDir(discovery.System{})
	if err != nil {
		fmt.Fprintf(tasks, "compiled modules are not cached: %v\n", err)
		cache = ""
	}
	go func() {
		defer close(b.ended)
		_, b.err = build.All(ctx, dirs, build.Options{Out: out, Progress: tasks, CacheDir: cache, Built: func(i int) { close(b.built[i]) }})
	}()
	return b
}

// await waits until a plugin is built. It returns false if it cannot be built.
func (b *builds) await(plugin int) bool {
	select {
	case <-b.built[plugin]:
		return true
	case <-b.ended:
	}
	select {
	case <-b.built[plugin]: // it was the last one
		return true
	default:
		return false
	}
}

// wait waits for the end of all builds, and returns their errors.
func (b *builds) wait() error {
	<-b.ended
	return b.err
}
