package grant

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// swapped repeatedly exchanges the names of each pair, until stop is called or the test ends.
func (w *world) swapped(pairs ...[2]string) (stop func()) {
	var done sync.WaitGroup
	quit := make(chan struct{})
	done.Go(func() {
		for {
			for _, pair := range pairs {
				if err := unix.Renameat2(unix.AT_FDCWD, w.path(pair[0]), unix.AT_FDCWD, w.path(pair[1]), unix.RENAME_EXCHANGE); err != nil {
					w.Errorf("exchange %q: %v", pair, err)
					return
				}
				select {
				case <-quit:
					return
				default:
				}
			}
		}
	})
	stop = sync.OnceFunc(func() { close(quit); done.Wait() })
	w.Cleanup(stop)
	return stop
}

// TestResolveUnderSwaps exchanges directories while Resolve runs. It checks, by device and inode numbers, that no handle refers to a
// forbidden directory.
func TestResolveUnderSwaps(t *testing.T) {
	w := newWorld(t)
	// As a plugin could do, replace each component of the path with a symbolic link that points outside the grant.
	w.dir("shared/a/b/c")
	w.dir("secret/b/c")
	w.dir("secret/c")
	w.link("../secret", "shared/to secret")
	w.link("../../secret", "shared/a/to secret")
	w.link("../../../secret/c", "shared/a/b/to secret")
	// The user's link contains "..". If a directory on its path is moved, ".." means a different directory.
	w.dir("disk/x")
	w.dir("disk/wanted")
	w.dir("decoy/x")
	w.dir("decoy/wanted")
	w.link("disk/x/../wanted", "user")
	w.Writable = []string{w.path("shared")}
	forbidden := map[FileID]string{}
	for _, name := range []string{"secret", "secret/b", "secret/b/c", "secret/c", "decoy/wanted", "decoy", "decoy/x"} {
		id, err := identify(w.path(name), false)
		w.must(err)
		forbidden[id] = name
	}
	w.grant(manifest.Read, "shared/a/b/c", "user")
	before := descriptors()
	stop := w.swapped(
		[2]string{"shared/a", "shared/to secret"}, [2]string{"shared/a", "shared/to secret"},
		[2]string{"shared/a/b", "shared/a/to secret"}, [2]string{"shared/a/b", "shared/a/to secret"},
		[2]string{"shared/a/b/c", "shared/a/b/to secret"}, [2]string{"shared/a/b/c", "shared/a/b/to secret"},
		[2]string{"disk/x", "decoy/x"},
	)
	refused, allowed := 0, 0
	const most = 1500
	rounds := testenv.Count(300, most, most)
	for n := 0; n < rounds || n < most && (refused == 0 || allowed == 0); n++ {
		s, err := Resolve(w.Config)
		if err != nil {
			link := (*refusedError)(nil)
			if !errors.As(err, &link) && !errors.Is(err, ErrMoved) {
				t.Errorf("got %v", err)
			}
			refused++
			continue
		}
		allowed++
		for _, m := range s.Mounts {
			var st unix.Stat_t
			if m.Dir != nil {
				w.must(unix.Fstat(int(m.Dir.Fd()), &st))
			}
			if name, bad := forbidden[fileID(&st)]; bad {
				t.Fatalf("%s was resolved to the forbidden %s", m.Granted, name)
			}
		}
		w.must(s.Close())
	}
	stop()
	if after := descriptors(); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
	if refused == 0 || allowed == 0 {
		t.Errorf("refused %d, allowed %d: want both to occur", refused, allowed)
	}
}

// TestCreateUnderSwaps checks that Create creates the directory in the resolved ancestor, or fails.
func TestCreateUnderSwaps(t *testing.T) {
	w := newWorld(t)
	w.dir("project/a")
	w.dir("secret")
	w.link("../secret", "project/link")
	w.grant(manifest.ReadWrite, "project/a/b/c")
	stop := w.swapped([2]string{"project/a", "project/link"})
	created := 0
	const most = 300
	rounds := testenv.Count(60, most, most)
	for n := 0; n < rounds || n < most && created == 0; n++ {
		s, err := Resolve(w.Config)
		if err != nil {
			continue
		}
		if s.Create(0) == nil {
			created++
		}
		w.must(s.Close())
	}
	stop()
	if got := w.entries("secret"); len(got) > 0 {
		t.Errorf("created through the link: %q", got)
	}
	if created == 0 {
		t.Error("Create never succeeded")
	}
}

func TestUnreadableAncestorOfGrantIsReported(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	w := newWorld(t)
	w.dir("a/b")
	w.grant(manifest.Read, "a/b")
	w.must(os.Chmod(w.path("a"), 0))
	t.Cleanup(func() { os.Chmod(w.path("a"), 0o700) })
	_, err := Resolve(w.Config)
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), `granted directory `+w.path("a/b")) {
		t.Errorf("got %v", err)
	}
}
