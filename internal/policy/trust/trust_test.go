//go:build unix

package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

func TestMain(m *testing.M) {
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}

func newStore(t *testing.T) Store {
	t.Helper()
	state, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return In(filepath.Join(state, "bulkhead"))
}

func mustAdd(t *testing.T, s Store, path, digest string) {
	t.Helper()
	if err := s.Add(path, digest); err != nil {
		t.Fatal(err)
	}
}

var one, two = userfile.Digest([]byte("one")), userfile.Digest([]byte("two"))

func TestTrustedUntilRemoved(t *testing.T) {
	s := newStore(t)
	if r, err := s.Lookup("/p"); r != nil || err != nil {
		t.Fatalf("before Add: got the record %+v, %v", r, err)
	}
	mustAdd(t, s, "/p", one)
	r, err := s.Lookup("/p")
	if err != nil || r == nil || r.SHA256 != one || time.Since(r.At).Abs() > time.Hour {
		t.Fatalf("after Add: got the record %+v, %v", r, err)
	}
	for digest, want := range map[string]bool{one: true, two: false} {
		if got, err := trusted(s, "/p", digest); got != want || err != nil {
			t.Errorf("the digest %s is trusted: %v, %v", digest, got, err)
		}
	}
	mustAdd(t, s, "/p", two)
	if got, _ := trusted(s, "/p", one); got {
		t.Error("the old digest is still trusted")
	}
	for i, want := range []bool{true, false} {
		if got, err := s.Remove("/p"); got != want || err != nil {
			t.Errorf("removal %d returns %v, %v", i, got, err)
		}
	}
	if r, err := s.Lookup("/p"); r != nil || err != nil {
		t.Errorf("after Remove: got the record %+v, %v", r, err)
	}
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("after Remove: got the records %+v, %v", list, err)
	}
}

func TestAddCreatesPrivateFiles(t *testing.T) {
	s := newStore(t)
	mustAdd(t, s, "/p", one)
	if err := os.Chmod(filepath.Join(s.dir, fileName("/p")), 0o666); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, s, "/p", one) // the new file does not keep the old mode
	for path, want := range map[string]fs.FileMode{s.dir: 0o700 | fs.ModeDir, filepath.Join(s.dir, fileName("/p")): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has the wrong mode: %v, %v", path, info, err)
		}
	}
	items, err := os.ReadDir(s.dir)
	if err != nil || len(items) != 1 {
		t.Errorf("the store contains %v, want one file: %v", items, err)
	}
}

func TestListSortsByPath(t *testing.T) {
	s := newStore(t)
	if list, err := s.List(); len(list) != 0 || err != nil {
		t.Errorf("an absent store: got the records %v, %v", list, err)
	}
	for _, path := range []string{"/b", "/a/ü\n", "/c"} {
		mustAdd(t, s, path, one)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".new-interrupted"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 3 || list[0].Path != "/a/ü\n" || list[1].Path != "/b" || list[2].Path != "/c" {
		t.Errorf("got the records %v, want three sorted by path: %v", list, err)
	}
}

func TestAddRefuses(t *testing.T) {
	s := newStore(t)
	for name, c := range map[string]struct{ path, digest string }{
		"a relative path":       {"p", one},
		"a path with ..":        {"/a/../p", one},
		"a path with bad UTF-8": {"/\xff", one},
		"a path too long":       {"/" + strings.Repeat("x", 4096), one},
		"no digest":             {"/p", "x"},
		"an upper-case digest":  {"/p", strings.ToUpper(one)},
	} {
		if err := s.Add(c.path, c.digest); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	mustAdd(t, s, "/"+strings.Repeat("x", 4095), one)
	unwritable := In("/proc/self/no-directory")
	if err := unwritable.Add("/p", one); err == nil {
		t.Error("a record was added below a directory that cannot be created")
	}
}

func TestWithoutStateDirectoryNothingIsTrusted(t *testing.T) {
	none := In("")
	_, lookup := none.Lookup("/p")
	_, list := none.List()
	_, remove := none.Remove("/p")
	for name, err := range map[string]error{"Lookup": lookup, "List": list, "Remove": remove, "Add": none.Add("/p", one)} {
		if !errors.Is(err, errNoStore) {
			t.Errorf("%s without a store: %v", name, err)
		}
	}
	if file := none.File("/p"); file != "" {
		t.Errorf("without a store the record of /p is %q", file)
	}
}

// TestBoundsOfStore pins the bounds of what other programs may have put into the store.
func TestBoundsOfStore(t *testing.T) {
	t.Run("a record has at most 64 KiB", func(t *testing.T) {
		s := newStore(t)
		mustAdd(t, s, "/p", one)
		file := s.File("/p")
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for size, want := range map[int]bool{65536: true, 65537: false} {
			padded := string(content) + strings.Repeat(" ", size-len(content))
			if err := os.WriteFile(file, []byte(padded), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := trusted(s, "/p", one); got != want || (err == nil) != want {
				t.Errorf("a record of %d bytes is trusted: %t, %v", size, got, err)
			}
		}
	})
	t.Run("every record that is written can be read", func(t *testing.T) {
		s := newStore(t)
		files := func(length int) []File {
			list := []File{{"/" + strings.Repeat("x", length), one}}
			for range 700 {
				list = append(list, File{"/a", one})
			}
			return list
		}
		if err := s.Add("/p", one, files(1)...); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.File("/p"))
		if err != nil {
			t.Fatal(err)
		}
		length := 65536 - int(info.Size()) + 1 // of the path with which the file has 64 KiB
		for extra, fits := range []bool{true, false} {
			err := s.Add("/p", two, files(length+extra)...)
			if (err == nil) != fits {
				t.Errorf("a record of 64 KiB and %d bytes is added: %v", extra, err)
			}
			if got, err := trusted(s, "/p", two); !got || err != nil {
				t.Errorf("after the record of 64 KiB and %d bytes the path is trusted: %t, %v", extra, got, err)
			}
		}
	})
	t.Run("List reads 10,000 files", func(t *testing.T) {
		s := newStore(t)
		mustAdd(t, s, "/p", one)
		for i := range 9_999 {
			// A temporary file of an interrupted write is not read, but counts.
			if err := os.Symlink("none", filepath.Join(s.dir, fmt.Sprintf(".new-%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := s.List(); len(list) != 1 || err != nil {
			t.Errorf("of 10,000 files: got the records %v and the error %v", list, err)
		}
		mustAdd(t, s, "/q", one)
		if _, err := s.List(); err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
			t.Errorf("of 10,001 files: %v", err)
		}
	})
	t.Run("List names 10 invalid files", func(t *testing.T) {
		s := newStore(t)
		mustAdd(t, s, "/p", one)
		for i := range 11 {
			if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprint(i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := s.List(); len(list) != 1 || countErrors(err) != 10 {
			t.Errorf("of 11 invalid files: got the records %v and the error %v", list, err)
		}
	})
}

func countErrors(err error) int {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return 0
	}
	return len(joined.Unwrap())
}

func TestFailedWriteAndRemovalAreReported(t *testing.T) {
	s := newStore(t)
	if err := os.MkdirAll(filepath.Join(s.File("/p"), "entry"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Add("/p", one); err == nil {
		t.Error("a record was added where a directory is")
	}
	if removed, err := s.Remove("/p"); removed || err == nil {
		t.Errorf("the removal of what is no file returns %t, %v", removed, err)
	}
}

// TestListIgnoresRecordUnderNameOfDifferentPath checks that a record cannot be listed twice, once for a path that it does not trust.
func TestListIgnoresRecordUnderNameOfDifferentPath(t *testing.T) {
	s := newStore(t)
	mustAdd(t, s, "/p", one)
	content, err := os.ReadFile(s.File("/p"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.File("/q"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); len(list) != 1 || err == nil || !strings.Contains(err.Error(), s.File("/q")) {
		t.Errorf("got the records %v and the error %v, want one record and an error that names the copy", list, err)
	}
}

// TestInvalidRecordsAreNotTrusted checks that the path of an invalid record is not trusted, and that the error names
// the file.
func TestInvalidRecordsAreNotTrusted(t *testing.T) {
	record := func(path, digest string) string {
		return fmt.Sprintf(`{"path":%q,"sha256":%q,"trusted_at":"2026-01-02T03:04:05Z"}`, path, digest)
	}
	write := func(content string) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, put := range map[string]func(t *testing.T, file string){
		"an empty file":              write(""),
		"invalid JSON":               write("trusted"),
		"null":                       write("null"),
		"the record of another path": write(record("/q", one)),
		"a path that is not clean":   write(record("/p/.", one)),
		"an empty digest":            write(record("/p", "")),
		"a digest in upper case":     write(record("/p", strings.ToUpper(one))),
		"two records":                write(record("/p", two) + record("/p", one)),
		"an unknown member":          write(strings.Replace(record("/p", one), "{", `{"until":1,`, 1)),
		"a file that is too large":   write(record("/p", one) + strings.Repeat(" ", maxRecord)),
		"a directory": func(t *testing.T, file string) {
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"a FIFO": func(t *testing.T, file string) {
			if err := syscall.Mkfifo(file, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a symbolic link to a record": func(t *testing.T, file string) {
			elsewhere := filepath.Join(t.TempDir(), "record")
			write(record("/p", one))(t, elsewhere)
			if err := os.Symlink(elsewhere, file); err != nil {
				t.Fatal(err)
			}
		},
		"a file that others can write": func(t *testing.T, file string) {
			write(record("/p", one))(t, file)
			if err := os.Chmod(file, 0o666); err != nil {
				t.Fatal(err)
			}
		},
		"a file of another user": func(t *testing.T, file string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file to another user")
			}
			write(record("/p", one))(t, file)
			if err := os.Chown(file, 54321, 54321); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			mustAdd(t, s, "/other", one)
			file := filepath.Join(s.dir, fileName("/p"))
			put(t, file)
			trusted, err := trusted(s, "/p", one)
			if trusted || err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("trusted %v, %v", trusted, err)
			}
			if kind := name == "a directory" || name == "a FIFO"; err != nil && strings.Contains(err.Error(), "is not a regular file") != kind {
				t.Errorf("got the error %v", err)
			}
			list, err := s.List()
			if len(list) != 1 || list[0].Path != "/other" || err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("got the records %v and the error %v, want only /other and an error that names the file", list, err)
			}
		})
	}
}

func TestStoreWritableByOthersIsNotTrusted(t *testing.T) {
	for name, change := range map[string]func(s Store) error{
		"writable by others":           func(s Store) error { return os.Chmod(s.dir, 0o777) },
		"parent writable by others":    func(s Store) error { return os.Chmod(filepath.Dir(s.dir), 0o757) },
		"owned by another user":        func(s Store) error { return chown(s.dir) },
		"parent owned by another user": func(s Store) error { return chown(filepath.Dir(s.dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			mustAdd(t, s, "/p", one)
			if err := change(s); err != nil {
				t.Skip(err)
			}
			if trusted, err := trusted(s, "/p", one); trusted || err == nil {
				t.Errorf("trusted %v, %v", trusted, err)
			}
			if list, err := s.List(); len(list) > 0 || err == nil {
				t.Errorf("got the records %v and the error %v, want no record and an error", list, err)
			}
			if err := s.Add("/q", one); err == nil {
				t.Error("a record was added")
			}
			if _, err := s.Remove("/p"); err == nil {
				t.Error("a record was removed")
			}
		})
	}
}

// chown gives a directory to another user, which only root can do.
func chown(dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can give a directory to another user")
	}
	return os.Chown(dir, 54321, 54321)
}

// FuzzDecode checks that accepted records are valid and round-trip.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"path":"/p","sha256":"` + one + `","trusted_at":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"path":"/p","path":"/q","sha256":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil {
			return
		}
		if !filepath.IsAbs(r.Path) || len(r.SHA256) != 64 {
			t.Errorf("an invalid record is accepted: %+v", r)
		}
		again, err := json.Marshal(r)
		if err != nil {
			return // a time out of the range of RFC 3339
		}
		if other, err := decode(again); err != nil || other.Path != r.Path || other.SHA256 != r.SHA256 {
			t.Errorf("the record %q does not round-trip: got %+v, %v", again, other, err)
		}
	})
}

// trusted reports whether path is trusted while its content has the digest.
func trusted(s Store, path, digest string) (bool, error) {
	r, err := s.Lookup(path)
	return r != nil && r.SHA256 == digest, err
}

func TestRecordContainsIncludedFiles(t *testing.T) {
	s := newStore(t)
	if err := s.Add("/p", one, File{"/a", one}, File{"/b", two}); err != nil {
		t.Fatal(err)
	}
	r, err := s.Lookup("/p")
	if err != nil || len(r.Includes) != 2 {
		t.Fatalf("got the record %+v, want one with two files: %v", r, err)
	}
	if !r.Trusts("/a", one) || r.Trusts("/a", two) || r.Trusts("/c", one) {
		t.Errorf("the record %+v trusts the wrong files", r)
	}
	for name, f := range map[string]File{"a relative path": {"a", one}, "an invalid digest": {"/a", "x"}, "a path that is not UTF-8": {"/\xff", one}} {
		if err := s.Add("/p", one, f); err == nil {
			t.Errorf("%s was recorded", name)
		}
	}
	var many []File
	for range 1000 {
		many = append(many, File{"/a", one})
	}
	if err := s.Add("/p", one, many...); err == nil {
		t.Error("a record was written that is too large to be read")
	}
}

// encoding/json ignores the case of keys, and takes the last of duplicates.
func TestAmbiguousRecordsAreNotTrusted(t *testing.T) {
	store, digest := In(t.TempDir()), userfile.Digest(nil)
	if err := store.Add("/x", digest); err != nil {
		t.Fatal(err)
	}
	for _, members := range []string{
		`"Path":"/x","sha256":"` + digest + `"`,
		`"path":"/y","path":"/x","sha256":"` + digest + `"`,
		`"path":"/x","sha256":"` + userfile.Digest([]byte("y")) + `","SHA256":"` + digest + `"`,
		`"path":"/x","sha256":"` + digest + `","includes":[{"path":"/y","sha256":"` + digest + `","PATH":"/z"}]`,
		`"path":"/x","sha256":"` + digest + `","includes":[{"path":"/y","sha256":"` + digest + `","PATH":"/z"},{"path":"/w","sha256":"` + digest + `"}]`,
		`"path":"/x","PATH":"/x","sha256":"` + digest + `","includes":[{"path":"/y","sha256":"` + digest + `"}]`,
	} {
		content := `{` + members + `,"trusted_at":"2026-01-02T03:04:05Z"}`
		if err := os.WriteFile(filepath.Join(store.dir, fileName("/x")), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if is, err := trusted(store, "/x", digest); is || err == nil || !strings.Contains(err.Error(), "is a duplicate, or is not in lower case") {
			t.Errorf("%s: trusted %t, %v", content, is, err)
		}
	}
}

func TestRecordOfNewerVersionIsIgnoredAndKept(t *testing.T) {
	store := In(t.TempDir())
	if err := store.Add("/x", userfile.Digest(nil)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(store.dir, fileName("/x"))
	for content, refused := range map[string]bool{
		`{"path":"/x","sha256":"` + userfile.Digest(nil) + `","trusted_at":"2026-01-02T03:04:05Z"}`:                              false,
		`{"version":1,"path":"/x","sha256":"` + userfile.Digest(nil) + `","trusted_at":"2026-01-02T03:04:05Z"}`:                  false,
		`{"version":2,"path":"/x","sha256":"` + userfile.Digest(nil) + `","trusted_at":"2026-01-02T03:04:05Z","scope":"plugin"}`: true,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		isTrusted, err := trusted(store, "/x", userfile.Digest(nil))
		if isTrusted == refused || refused != (err != nil && strings.Contains(err.Error(), "newer version")) {
			t.Errorf("the record %s is trusted: %t, %v", content, isTrusted, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != content {
			t.Errorf("the record was changed: %s %v", got, err)
		}
	}
	if removed, err := store.Remove("/x"); !removed || err != nil {
		t.Error(removed, err)
	}
}

func TestStoreOfNewerVersionIsNotUsed(t *testing.T) {
	s := newStore(t)
	mustAdd(t, s, "/p", one)
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.dir), ".format"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := trusted(s, "/p", one); got || err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("trusted %t, %v", got, err)
	}
}
