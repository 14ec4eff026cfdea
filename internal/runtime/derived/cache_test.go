//go:build unix

package derived

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// clock is a fake clock.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

var start = time.Unix(1_700_000_000, 123_456_789)

// old returns a key whose times are settled at start.
func old(n int) Key {
	at := start.Add(-time.Hour).UnixNano()
	return Key{Function: 1, Dev: 7, Ino: uint64(n), Size: 10, Mtime: at, Ctime: at}
}

// newCache returns a Cache that caches results for files on the device 7.
func newCache(t *testing.T, h *Handles) (*Cache, *clock) {
	t.Helper()
	c, at := NewCache(Tag{1}, true, nil, nil), &clock{start}
	if h != nil {
		c = NewCache(h.Tag, true, h.Older, h.Newer)
	}
	c.now = at.now
	c.devices[7] = true
	return c, at
}

func noFile() (*os.File, error) { return nil, errors.New("no file") }

// get returns the cached or computed data of a key, and whether they were computed.
func get(t *testing.T, c *Cache, k Key, data string) (string, bool) {
	t.Helper()
	computed := false
	got, err := c.Get(t.Context(), k, noFile, func() {}, func() ([]byte, error) { computed = true; return []byte(data), nil })
	if err != nil {
		t.Fatal(err)
	}
	return string(got), computed
}

func TestGetComputesOnce(t *testing.T) {
	c, _ := newCache(t, nil)
	if got, computed := get(t, c, old(1), "a"); got != "a" || !computed {
		t.Errorf("got %q, computed: %t", got, computed)
	}
	if got, computed := get(t, c, old(1), "b"); got != "a" || computed {
		t.Errorf("got %q, computed: %t", got, computed)
	}
}

// A file that was replaced or changed differs in at least one part of its identity. Programs can set the times of a file,
// except for ctime.
func TestGetDistinguishesEachPartOfAKey(t *testing.T) {
	c, _ := newCache(t, nil)
	c.devices[8] = true
	get(t, c, old(1), "a")
	for name, change := range map[string]func(*Key){
		"function": func(k *Key) { k.Function++ }, "device": func(k *Key) { k.Dev++ }, "inode": func(k *Key) { k.Ino++ },
		"size": func(k *Key) { k.Size++ }, "mtime": func(k *Key) { k.Mtime++ }, "ctime": func(k *Key) { k.Ctime++ },
	} {
		k := old(1)
		change(&k)
		if got, computed := get(t, c, k, name); got != name || !computed {
			t.Errorf("another %s: got %q, computed: %t", name, got, computed)
		}
	}
}

func TestGetDoesNotKeepRacilyCleanFiles(t *testing.T) {
	at := func(age time.Duration) int64 { return start.Add(-age).UnixNano() }
	for name, k := range map[string]Key{
		"mtime just now":      {Dev: 7, Mtime: at(time.Second), Ctime: at(time.Hour)},
		"ctime just now":      {Dev: 7, Mtime: at(time.Hour), Ctime: at(time.Second)},
		"exactly two seconds": {Dev: 7, Mtime: at(time.Hour), Ctime: at(settleTime)},
		"mtime in the future": {Dev: 7, Mtime: at(-time.Hour), Ctime: at(time.Hour)},
		"ctime in the future": {Dev: 7, Mtime: at(time.Hour), Ctime: at(-time.Hour)},
	} {
		c, _ := newCache(t, nil)
		get(t, c, k, "a")
		if got, computed := get(t, c, k, "b"); got != "b" || !computed {
			t.Errorf("%s: got the cached result %q", name, got)
		}
		if chunks := c.Take(1 << 20); chunks != nil {
			t.Errorf("%s: %d chunks for the host", name, len(chunks))
		}
	}
}

// Tools that build disk images set the times of all files, often to the same second for each build.
func TestGetDoesNotKeepFilesWhoseChangeTimeIsAWholeSecond(t *testing.T) {
	c, _ := newCache(t, nil)
	k := old(1)
	k.Ctime = start.Add(-time.Hour).Truncate(time.Second).UnixNano()
	get(t, c, k, "of one image")
	if got, computed := get(t, c, k, "of the next"); got != "of the next" || !computed {
		t.Errorf("got %q", got)
	}
	k.Mtime, k.Ctime = k.Ctime, k.Ctime+1 // a file that was copied or unpacked with its times
	get(t, c, k, "a")
	if _, computed := get(t, c, k, "b"); computed {
		t.Error("the result for a file whose modification time is a whole second is not cached")
	}
}

// Get reads the clock before the file is read, since the file may change during the read.
func TestGetTakesTheTimeBeforeTheFileIsRead(t *testing.T) {
	c, at := newCache(t, nil)
	k := old(1)
	k.Ctime = start.Add(-time.Second).UnixNano()
	if _, err := c.Get(t.Context(), k, noFile, func() {}, func() ([]byte, error) { at.at = at.at.Add(time.Hour); return []byte("a"), nil }); err != nil {
		t.Fatal(err)
	}
	if got, _ := get(t, c, k, "b"); got != "b" {
		t.Errorf("got %q", got)
	}
	if got, computed := get(t, c, k, "c"); got != "b" || computed {
		t.Errorf("a settled file: got %q, computed: %t", got, computed)
	}
}

func TestGetDoesNotKeepFailures(t *testing.T) {
	c, _ := newCache(t, nil)
	failure := errors.New("failed")
	if _, err := c.Get(t.Context(), old(1), noFile, func() {}, func() ([]byte, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if got, computed := get(t, c, old(1), "a"); got != "a" || !computed {
		t.Errorf("got %q, computed: %t", got, computed)
	}
}

func TestGetKeepsNothingOfOtherFileSystems(t *testing.T) {
	file := func() (*os.File, error) { return os.Open(os.DevNull) }
	for name, test := range map[string]struct {
		dev   uint64
		local bool
		err   error
		kept  bool
	}{
		"local":                 {dev: 9, local: true, kept: true},
		"network":               {dev: 9},
		"replaced by a mount":   {dev: 10, local: true},
		"statfs is not allowed": {dev: 9, local: true, err: errors.New("denied")},
	} {
		c, _ := newCache(t, nil)
		looks := 0
		c.fileSystem = func(*os.File) (uint64, bool, error) {
			looks++
			return test.dev, test.local && test.err == nil, test.err
		}
		k := old(1)
		k.Dev = 9
		computed := 0
		for range 3 {
			if _, err := c.Get(t.Context(), k, file, func() {}, func() ([]byte, error) { computed++; return []byte("a"), nil }); err != nil {
				t.Fatal(err)
			}
		}
		if kept := computed == 1; kept != test.kept {
			t.Errorf("%s: computed %d times", name, computed)
		}
		if test.dev == 9 && test.err == nil && looks != 1 {
			t.Errorf("%s: the file system was queried %d times", name, looks)
		}
	}
	c, _ := newCache(t, nil)
	delete(c.devices, 7)
	for range 2 {
		if _, computed := get(t, c, old(1), "a"); !computed {
			t.Error("a result is cached although the file system is unknown")
		}
	}
}

func TestConcurrentGetsComputeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCache(t, nil)
		c.now = func() time.Time { return start }
		var computed atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				got, err := c.Get(t.Context(), old(1), noFile, func() {}, func() ([]byte, error) {
					computed.Add(1)
					time.Sleep(time.Second)
					return []byte("a"), nil
				})
				if err != nil || string(got) != "a" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		all.Wait()
		if computed.Load() != 1 {
			t.Errorf("computed %d times", computed.Load())
		}
	})
}

// A call whose computation fails, for example because it was cancelled, does not fail the calls that wait for it.
func TestGetComputesAfterAnotherCallFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCache(t, nil)
		c.now = func() time.Time { return start }
		first, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = c.Get(first, old(1), noFile, func() {}, func() ([]byte, error) { <-first.Done(); return nil, first.Err() })
		}()
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := c.Get(gone, old(1), noFile, func() {}, func() ([]byte, error) { return nil, nil })
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was cancelled: %v", err)
		}
		got := make(chan string, 1)
		go func() {
			data, _ := c.Get(t.Context(), old(1), noFile, func() {}, func() ([]byte, error) { return []byte("b"), nil })
			got <- string(data)
		}()
		synctest.Wait()
		cancel()
		if data := <-got; data != "b" {
			t.Errorf("got %q", data)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	g := generations{max: 100 * perEntry}
	for n := range 1000 {
		g.put(old(n), entry{data: make([]byte, n%50)})
		g.get(old(0)) // this entry stays in use
		size := 0
		for _, m := range []map[Key]entry{g.current, g.previous} {
			for _, e := range m {
				size += cost(e)
			}
		}
		if size > g.max {
			t.Fatalf("the map has %d bytes after %d entries, above its bound", size, n)
		}
	}
	if _, ok := g.get(old(0)); !ok {
		t.Error("an entry in use was dropped")
	}
	if _, ok := g.get(old(1)); ok {
		t.Error("an entry out of use was kept")
	}
	g.put(old(2000), entry{data: make([]byte, g.max)})
	if _, ok := g.get(old(2000)); ok {
		t.Error("an entry larger than the bound was kept")
	}
}

func TestTakeIsBounded(t *testing.T) {
	c, _ := newCache(t, nil)
	data := bytes.Repeat([]byte("x"), 1000)
	for n := range 2 * maxQueue / len(data) {
		k := old(n)
		c.entries.put(k, entry{data: data})
		c.send(k, len(data))
	}
	total := 0
	for {
		taken := 0
		for _, chunk := range c.Take(1 << 20) {
			if len(chunk) == 0 || len(chunk) > MaxRecord {
				t.Fatalf("a chunk has %d bytes, want 1 to MaxRecord", len(chunk))
			}
			taken += len(chunk)
		}
		if taken == 0 {
			break
		}
		if total += taken; taken > 1<<20 {
			t.Fatalf("Take returned %d bytes, above its argument", taken)
		}
	}
	if total == 0 || total > maxQueue || c.waiting != 0 {
		t.Errorf("%d bytes in total, %d wait", total, c.waiting)
	}
	c.kept = false
	c.send(old(1), 10)
	if chunks := c.Take(1 << 20); chunks != nil {
		t.Error("records are queued for a host that accepts none")
	}
}

// encode returns the content of a file with a record for each string of data.
func encode(tag Tag, data ...string) []byte {
	all := header(tag)
	for n, text := range data {
		all = appendRecord(all, old(n), []byte(text))
	}
	return all
}

func read(content []byte, tag Tag) (map[Key]string, error) {
	all := map[Key]string{}
	err := readRecords(bytes.NewReader(content), tag, func(k Key, data []byte) { all[k] = string(data) })
	return all, err
}

func TestTornRecordEndsReading(t *testing.T) {
	content := encode(Tag{1}, "first", "second")
	begin := len(encode(Tag{1}, "first"))
	for end := begin; end < len(content); end++ {
		if got, err := read(content[:end], Tag{1}); err != nil || len(got) != 1 || got[old(0)] != "first" {
			t.Fatalf("cut at %d: %v, %v", end, got, err)
		}
	}
	if got, err := read(nil, Tag{1}); err != nil || len(got) != 0 {
		t.Errorf("an empty file: %v, %v", got, err)
	}
}

func TestAnyChangedByteIsDetected(t *testing.T) {
	content := encode(Tag{1}, "first", "second")
	for at := range content {
		changed := bytes.Clone(content)
		changed[at] ^= 0x10
		got, err := read(changed, Tag{1})
		for k, data := range got {
			if want := map[Key]string{old(0): "first", old(1): "second"}[k]; data != want {
				t.Fatalf("byte %d: got %q for %v", at, data, k)
			}
		}
		if len(got) == 2 || err == nil && len(got) == 2 {
			t.Fatalf("the change of byte %d is not detected", at)
		}
	}
	if got, err := read(content, Tag{2}); !errors.Is(err, errDamaged) || len(got) > 0 {
		t.Errorf("with another tag: %v, %v", got, err)
	}
}

// FuzzReadRecords checks that readRecords ends for any content, and returns only valid results within the bounds.
func FuzzReadRecords(f *testing.F) {
	f.Add(encode(Tag{1}, "first", "second"))
	f.Add(encode(Tag{1}, "first")[:headerSize+20])
	f.Add(append(header(Tag{1}), bytes.Repeat([]byte{0xff}, 100)...))
	f.Fuzz(func(t *testing.T, content []byte) {
		again := header(Tag{1})
		err := readRecords(bytes.NewReader(content), Tag{1}, func(k Key, data []byte) {
			if len(data) > len(content) || !k.valid(int64(len(data))) {
				t.Fatalf("an invalid result of %d bytes is returned for %v", len(data), k)
			}
			again = appendRecord(again, k, data)
		})
		if err == nil && len(content) > 0 && !bytes.HasPrefix(content, again) {
			t.Error("the records differ from the content")
		}
	})
}

func TestReadRefusesResultsThatCannotExist(t *testing.T) {
	for name, k := range map[string]Key{
		"function": {Function: maxFunctions}, "size": {Size: -1}, "length of a SHA-256": {Function: SHA256},
	} {
		if got, err := read(appendRecord(header(Tag{1}), k, []byte("x")), Tag{1}); !errors.Is(err, errDamaged) || len(got) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := read(appendRecord(header(Tag{1}), Key{Function: SHA256}, make([]byte, 32)), Tag{1}); err != nil || len(got) != 1 {
		t.Errorf("a SHA-256: %v, %v", got, err)
	}
}

// A file that is overwritten with content of the same size, and whose modification time is then restored, differs in ctime.
func TestReplacedFileHasAnotherKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	set := func(content string) Key {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, start, start); err != nil {
			t.Fatal(err)
		}
		return keyOf(t, path)
	}
	first := set("one")
	for n := 0; ; n++ { // until the clock of the file system has ticked
		if second := set("two"); second != first {
			if second.Mtime != first.Mtime || second.Size != first.Size || second.Ino != first.Ino {
				t.Errorf("the keys %v and %v differ not only in ctime", first, second)
			}
			return
		}
		if n == 1000 {
			t.Fatal("the file keeps its identity")
		}
		time.Sleep(time.Millisecond)
	}
}

func ExampleTagOf() {
	a, _ := TagOf("notes", "ab", []string{"/project"})
	b, _ := TagOf("notes", "ab", []string{"/other"})
	fmt.Println(a == b)
	// Output: false
}
