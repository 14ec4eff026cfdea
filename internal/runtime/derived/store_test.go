//go:build unix

package derived

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

const module = "0123456789abcdef0123456789abcdef"

// host is the Store of a host, with a fake clock.
type host struct {
	*Store
	at *clock
}

func newHost(t *testing.T, dir string) host {
	t.Helper()
	h := host{NewStore(Dir(dir), hclog.NewNullLogger()), &clock{start}}
	h.now = h.at.now
	return h
}

func (h host) set(t *testing.T, plugin string) *Set {
	t.Helper()
	set, err := h.Set(plugin, module, []string{"/granted"})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// worker returns the handles of a new worker.
func (h host) worker(t *testing.T, plugin string) *Handles {
	t.Helper()
	handles, err := h.set(t, plugin).Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handles.Close() }) // a Cache may have closed them
	return handles
}

// settle waits until all chunks that were accepted are written.
func (h host) settle() { h.work.Wait() }

func record(n int, data string) []byte { return appendRecord(nil, old(n), []byte(data)) }

func TestNextWorkerFindsResults(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, dir)
	first := h.worker(t, "notes")
	c, _ := newCache(t, first)
	get(t, c, old(1), "a")
	for _, chunk := range c.Take(1 << 20) {
		first.Take(chunk)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	next, _ := newCache(t, newHost(t, dir).worker(t, "notes"))
	if got, computed := get(t, next, old(1), "b"); got != "a" || computed {
		t.Errorf("got %q, computed: %t", got, computed)
	}
	if chunks := next.Take(1 << 20); chunks != nil {
		t.Error("a record of the newer file is sent again")
	}
}

func TestResultsAreKeptApart(t *testing.T) {
	h := newHost(t, t.TempDir())
	h.worker(t, "notes").Take(record(1, "a"))
	h.settle()
	for name, open := range map[string]func() (*Set, error){
		"plugin": func() (*Set, error) { return h.Set("other", module, []string{"/granted"}) },
		"module": func() (*Set, error) {
			return h.Set("notes", strings.ReplaceAll(module, "0", "1"), []string{"/granted"})
		},
		"module with the same prefix": func() (*Set, error) { return h.Set("notes", module+"0", []string{"/granted"}) },
		"grants":                      func() (*Set, error) { return h.Set("notes", module, []string{"/granted", "/more"}) },
	} {
		set, err := open()
		if err != nil {
			t.Fatal(err)
		}
		handles, err := set.Open()
		if err != nil || handles.Newer != nil || handles.Older != nil {
			t.Errorf("another %s: %+v, %v", name, handles, err)
		}
	}
	// The tag in the header, not the name of a file, decides to which set the file belongs.
	if err := os.Rename(filepath.Join(h.dir, h.set(t, "notes").name+newerSuffix), filepath.Join(h.dir, h.set(t, "other").name+newerSuffix)); err != nil {
		t.Fatal(err)
	}
	c, _ := newCache(t, h.worker(t, "other"))
	if got, computed := get(t, c, old(1), "b"); got != "b" || !computed {
		t.Errorf("got %q from a renamed file", got)
	}
}

func TestSetRefusesNamesThatAreNoFileNames(t *testing.T) {
	h := newHost(t, t.TempDir())
	for _, plugin := range []string{"", "../x", "a/b", "A", strings.Repeat("a", 65)} {
		if _, err := h.Set(plugin, module, nil); err == nil {
			t.Errorf("accepts the plugin %q", plugin)
		}
	}
	if _, err := h.Set("a", "short", nil); err == nil {
		t.Error("accepts a module digest that is too short")
	}
}

// A result in the older file is written again when it is used, so that it outlives the file.
func TestResultsInUseOutliveRotation(t *testing.T) {
	h := newHost(t, t.TempDir())
	w := h.worker(t, "notes")
	w.Take(record(1, "used"))
	w.Take(record(2, "unused"))
	h.settle()
	for range 3 {
		if err := h.rotate(h.set(t, "notes").name); err != nil {
			t.Fatal(err)
		}
		next := h.worker(t, "notes")
		c, _ := newCache(t, next)
		if got, computed := get(t, c, old(1), "new"); got != "used" || computed {
			t.Fatalf("got %q, computed: %t", got, computed)
		}
		for _, chunk := range c.Take(1 << 20) {
			next.Take(chunk)
		}
		h.settle()
	}
	c, _ := newCache(t, h.worker(t, "notes"))
	if _, computed := get(t, c, old(2), "new"); !computed {
		t.Error("an unused result is kept forever")
	}
}

func TestFilesAreBounded(t *testing.T) {
	h := newHost(t, t.TempDir())
	w := h.worker(t, "notes")
	data := strings.Repeat("x", maxData)
	for n := range 100 {
		h.at.at = h.at.at.Add(time.Second) // one second allows 1 MiB
		w.Take(record(n, data))
		h.settle()
	}
	all, err := List(h.dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("List returns %v, want one set: %v", all, err)
	}
	if all[0].Size > 2*maxFile || all[0].Size < maxFile {
		t.Errorf("the files have %d bytes", all[0].Size)
	}
	c, _ := newCache(t, h.worker(t, "notes"))
	if _, computed := get(t, c, old(99), ""); computed {
		t.Error("the newest record was lost")
	}
}

// A worker that sends records without end can neither fill the host's memory nor keep its disk busy.
func TestFloodOfRecordsIsDropped(t *testing.T) {
	h := newHost(t, t.TempDir())
	w := h.worker(t, "notes")
	held, err := h.lock() // no chunk can be written while the lock is held
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, MaxRecord)
	for range 100 {
		w.Take(chunk)
	}
	w.set.mu.Lock()
	if w.set.waiting > maxWaiting {
		t.Errorf("%d bytes wait to be written, above maxWaiting", w.set.waiting)
	}
	w.set.mu.Unlock()
	_ = held.Close()
	h.settle()
	written := 0
	for range 1000 {
		before := w.set.allowance
		w.Take(chunk)
		if w.set.allowance < before {
			written++
		}
		h.settle()
	}
	if written*MaxRecord > burst {
		t.Errorf("%d of 1000 MiB were written at once", written)
	}
	w.Take(make([]byte, MaxRecord+1))
	h.at.at = h.at.at.Add(time.Hour)
	before := w.set.allowance
	w.Take(make([]byte, MaxRecord+1))
	if w.set.allowance < before {
		t.Error("a chunk larger than a record was taken")
	}
}

// Small chunks use many times the memory of their bytes, and each chunk costs a write.
func TestFloodOfSmallChunksIsDropped(t *testing.T) {
	h := newHost(t, t.TempDir())
	w := h.worker(t, "notes")
	held, err := h.lock() // no chunk can be written while the lock is held
	if err != nil {
		t.Fatal(err)
	}
	for range 100_000 {
		w.Take([]byte{1})
	}
	w.set.mu.Lock()
	if most := maxWaiting >> 10; len(w.set.chunks) > most {
		t.Errorf("%d chunks wait, want at most %d", len(w.set.chunks), most)
	}
	w.set.mu.Unlock()
	_ = held.Close()
	h.settle()
}

func TestHostsAppendConcurrently(t *testing.T) {
	dir := t.TempDir()
	const hosts, each = 4, 200
	var all sync.WaitGroup
	for n := range hosts {
		h := newHost(t, dir)
		w := h.worker(t, "notes")
		all.Go(func() {
			for i := range each {
				w.Take(record(n*each+i, fmt.Sprint(n, i)))
			}
			_ = h.Close() // Close always returns nil
		})
	}
	all.Wait()
	c, _ := newCache(t, newHost(t, dir).worker(t, "notes"))
	for n := range hosts {
		for i := range each {
			if got, computed := get(t, c, old(n*each+i), ""); got != fmt.Sprint(n, i) || computed {
				t.Fatalf("record %d of host %d: %q", i, n, got)
			}
		}
	}
}

// A damaged file is replaced once a worker has reported it. The records before the damage are still used.
func TestDamagedFileIsReplaced(t *testing.T) {
	h := newHost(t, t.TempDir())
	w := h.worker(t, "notes")
	w.Take(record(1, "before"))
	w.Take([]byte(strings.Repeat("garbage", 20)))
	w.Take(record(2, "behind"))
	h.settle()
	find := func() *Handles {
		next := h.worker(t, "notes")
		c, _ := newCache(t, next)
		if got, _ := get(t, c, old(1), ""); got != "before" {
			t.Fatalf("got %q", got)
		}
		get(t, c, old(2), "computed")
		for _, chunk := range c.Take(1 << 20) {
			next.Take(chunk)
		}
		h.settle()
		return next
	}
	late := find()
	c, _ := newCache(t, h.worker(t, "notes"))
	if got, computed := get(t, c, old(2), ""); got != "computed" || computed {
		t.Errorf("got %q, computed: %t", got, computed)
	}
	if c.damaged {
		t.Error("the new file is damaged too")
	}
	late.Take(nil) // a second report of the same file is out of date
	h.settle()
	if next := h.worker(t, "notes"); next.Newer == nil {
		t.Error("a new file was replaced on a report of an old one")
	}
}

// TestTornWriteIsRemoved runs in a process of its own, since the limit of file sizes applies to the whole process, which may also write the log of
// package testing.
func TestTornWriteIsRemoved(t *testing.T) {
	const child = "BULKHEAD_TEST_TORN_WRITE"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTornWriteIsRemoved$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestTornWriteIsRemoved") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	h := newHost(t, t.TempDir())
	w := h.worker(t, "notes")
	w.Take(record(1, strings.Repeat("a", 900<<10)))
	h.settle()
	path := filepath.Join(h.dir, w.set.name+newerSuffix)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	// The limit makes the system write a part of the record, like a full disk.
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(info.Size()) + 20, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err = h.append(w.set.name, w.set.tag, [][]byte{record(2, "b")})
	if rerr := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); rerr != nil {
		t.Fatal(rerr)
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("got %v", err)
	}
	if after, err := os.Stat(path); err != nil || after.Size() != info.Size() {
		t.Errorf("the file has %d bytes, and had %d before: %v", after.Size(), info.Size(), err)
	}
}

func TestUnusableDirectoryIsNoError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(Dir(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, dir)
	w, err := h.set(t, "notes").Open()
	if err == nil {
		t.Fatalf("files in an unusable directory are opened: %+v", w)
	}
	w = &Handles{set: h.set(t, "notes")}
	w.Take(record(1, "a"))
	h.settle()
	if w.set.failed.IsZero() {
		t.Error("the failure is not remembered")
	}
	before := w.set.allowance
	w.Take(record(1, "a"))
	if w.set.allowance != before {
		t.Error("a write is tried again immediately after a failure")
	}
	if err := os.Remove(Dir(dir)); err != nil {
		t.Fatal(err)
	}
	h.at.at = h.at.at.Add(retryTime)
	w.Take(record(1, "a"))
	h.settle()
	if h.worker(t, "notes").Newer == nil {
		t.Error("no write is tried after retryTime")
	}
}

func TestDirectoryThatOthersCanWriteIsRefusedWithRemedy(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := newHost(t, dir).lock(); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("got %v", err)
	}
}

func TestOpenRefusesSpecialFiles(t *testing.T) {
	h := newHost(t, t.TempDir())
	set := h.set(t, "notes")
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.dir, set.name+newerSuffix)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, create := range map[string]func() error{
		"FIFO": func() error { return syscall.Mkfifo(path, 0o600) }, "link": func() error { return os.Symlink(secret, path) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if _, err := set.Open(); err == nil {
			t.Errorf("a %s is opened", name)
		}
		if err := h.append(set.name, set.tag, [][]byte{record(1, "a")}); err == nil {
			t.Errorf("a %s is written to", name)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if content, err := os.ReadFile(secret); err != nil || len(content) > 0 {
		t.Errorf("the target of the link contains %q, want nothing: %v", content, err)
	}
}

func TestLeastRecentlyUsedSetsAreEvicted(t *testing.T) {
	h := newHost(t, t.TempDir())
	h.max = 2500
	add := func(plugin string) {
		h.worker(t, plugin).Take(record(1, strings.Repeat("x", 800)))
		h.settle()
		path := filepath.Join(h.dir, h.set(t, plugin).name+newerSuffix)
		if err := os.Chtimes(path, h.now(), h.now()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		h.at.at = h.at.at.Add(time.Hour)
	}
	plugins := func() string {
		all, err := List(h.dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, item := range all {
			names = append(names, item.Plugin)
		}
		return strings.Join(names, " ")
	}
	add("a")
	add("b")
	h.worker(t, "a") // uses the entry of a, so b is the oldest
	h.at.at = h.at.at.Add(time.Hour)
	add("c")
	if got := plugins(); got != "a c" {
		t.Errorf("the sets of %s are left, want a and c", got)
	}
	h.at.at = h.at.at.Add(unusedAge)
	add("d")
	if got := plugins(); got != "d" {
		t.Errorf("the sets of %s are left after a month, want d", got)
	}
}

func TestClear(t *testing.T) {
	h := newHost(t, t.TempDir())
	if gone, err := h.Clear(""); err != nil || gone != nil {
		t.Errorf("without directory: %v, %v", gone, err)
	}
	for _, plugin := range []string{"a", "a-b", "c"} {
		h.worker(t, plugin).Take(record(1, "x"))
	}
	h.settle()
	other := filepath.Join(h.dir, "other.new")
	if err := os.WriteFile(other, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	running := h.worker(t, "a")
	if gone, err := h.Clear("a"); err != nil || len(gone) != 1 || gone[0].Plugin != "a" || gone[0].Size == 0 || gone[0].Module != module[:16] {
		t.Errorf("Clear removes %v, want the set of the plugin a: %v", gone, err)
	}
	running.Take(record(2, "y")) // a worker of a server that is still running
	h.settle()
	if all, err := List(h.dir); err != nil || len(all) != 3 {
		t.Errorf("List returns %v, want three sets: %v", all, err)
	}
	if gone, err := h.Clear(""); err != nil || len(gone) != 3 {
		t.Errorf("Clear removes %v, want three sets: %v", gone, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestCloseDoesNotWaitForAStoppedHost(t *testing.T) {
	h := newHost(t, t.TempDir())
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := filelock.Open(filepath.Join(h.dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if locked, err := filelock.Try(held, filelock.Exclusive); err != nil || !locked {
		t.Fatal(locked, err)
	}
	w := h.worker(t, "notes")
	w.Take(record(1, "a"))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	w.Take(record(2, "b"))
	if w.set.writing {
		t.Error("the set writes a chunk after Close")
	}
	if items, err := os.ReadDir(h.dir); err != nil || len(items) != 1 {
		t.Errorf("the directory contains %v, want only the lock: %v", items, err)
	}
}

func TestFileThatIsReadWhileItGrows(t *testing.T) {
	h := newHost(t, t.TempDir())
	w := h.worker(t, "notes")
	w.Take(record(1, "a"))
	h.settle()
	next := h.worker(t, "notes")
	content, err := os.ReadFile(next.Newer.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(next.Newer.Name(), append(bytes.Clone(content), record(2, "b")[:30]...), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := newCache(t, next)
	if _, computed := get(t, c, old(1), ""); computed || c.damaged {
		t.Errorf("the record is computed again: %t, or the file counts as damaged: %t", computed, c.damaged)
	}
}
