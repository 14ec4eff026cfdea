package signedfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

const from = "https://plugins.example/catalogue.toml"

func newKey(t *testing.T) signature.Private {
	t.Helper()
	key, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signed returns a file whose content is a number and a text.
func signed(t *testing.T, key signature.Private, number int, text string) *File {
	t.Helper()
	content := fmt.Sprintf("%d\n%s", number, text)
	sig, err := key.Sign(strings.NewReader(content), "x")
	if err != nil {
		t.Fatal(err)
	}
	return &File{Content: []byte(content), Signature: sig}
}

func serial(content []byte) (int64, error) {
	number, _, _ := strings.Cut(string(content), "\n")
	return strconv.ParseInt(number, 10, 64)
}

func put(t *testing.T, d Dir, key signature.Key, f *File) error {
	t.Helper()
	return d.Put(t.Context(), from, key, f, serial)
}

func TestOlderFileIsRefused(t *testing.T) {
	d := Dir{Path: filepath.Join(t.TempDir(), "data", "lists")}
	key := newKey(t)
	pub := key.Public()
	if _, err := d.Read(from, pub); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first: %v", err)
	}
	second := signed(t, key, 2, "second")
	for _, f := range []*File{signed(t, key, 1, "first"), second, second} {
		if err := put(t, d, pub, f); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Read(from, pub); err != nil || !bytes.Equal(got.Content, f.Content) || !bytes.Equal(got.Signature, f.Signature) || got.Kept.IsZero() {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	for text, f := range map[string]*File{
		"serial number 1, and number 2 was fetched before":   signed(t, key, 1, "first"),
		"the serial number 2 and other content than the one": signed(t, key, 2, "changed"),
		"the signature does not fit":                         {Content: []byte("3\n"), Signature: second.Signature},
		"none of the accepted keys made the signature":       signed(t, newKey(t), 3, ""),
		"it is no signature":                                 {Content: []byte("3\n")},
		"invalid syntax": func() *File {
			f := signed(t, key, 3, "")
			f.Content = []byte("x")
			f.Signature, _ = key.Sign(strings.NewReader("x"), "x")
			return f
		}(),
	} {
		if err := put(t, d, pub, f); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %s", err, text)
		}
		if got, err := d.Read(from, pub); err != nil || !bytes.Equal(got.Content, second.Content) {
			t.Errorf("after %s: got %+v, %v", text, got, err)
		}
	}
	var older *OlderError
	if err := put(t, d, pub, signed(t, key, 1, "first")); !errors.As(err, &older) || *older != (OlderError{1, 2}) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Read("https://other.example/", pub); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another address: %v", err)
	}
	// The key in the config has changed: what the former one signed counts no longer.
	next := newKey(t)
	if _, err := d.Read(from, next.Public()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another key: %v", err)
	}
	if err := put(t, d, next.Public(), signed(t, next, 1, "next")); err != nil {
		t.Error(err)
	}
}

func TestDamagedFileIsNotReadAndReplaced(t *testing.T) {
	key := newKey(t)
	for name, damage := range map[string]func(data []byte) []byte{
		"changed content": func(data []byte) []byte { return append(data, 'x') },
		"no content":      func([]byte) []byte { return nil },
		"one line":        func(data []byte) []byte { return data[:10] },
		"a large file":    func([]byte) []byte { return make([]byte, 2<<20) },
		"another comment": func(data []byte) []byte { return bytes.Replace(data, []byte("comment: x"), []byte("comment: y"), 1) },
	} {
		d := Dir{Path: t.TempDir()}
		f := signed(t, key, 5, "it")
		if err := put(t, d, key.Public(), f); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(d.path(from))
		if err == nil {
			err = os.WriteFile(d.path(from), damage(bytes.Clone(data)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Read(from, key.Public()); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if err := put(t, d, key.Public(), f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := d.Read(from, key.Public()); err != nil || !bytes.Equal(got.Content, f.Content) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestPutIsAtomic injects a fault, a full disk and a kill at each operation.
func TestPutIsAtomic(t *testing.T) {
	key := newKey(t)
	old, next := signed(t, key, 1, "old"), signed(t, key, 2, "next")
	for _, mode := range faultfs.Modes {
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			d := Dir{Path: t.TempDir()}
			if err := put(t, d, key.Public(), old); err != nil {
				t.Fatal(err)
			}
			err := put(t, Dir{Path: d.Path, fsys: f}, key.Public(), next)
			got, rerr := d.Read(from, key.Public())
			if rerr != nil || err == nil && !bytes.Equal(got.Content, next.Content) || err != nil && !bytes.Equal(got.Content, next.Content) && !bytes.Equal(got.Content, old.Content) {
				t.Fatalf("%s at operation %d: Put returned %v, Read %+v, %v", mode, f.At, err, got, rerr)
			}
			if err := put(t, d, key.Public(), next); err != nil {
				t.Errorf("%s at operation %d: the next Put returned %v", mode, f.At, err)
			}
			if entries, err := os.ReadDir(d.Path); err != nil || len(entries) != 2 {
				t.Errorf("%s at operation %d: there are %v, %v", mode, f.At, entries, err)
			}
		})
	}
}

// TestNewestOfConcurrentFilesStays has eight processes fetch different versions of a file at once.
func TestNewestOfConcurrentFilesStays(t *testing.T) {
	d := Dir{Path: t.TempDir()}
	key := newKey(t)
	var wait sync.WaitGroup
	for n := range 8 {
		f := signed(t, key, n, "")
		wait.Go(func() {
			var older *OlderError
			if err := d.Put(t.Context(), from, key.Public(), f, serial); err != nil && !errors.As(err, &older) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got, err := d.Read(from, key.Public()); err != nil || string(got.Content) != "7\n" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDirectoryIsLockedAndPrivate(t *testing.T) {
	d := Dir{Path: t.TempDir()}
	key := newKey(t)
	f := signed(t, key, 1, "")
	lock, err := filelock.Open(filepath.Join(d.Path, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if free, err := filelock.Try(lock, filelock.Exclusive); err != nil || !free {
		t.Fatal(free, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if err := d.Put(ctx, from, key.Public(), f, serial); err == nil || !strings.Contains(err.Error(), "cannot be locked: interrupted") {
		t.Errorf("got %v", err)
	}
	if err := filelock.Unlock(lock); err != nil {
		t.Fatal(err)
	}
	if err := put(t, d, key.Public(), f); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.path(from)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(d.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(from, key.Public()); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("Read returned %v", err)
	}
	if err := put(t, d, key.Public(), f); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("Put returned %v", err)
	}
	if err := put(t, Dir{}, key.Public(), f); err == nil || !strings.Contains(err.Error(), "XDG_DATA_HOME") {
		t.Errorf("without a directory Put returned %v", err)
	}
	if _, err := (Dir{}).Read(from, key.Public()); err == nil || !strings.Contains(err.Error(), "XDG_DATA_HOME") {
		t.Errorf("without a directory Read returned %v", err)
	}
}
