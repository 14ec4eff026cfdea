//go:build unix

package sandbox

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// world is a directory tree with symbolic links; $W stands for its path.
type world string

func newWorld(t testing.TB) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"work/sub", "workshop", "other", "states"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "work", "linked": "link/sub", "dangling": "nowhere", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return world(dir)
}

func (w world) path(p string) string { return strings.ReplaceAll(p, "$W", string(w)) }

// grant parses directories such as "rw $W/work"; "state" instead of the access marks the state directory.
func (w world) grant(folders ...string) config.Grant {
	var g config.Grant
	for _, f := range folders {
		access, path, _ := strings.Cut(f, " ")
		m := config.Mount{Path: w.path(path), Access: "rw", State: access == "state"}
		if access == "r" {
			m.Access = "r"
		}
		g.FS = append(g.FS, m)
	}
	return g
}

func (w world) new(t testing.TB, s Setup) *Box {
	t.Helper()
	b, err := open(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// locker returns the Locker that the host process has for a Setup.
func (w world) locker(t testing.TB, s Setup) *Locker {
	t.Helper()
	l, err := openLocker(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestGrantedDirectoriesAreMounted(t *testing.T) {
	for name, c := range map[string]struct {
		grant []string
		want  []vfs.Mount
	}{
		"at their own paths":                          {[]string{"rw $W/work", "r $W/other"}, []vfs.Mount{{Path: "$W/work", Write: true}, {Path: "$W/other"}}},
		"where the links to them lead":                {[]string{"r $W/linked"}, []vfs.Mount{{Path: "$W/work/sub"}}},
		"once, with the wider access, of two names":   {[]string{"r $W/link", "rw $W/work"}, []vfs.Mount{{Path: "$W/work", Write: true}}},
		"once, with the wider access, the wide first": {[]string{"rw $W/work", "r $W/link"}, []vfs.Mount{{Path: "$W/work", Write: true}}},
		"one in the other":                            {[]string{"r $W/work", "rw $W/link/sub"}, []vfs.Mount{{Path: "$W/work"}, {Path: "$W/work/sub", Write: true}}},
		"although they are not there yet":             {[]string{"rw $W/other/new/er"}, []vfs.Mount{{Path: "$W/other/new/er", Write: true}}},
		"not there yet, behind a link":                {[]string{"rw $W/link/new"}, []vfs.Mount{{Path: "$W/work/new", Write: true}}},
		"with the state directory":                    {[]string{"r $W/work", "state $W/states/p"}, []vfs.Mount{{Path: "$W/work"}, {Path: "$W/states/p", Write: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.new(t, Setup{Plugin: "p", Grant: w.grant(c.grant...)})
			for i := range c.want {
				c.want[i].Path = w.path(c.want[i].Path)
			}
			var got []vfs.Mount
			for _, m := range b.config.Mounts {
				if there := !strings.Contains(m.Path, "/new"); (m.Dir != nil) != there || (m.Create != nil) == there {
					t.Errorf("%s: got the handle %v and a function Create: %t; want only the one of them that fits", m.Path, m.Dir, m.Create != nil)
				}
				got = append(got, vfs.Mount{Path: m.Path, Write: m.Write})
			}
			if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b vfs.Mount) bool { return a.Path == b.Path && a.Write == b.Write })); diff != "" {
				t.Error(diff)
			}
			if tree := b.FS(&faults{}); tree == nil {
				t.Error("FS returned nil")
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct{ grant, want string }{
		"a dangling link":                        {"rw $W/dangling", "granted directory $W/dangling: "},
		"a directory behind one":                 {"rw $W/dangling/x", "granted directory $W/dangling/x: "},
		"a link to itself":                       {"rw $W/loop", "granted directory $W/loop: "},
		"a directory in a file":                  {"r $W/file/x", "granted directory $W/file/x: "},
		"a state directory that is a file":       {"state $W/file", "state directory: mkdir $W/file: "},
		"a state directory in a file":            {"state $W/file/p", "state directory: mkdir $W/file: "},
		"a state directory that is no directory": {"state $W/dangling", "state directory: mkdir $W/dangling: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := open(Setup{Plugin: "p", Grant: w.grant(c.grant)}); err == nil || !strings.HasPrefix(err.Error(), w.path(c.want)) {
				t.Errorf("got %v, want %s", err, w.path(c.want))
			}
		})
	}
	t.Run("a repository behind a dangling link", func(t *testing.T) {
		w := newWorld(t)
		_, err := open(Setup{Grant: config.Grant{Git: []config.Git{{Repo: w.path("$W/dangling")}}}})
		if want := w.path("granted repository $W/dangling: "); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

func TestStateDirectoryIsPrivate(t *testing.T) {
	w := newWorld(t)
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("state $W/new/states/p")})
	for _, dir := range []string{"$W/new", "$W/new/states", "$W/new/states/p"} {
		info, err := os.Stat(w.path(dir))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the directory %s does not have the mode 0700: %v, %v", dir, info, err)
		}
	}
	if got := b.Env()["BULKHEAD_STATE"]; got != w.path("$W/new/states/p") {
		t.Errorf("BULKHEAD_STATE is %s, want the new state directory", got)
	}
	w.new(t, Setup{Plugin: "p", Grant: w.grant("state $W/new/states/p")}) // an existing state directory is no error
}

// A grant refers to the directory to which its path resolved when the grant was opened.
func TestMovingSymbolicLinkDoesNotMoveGrant(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.path("$W/other/secret"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("r $W/link")})
	if err := os.Remove(w.path("$W/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", w.path("$W/link")); err != nil {
		t.Fatal(err)
	}
	tree := b.FS(&faults{})
	if _, errno := tree.Stat(w.path("$W/work/sub")[1:]); errno != 0 {
		t.Errorf("stat in the granted directory: got %v", errno)
	}
	if _, errno := tree.Stat(w.path("$W/link/secret")[1:]); errno == 0 {
		t.Error("the new target of the symbolic link can be accessed")
	}
}

func TestWorkingDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		grant        []string
		cwd, project string
		want         string
	}{
		"the host's, where it is granted":                       {[]string{"r $W/work"}, "$W/work", "$W/other", "$W/work"},
		"the host's, in a granted directory":                    {[]string{"r $W/work"}, "$W/work/sub", "$W/work", "$W/work/sub"},
		"the project where the host's is not granted":           {[]string{"r $W/work"}, "$W/other", "$W/work", "$W/work"},
		"the project where the host's only begins the same":     {[]string{"r $W/work"}, "$W/workshop", "$W/work", "$W/work"},
		"the root where neither is granted":                     {[]string{"r $W/work"}, "$W/other", "$W/other", "/"},
		"the root where there is no project":                    {[]string{"r $W/work"}, "/", "", "/"},
		"the root without any directory":                        {nil, "$W/work", "$W/work", "/"},
		"the root where it is granted without a project":        {[]string{"r /"}, "", "", "/"},
		"the host's where the root is granted":                  {[]string{"r /"}, "$W/work", "$W/other", "$W/work"},
		"the project where a link granted it":                   {[]string{"r $W/link"}, "/", "$W/work", "$W/work"},
		"not the state directory although it is always granted": {[]string{"state $W/states/p"}, "$W/work", "$W/work", "/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.new(t, Setup{Grant: w.grant(c.grant...), Places: config.Places{Cwd: w.path(c.cwd), Project: w.path(c.project)}})
			if got := b.Env()["PWD"]; got != w.path(c.want) {
				t.Errorf("got %s, want %s", got, w.path(c.want))
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	set := map[string]string{
		"PWD": w.path("$W/work"), "BULKHEAD_PROJECT": w.path("$W/work"), "BULKHEAD_STATE": w.path("$W/states/p"),
		"BULKHEAD_ZONEINFO": base64.StdEncoding.EncodeToString([]byte("zone")), "BULKHEAD_MEMORY": "33554432",
	}
	with := func(more map[string]string) map[string]string {
		out := map[string]string{}
		for _, from := range []map[string]string{set, more} {
			for name, value := range from {
				out[name] = value
			}
		}
		return out
	}
	for name, c := range map[string]struct{ granted, want map[string]string }{
		"always set":                   {nil, set},
		"what is granted, beside that": {map[string]string{"TOKEN": "t", "EMPTY": ""}, with(map[string]string{"TOKEN": "t", "EMPTY": ""})},
		"not overridden by a grant":    {map[string]string{"PWD": "/", "BULKHEAD_PROJECT": "/", "BULKHEAD_STATE": "/", "BULKHEAD_ZONEINFO": "x", "BULKHEAD_MEMORY": "1"}, set},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SURROUNDINGS", "of the host") // a variable of the host that no plugin may see
			g := w.grant("rw $W/work", "state $W/states/p")
			g.Env, g.Limits.Memory = c.granted, 32<<20
			before := len(c.granted)
			b := w.new(t, Setup{Plugin: "p", Grant: g, Places: config.Places{Cwd: "/", Project: w.path("$W/work")}, Zone: []byte("zone")})
			if diff := cmp.Diff(c.want, b.Env()); diff != "" {
				t.Error(diff)
			}
			if len(c.granted) != before {
				t.Errorf("the caller's map of variables was changed: %v", c.granted)
			}
		})
	}
}

func TestRefusalLogIsRateLimited(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("r $W/work"), Log: hclog.New(&hclog.LoggerOptions{Output: &log})})
	for range 2 { // each instance has its own bound
		tree := b.FS(&faults{})
		for range 60 {
			if errno := tree.Mkdir(w.path("$W/work/new")[1:], 0o755); errno == 0 {
				t.Fatal("a directory was created in a read-only directory")
			}
		}
	}
	if got := strings.Count(log.String(), "denied"); got != 40 {
		t.Errorf("%d refusals are logged, want 40", got)
	}
	if !strings.Contains(log.String(), w.path("$W/work/new")) {
		t.Errorf("the log does not contain the refused path: %s", log.String())
	}
	if want := fmt.Sprintf("granted=%q", w.path("$W/work")+" (r)"); !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say what is granted (%s): %s", want, log.String())
	}
}

func TestGrantedDirectoriesAreListed(t *testing.T) {
	var mounts []vfs.Mount
	for n, want := range []string{"no directory", "/0 (r)", "/0 (r), /1 (rw)"} {
		if got := directories(mounts); got != want {
			t.Errorf("%d directories: got %s, want %s", n, got, want)
		}
		mounts = append(mounts, vfs.Mount{Path: fmt.Sprintf("/%d", n), Write: n == 1})
	}
	for n := 3; n < 10; n++ {
		want := map[bool]string{false: fmt.Sprintf("/%d (r)", n-1), true: "and 1 more"}[n == 9]
		mounts = append(mounts[:n-1], vfs.Mount{Path: fmt.Sprintf("/%d", n-1)})
		if got := directories(mounts); !strings.HasSuffix(got, ", "+want) || strings.Count(got, ",") != n-1 {
			t.Errorf("%d directories: got %s, want the last one to be %s", n, got, want)
		}
	}
}

// WASI has no error number for exceeding the limit of open files, so the message goes to the faults.
func TestFaultMessagesAreBounded(t *testing.T) {
	w := newWorld(t)
	name := w.path("$W/work/" + strings.Repeat("ä", 100) + "/" + strings.Repeat("b", 200))
	if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var asked faults
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("r $W/work")})
	tree := b.FS(&asked)
	for range 1000 {
		file, errno := tree.OpenFile(name[1:], experimentalsys.O_RDONLY, 0)
		if errno != 0 {
			break
		}
		defer file.Close()
	}
	want := `open "` + name[:100]
	if fault := asked.last; !errors.Is(fault, syscall.EMFILE) || !strings.HasPrefix(fault.Error(), want) || len(fault.Error()) > 400 || !utf8.ValidString(fault.Error()) {
		t.Errorf("got %q, want %q…", fault, want)
	}
}

func TestBounded(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"short stays":                       {"a\x00ä", "a\x00ä"},
		"long is cut":                       {strings.Repeat("x", 301), strings.Repeat("x", 300) + "…"},
		"of 300 bytes stays":                {strings.Repeat("x", 300), strings.Repeat("x", 300)},
		"that is no UTF-8 is made so":       {"a\xff\xfeb", "a\uFFFDb"},
		"cut in a character is whole again": {strings.Repeat("ä", 149) + "x" + "ä" + "x", strings.Repeat("ä", 149) + "x" + "\uFFFD" + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bounded(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
