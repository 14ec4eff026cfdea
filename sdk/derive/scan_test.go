//go:build linux || darwin

package derive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// firstLine is the derive function of the tests. computed counts its runs, including those on behalf of the host.
var (
	computed  int
	firstLine = New(func(content []byte) spec {
		computed++
		line, rest, _ := bytes.Cut(content, []byte("\n"))
		return spec{Title: string(line), Count: len(rest), Tags: []string{}}
	})
)

func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"0.txt": "not matched", "a.md": "A\nbody", "b.md": "B", "empty.md": "", "z/c.md": "C\n", "z/d.txt": "D",
		"large.md": "L\n" + strings.Repeat("x", abi.MaxScanInput), "larger.md": strings.Repeat("x", 5<<20+1), "z/denied.md": "x",
	} {
		file := filepath.Join(dir, name)
		testenv.WriteFile(t, file, content)
	}
	if err := errors.Join(os.Symlink("a.md", filepath.Join(dir, "link.md")), os.Symlink("none", filepath.Join(dir, "z/dangling.md"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

type deriveFunc = func(ctx context.Context, kind sandbox.Derivation, file sandbox.DerivedFile) ([]byte, error)

// asHost derives data in the way of a host.
func asHost(_ context.Context, kind sandbox.Derivation, file sandbox.DerivedFile) ([]byte, error) {
	content, err := file.Read()
	if err != nil {
		return nil, err
	}
	return functions[kind.Function](bytes.Clone(content)), nil
}

// serve creates a host that supports only the operation fs/scan, and installs it as the host of the test. It returns the number of
// operations that the host has performed.
func serve(t *testing.T, dir string, derive deriveFunc) *int {
	t.Helper()
	handle, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { handle.Close() })
	box, err := sandbox.New(sandbox.Config{Plugin: "p", Mounts: []vfs.Mount{{Path: dir, Dir: handle}}, Derive: derive})
	if err != nil {
		t.Fatal(err)
	}
	operations := 0
	imports.SetHost(&imports.Host{Call: func(request []byte) []byte {
		operations++
		return box.Operate(t.Context(), request)
	}})
	t.Cleanup(func() { imports.SetHost(nil) })
	return &operations
}

var options = scan.Options{Depth: 2, Match: []string{"*.md"}, Follow: true, MaxFile: 5 << 20, Data: abi.ScanDataSHA256, Function: 9}

func collect(t *testing.T, dir string, o scan.Options) []Entry[spec] {
	t.Helper()
	var all []Entry[spec]
	for e, err := range firstLine.Scan(dir, o) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// The entries and values must not depend on the host. The host may have all derived data, have data of which some failed or is damaged, have
// only the operation fs/scan, or have none of these.
func TestValuesAreCompleteOnEveryHost(t *testing.T) {
	dir := tree(t)
	want := collect(t, dir, options)
	got := ""
	for _, e := range want {
		got += fmt.Sprintf("%s %t %q %d %d\n", e.Path, e.Derived, e.Value.Title, e.Value.Count, e.State)
	}
	if expected := strings.TrimLeft(`
0.txt false "" 0 0
a.md true "A" 4 0
b.md true "B" 0 0
empty.md true "" 0 0
large.md true "L" 4194304 0
larger.md false "" 0 1
link.md true "A" 4 0
z false "" 0 0
z/c.md true "C" 0 0
z/d.txt false "" 0 0
z/dangling.md false "" 0 4
z/denied.md true "x" 0 0
`, "\n"); got != expected {
		t.Error(cmp.Diff(expected, got))
	}
	failing := func(ctx context.Context, kind sandbox.Derivation, file sandbox.DerivedFile) ([]byte, error) {
		data, err := asHost(ctx, kind, file)
		switch {
		case err != nil:
			return nil, err
		case strings.Contains(string(data), "B"):
			return nil, sandbox.ErrDerive
		case strings.Contains(string(data), "C"):
			return data[:len(data)-1], nil
		}
		return data, nil
	}
	derived := 0
	ending := func(ctx context.Context, kind sandbox.Derivation, file sandbox.DerivedFile) ([]byte, error) {
		if derived++; derived > 1 {
			return nil, &abi.HostError{Code: abi.HostUnavailable, Message: "the derive functions cannot run"}
		}
		return asHost(ctx, kind, file)
	}
	for name, test := range map[string]struct {
		derive     deriveFunc
		max        int64 // most bytes of one answer
		operations int   // maximum number of operations; reading the contents takes three
	}{
		"all": {asHost, 0, 1}, "some": {failing, 0, 1}, "none": {nil, 0, 5}, "the first": {ending, 0, 5}, "the first, by many answers": {ending, 1, 20},
	} {
		t.Run(name, func(t *testing.T) {
			derived = 0
			o := options
			o.Max = test.max
			operations := serve(t, dir, test.derive)
			if diff := cmp.Diff(want, collect(t, dir, o)); diff != "" {
				t.Error(diff)
			}
			if *operations == 0 || *operations > test.operations {
				t.Errorf("%d operations, want %d", *operations, test.operations)
			}
		})
	}
}

// If the host has derived a result, the call does not compute that result again.
func TestDerivedDataIsNotComputedInCall(t *testing.T) {
	dir := tree(t)
	known := map[string][]byte{}
	serve(t, dir, func(ctx context.Context, kind sandbox.Derivation, file sandbox.DerivedFile) ([]byte, error) {
		key := fmt.Sprint(file.Stat.FileID, file.Stat.Mtime)
		if known[key] == nil {
			data, err := asHost(ctx, kind, file)
			if err != nil {
				return nil, err
			}
			known[key] = data
		}
		return known[key], nil
	})
	collect(t, dir, options)
	computed = 0
	collect(t, dir, options)
	if computed != 1 { // only the file that is too large for the host's derivation may be computed
		t.Errorf("%d files are computed again", computed)
	}
}

func TestScanErrors(t *testing.T) {
	for name, test := range map[string]struct {
		dir     string
		options scan.Options
		is      error
	}{
		"no directory":   {filepath.Join(t.TempDir(), "none"), scan.Options{}, fs.ErrNotExist},
		"large MaxFile":  {t.TempDir(), scan.Options{MaxFile: abi.MaxScanContent + 1}, nil},
		"negative depth": {t.TempDir(), scan.Options{Depth: -1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			items := 0
			for _, err := range firstLine.Scan(test.dir, test.options) {
				if items++; err == nil || test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("got %v", err)
				}
			}
			if items != 1 {
				t.Errorf("%d items", items)
			}
		})
	}
}

func TestLoopOverScanCanEndEarly(t *testing.T) {
	dir := tree(t)
	for _, derive := range []deriveFunc{asHost, nil} {
		serve(t, dir, derive)
		for end := 1; end < 6; end++ {
			n := 0
			for range firstLine.Scan(dir, options) {
				if n++; n == end {
					break
				}
			}
			if n != end {
				t.Errorf("%d entries, want %d", n, end)
			}
		}
	}
}

func TestComputeReturnsDescribedFields(t *testing.T) {
	if got := firstLine.Compute([]byte("Tea\nx")); got.Title != "Tea" || got.Count != 1 || got.Tags != nil {
		t.Errorf("got %+v", got)
	}
}

func TestTooManyFunctionsPanic(t *testing.T) {
	defer func(was []func([]byte) []byte) {
		functions = was
		if recover() == nil {
			t.Error("65 functions are registered")
		}
	}(functions)
	for range abi.MaxScanFunctions + 1 {
		New(func([]byte) part { return part{} })
	}
}

func TestPrepareRunsEveryFunction(t *testing.T) {
	defer func(was []func([]byte) []byte) { functions = was }(functions)
	runs := 0
	functions = []func([]byte) []byte{
		func([]byte) []byte { runs++; return nil }, func(content []byte) []byte { runs++; return content[:1] }, func([]byte) []byte { runs++; return nil },
	}
	if prepare(); runs != 3 {
		t.Errorf("%d of 3 functions ran", runs)
	}
}
