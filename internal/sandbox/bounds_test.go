//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// The bounds are in digits here, so that a change of a constant fails.

func TestRefusalsAreLoggedAgainAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d denials
		count := func() (n int) {
			for range 50 {
				if d.allow() {
					n++
				}
			}
			return n
		}
		first := count()
		time.Sleep(10 * time.Second)
		same := count()
		time.Sleep(time.Nanosecond)
		if next := count(); first != 20 || same != 0 || next != 20 {
			t.Errorf("logged %d, within ten seconds %d, then %d; want 20, 0, 20", first, same, next)
		}
	})
}

func TestScanAcceptsItsBounds(t *testing.T) {
	w, box := scanBox(t)
	for name, q := range map[string]abi.Scan{
		"depth": {Depth: 32}, "patterns": {Match: slices.Repeat([]string{"x"}, 16)}, "a long pattern": {Skip: []string{strings.Repeat("x", 256)}},
		"max_file": {MaxFile: 16 << 20}, "max": {Max: 16 << 20}, "after": {After: strings.Repeat("x", 8192)}, "function": {Function: 63},
	} {
		q.Path = w.path("$W/scan")
		if _, err := box.scan(t.Context(), q); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	box.config.Derive = func(context.Context, Derivation, DerivedFile) ([]byte, error) { return nil, nil }
	for size, want := range map[int64]string{4 << 20: "", 4<<20 + 1: "out of range: write 1 to 4194304"} {
		_, err := box.scan(t.Context(), abi.Scan{Path: w.path("$W/scan"), Data: abi.ScanDataDerived, MaxFile: size})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("max_file %d: got %v, want %q", size, err, want)
		}
	}
}

// spender counts what is charged.
type spender struct {
	faults
	spent int
}

func (s *spender) Spend(bytes int) { s.spent += bytes }

func TestListedEntriesAreCharged(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(w.path("$W/work/"+name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(w.path("$W/work"))
	if err != nil {
		t.Fatal(err)
	}
	asked := &spender{}
	dir, errno := w.new(t, Setup{Plugin: "p", Grant: w.grant("r $W/work")}).FS(asked).OpenFile(w.path("$W/work"), experimentalsys.O_RDONLY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer dir.Close()
	listed, errno := dir.Readdir(100)
	if errno != 0 || len(listed) != len(entries) || asked.spent != len(entries)*1024 {
		t.Errorf("listed %d of %d, charged %d, %v; want 1,024 for each", len(listed), len(entries), asked.spent, errno)
	}
}

func TestLocksAcceptTheirBounds(t *testing.T) {
	w := newWorld(t)
	ctx, call := t.Context(), w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}}).Begin()
	defer call.End()
	if err := call.Lock(ctx, abi.Lock{Name: strings.Repeat("x", 256)}); err != nil {
		t.Error(err)
	}
	if err := call.Lock(ctx, abi.Lock{Name: "n", Folder: "work"}); err == nil || !strings.Contains(err.Error(), "not an absolute path") {
		t.Errorf("a relative directory: got %v", err)
	}
	if err := call.Lock(ctx, abi.Lock{Name: "other", Folder: w.path("$W/work/absent")}); err == nil {
		t.Error("an absent directory was locked")
	}
	if len(call.names) != 1 || len(call.dirs) != 0 {
		t.Errorf("%d names and %d directories are locked after a failure; want the first name only", len(call.names), len(call.dirs))
	}
}

func TestIsHiddenInRoot(t *testing.T) {
	h, err := newHidden([]string{"/"}, Hidden{Patterns: []string{"etc/secret"}, Own: []string{"/var/own"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/": false, "/bulkhead.toml": true, "/a/bulkhead.toml": true, "/a/b/.bulkhead-x/y": true, "/a/b": false, "/etc/secret/x": true, "/etc": false,
		"/var/own": true, "/var/own/x": true, "/var": false, "/a/bulkhe~1": true, "/a/bulkhe~": false, "/a/bulkhe~1.tom": true, "/a/bulkhe~1.txt": false,
	} {
		if got := h.isHidden(path, false); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
}

func TestExplainMergesGrantsOfOneDirectory(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"$W/state/p/sub", "$W/work/sub"} {
		if err := os.MkdirAll(w.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"$W/alias": "work", "$W/tostate": "state/p"} {
		if err := os.Symlink(target, w.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		grant []string
		path  string
		rule  Rule
		mount string
	}{
		"write access first":          {[]string{"rw $W/work", "r $W/alias"}, "$W/alias/f", RuleGranted, "$W/work"},
		"write access last":           {[]string{"r $W/alias", "rw $W/work"}, "$W/work/f", RuleGranted, "$W/alias"},
		"read access twice":           {[]string{"r $W/alias", "r $W/work"}, "$W/work/f", RuleReadOnly, "$W/alias"},
		"a directory in it":           {[]string{"rw $W/work", "r $W/work/sub"}, "$W/work/sub/f", RuleReadOnly, "$W/work/sub"},
		"a directory in the state":    {[]string{"state $W/state/p", "r $W/state/p/sub"}, "$W/state/p/sub/f", RuleGranted, "$W/state/p"},
		"the state by a link":         {[]string{"r $W/tostate", "state $W/state/p"}, "$W/state/p/sub/f", RuleGranted, "$W/tostate"},
		"the state first":             {[]string{"state $W/state/p", "rw $W/tostate", "r $W/state/p/sub"}, "$W/state/p/sub/f", RuleGranted, "$W/state/p"},
		"the state by a link, and in": {[]string{"r $W/tostate", "state $W/state/p", "r $W/state/p/sub"}, "$W/state/p/sub/f", RuleGranted, "$W/tostate"},
	} {
		v, err := Explain(w.grant(c.grant...), nil, w.path(c.path))
		if err != nil || v.Rule != c.rule || v.Mount == nil || v.Mount.Path != w.path(c.mount) {
			t.Errorf("%s: got %+v, %v; want %s by %s", name, v, err, c.rule, c.mount)
		}
	}
}

func TestExplainReportsErrors(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("absent", w.path("$W/nowhere")); err != nil {
		t.Fatal(err)
	}
	deny := w.grant("r $W/work")
	deny.Deny = []string{"[a"}
	for name, c := range map[string]struct {
		grant config.Grant
		path  string
		want  string
	}{
		"a path with a zero":   {w.grant("r $W/work"), "$W/work/a\x00", "invalid argument"},
		"a malformed pattern":  {deny, "$W/work/a", "not a valid pattern"},
		"a dangling directory": {w.grant("r $W/nowhere"), "$W/work/a", "granted directory " + w.path("$W/nowhere")},
	} {
		if _, err := Explain(c.grant, nil, w.path(c.path)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// What the host cannot open is decided as if it did not exist.
func TestExplainDecidesOnUnreadableDirectory(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	w := newWorld(t)
	if err := os.Chmod(w.path("$W/work"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(w.path("$W/work"), 0o755) })
	if v, err := Explain(w.grant("rw $W/work"), nil, w.path("$W/work/a")); err != nil || v.Rule != RuleGranted || v.Mount.Access != manifest.ReadWrite {
		t.Errorf("a directory that cannot be read: got %+v, %v", v, err)
	}
}

func TestRefusalSaysWhichSideHasToChange(t *testing.T) {
	fetch := func(context.Context, abi.HTTPRequest) (abi.HTTPResponse, error) { return abi.HTTPResponse{}, nil }
	const manifest, config = "its manifest must ask", "although its manifest asks for one: the config must grant"
	for name, c := range map[string]struct {
		config   Config
		op, want string
	}{
		"a repository":               {Config{}, abi.OpGitStatus, manifest},
		"a requested repository":     {Config{Asks: Asks{Git: true}}, abi.OpGitStatus, config},
		"a granted repository":       {Config{Asks: Asks{Git: true}, Repos: []git.Grant{{Repo: "/r"}}}, abi.OpGitStatus, ""},
		"a remote":                   {Config{Asks: Asks{Git: true, HTTP: true}}, abi.OpGitFetch, manifest},
		"a requested remote":         {Config{Asks: Asks{Remotes: true}}, abi.OpGitFetch, config},
		"a granted remote":           {Config{Asks: Asks{Remotes: true}, Remotes: []string{"*"}}, abi.OpGitListRemote, ""},
		"a web server":               {Config{Asks: Asks{Git: true, Remotes: true}}, abi.OpHTTPFetch, manifest},
		"a requested web server":     {Config{Asks: Asks{HTTP: true}}, abi.OpHTTPFetch, config},
		"a granted web server":       {Config{Asks: Asks{HTTP: true}, Fetch: fetch}, abi.OpHTTPFetch, ""},
		"an operation without grant": {Config{}, abi.OpClaims, ""},
	} {
		got := (&Box{config: c.config}).ungranted(c.op)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A pattern hides the entries of a directory that is renamed if it can match below the new path.
func TestPatternsMatchBelow(t *testing.T) {
	for pattern, want := range map[string]map[string]bool{
		"a/b":     {"a": true, "a/b": false, "b": false, "a/b/c": false},
		"a/*/c":   {"a/x": true, "a/x/c": false},
		"a/**":    {"a": true, "a/b": true, "a/b/c": true, "b": false},
		"**/.env": {"a": false}, // matches at the old path, too
		"**/a/b":  {"x": true},
		"{a,b}/c": {"a": true, "b": true, "x": false},
		"{a/b,c}": {"x": true},
	} {
		for name, want := range want {
			if got := matchesBelow(pattern, name); got != want {
				t.Errorf("%s below %s: got %t", pattern, name, got)
			}
		}
	}
}

func TestOriginsOfInvalidURLsAreNotRecorded(t *testing.T) {
	for text, want := range map[string]string{"https://user:secret@h:1/secret?secret#secret": "https://h:1", "http://[secret": "", "https://h/%zz?secret": "", "\x00secret": ""} {
		if got := originOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestBoxCallsItsHost(t *testing.T) {
	asked, changes := 0, 0
	box, err := New(Config{
		Fetch: func(context.Context, abi.HTTPRequest) (abi.HTTPResponse, error) {
			asked++
			return abi.HTTPResponse{Status: 204}, nil
		},
		Changing: func(_ context.Context, state bool) error { changes++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := box.fetch(t.Context(), abi.HTTPRequest{}); err != nil || answer.Status != 204 || asked != 1 {
		t.Errorf("got %+v, %v after %d requests", answer, err, asked)
	}
	for _, op := range []string{abi.OpGitCommitBranch, abi.OpGitCommit, abi.OpGitCreateBranch, abi.OpGitReset} {
		changes = 0
		if _, err := operations[op].do(box, t.Context(), []byte("{}")); err == nil || changes != 1 {
			t.Errorf("%s: got %v; %d changes were announced, want one", op, err, changes)
		}
	}
	box.config.Changing = func(_ context.Context, state bool) error { return fmt.Errorf("of state: %t", state) }
	for _, op := range []string{abi.OpGitCommitBranch, abi.OpGitCommit, abi.OpGitCreateBranch, abi.OpGitReset, abi.OpGitAdd} {
		var denied *abi.HostError
		if _, err := operations[op].do(box, t.Context(), []byte("{}")); !errors.As(err, &denied) || denied.Code != abi.HostDenied || denied.Message != "of state: false" {
			t.Errorf("%s: got %v, want it to be denied", op, err)
		}
	}
	if _, err := new(Box).fetch(t.Context(), abi.HTTPRequest{}); err == nil {
		t.Error("a box without a network has an answer")
	}
}

func TestDerivedDataHaveOneMiB(t *testing.T) {
	for size, want := range map[int]string{1 << 20: "state 0", 1<<20 + 1: "state 3"} {
		w, box := scanBox(t, func(c *Config) {
			c.Derive = func(context.Context, Derivation, DerivedFile) ([]byte, error) { return make([]byte, size), nil }
		})
		answer, err := box.scan(t.Context(), abi.Scan{Path: w.path("$W/scan"), Match: []string{"a.md"}, Data: abi.ScanDataDerived, MaxFile: 100, Max: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		entries, _ := decodeScan(t, answer.(binaryAnswer))
		if got := texts(entries); !strings.Contains(got, "a.md 0x4 "+want) {
			t.Errorf("%d bytes: got %.200s, want %s", size, got, want)
		}
	}
}

func TestLockerNeedsValidGrant(t *testing.T) {
	file, err := os.Open(os.Args[0]) // not a directory
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, c := range map[string]LockerConfig{
		"a file for names":  {Names: file},
		"a mount twice":     {Mounts: []vfs.Mount{{Path: "/a"}, {Path: "/a"}}},
		"a malformed glob":  {Hidden: Hidden{Patterns: []string{"[a"}}},
		"a file as a mount": {Mounts: []vfs.Mount{{Path: "/a", Dir: file}}},
	} {
		if l, err := NewLocker(c); err == nil || l != nil {
			t.Errorf("%s: got %v, %v", name, l, err)
		}
	}
}

// The paths of a command are relative to the working directory, those of other modules to the root of the tree.
func TestPathsOfCommandsAreRelative(t *testing.T) {
	w := newWorld(t)
	for _, relative := range []bool{false, true} {
		c, err := openGrant(Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{Cwd: w.path("$W/work")}})
		if err != nil {
			t.Fatal(err)
		}
		c.Relative = relative
		if err := os.WriteFile(w.path("$W/work/here"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		box, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, errno := box.FS(&faults{}).Stat("here"); (errno == 0) != relative {
			t.Errorf("relative: %t: got %v", relative, errno)
		}
	}
}
