//go:build unix

package sandbox

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// Explain and the file tree implement the same rules: each verdict is compared with what the tree permits.
func TestExplainAgreesWithFileTree(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"work/a", "work/.env", "work/sub/.ENV", "work/sub/.git/hooks/x", "work/deep/ro/f", "work/bulkhead.toml", "other/x", "away", "work/bare/HEAD", "work/bare/objects/x", "work/bare/refs/x", "work/sub/bulkhead.toml"} {
		path := filepath.Join(string(w), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out": "../away", "env": ".env", "hook": "sub/.git/hooks/x"} {
		if err := os.Symlink(target, filepath.Join(string(w), "work", name)); err != nil {
			t.Fatal(err)
		}
	}
	grant := w.grant("rw $W/work", "r $W/work/deep/ro", "r $W/other")
	grant.Deny = []string{"**/.env"}
	c := Setup{Plugin: "p", Grant: grant, Own: []string{w.path("$W/work/bulkhead.toml")}}
	box := w.new(t, c)
	for path, want := range map[string]struct {
		rule    Rule
		pattern string
	}{
		"$W/work/a":                 {rule: RuleGranted},
		"$W/work/sub":               {rule: RuleGranted},
		"$W/work/.env":              {rule: RuleHidden, pattern: "**/.env"},
		"$W/work/sub/.ENV":          {rule: RuleHidden, pattern: "**/.env"},
		"$W/work/env":               {rule: RuleHidden, pattern: "**/.env"},
		"$W/work/sub/.git/hooks/x":  {rule: RuleGit},
		"$W/work/hook":              {rule: RuleGit},
		"$W/work/deep/ro/f":         {rule: RuleReadOnly},
		"$W/other/x":                {rule: RuleReadOnly},
		"$W/work/bulkhead.toml":     {rule: RuleOwn},
		"$W/work/sub/bulkhead.toml": {rule: RuleOwn},
		"$W/work/bare/refs/x":       {rule: RuleGit},
		"$W/away":                   {rule: RuleOutside},
		"$W/work/out":               {rule: RuleOutside},
		"$W/work/../other/../other": {rule: RuleReadOnly},
		"$W":                        {rule: RuleAbove},
		"/":                         {rule: RuleAbove},
	} {
		v, err := Explain(c.Grant, c.Own, w.path(path))
		if err != nil {
			t.Errorf("Explain of %s: got the error %v", path, err)
			continue
		}
		if v.Rule != want.rule || v.Pattern != want.pattern {
			t.Errorf("%s: %s %q, want %s %q", path, v.Rule, v.Pattern, want.rule, want.pattern)
		}
		if v.Rule == RuleAbove {
			continue // the directory can be listed, but nothing else
		}
		tree := box.FS(&faults{})
		if _, errno := tree.Stat(w.path(path)); (errno == 0) != v.Read {
			t.Errorf("%s: the verdict says read %v, the tree %v", path, v.Read, errno)
		}
		if info, err := os.Stat(w.path(path)); err == nil && info.Mode().IsRegular() {
			f, errno := tree.OpenFile(w.path(path), experimentalsys.O_RDWR, 0)
			if errno == 0 {
				f.Close()
			}
			if (errno == 0) != v.Write {
				t.Errorf("%s: the verdict says write %v, the tree %v", path, v.Write, errno)
			}
		}
	}
}

// A directory that is granted by symbolic links has the verdict of the tree under both paths.
func TestExplainAgreesOnAliases(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"real/codex/f", "real/codex/.env", "real/codex/bulkhead.toml", "real/codex/ro/f", "real/hooks/f", "real/away/f", "home/repo/.git/x"} {
		path := filepath.Join(string(w), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"home/.codex": "../real/codex", "home/repo/.git/hooks": "../../../real/hooks"} {
		if err := os.Symlink(target, filepath.Join(string(w), link)); err != nil {
			t.Fatal(err)
		}
	}
	grant := w.grant("rw $W/home/.codex", "r $W/home/.codex/ro", "rw $W/home/repo/.git/hooks")
	grant.Deny = []string{"**/.env"}
	tree := w.new(t, Setup{Plugin: "p", Grant: grant}).FS(&faults{})
	for path, want := range map[string]Rule{
		"codex/f": RuleGranted, "codex/.env": RuleHidden, "codex/bulkhead.toml": RuleOwn, "codex/ro/f": RuleReadOnly, "hooks/f": RuleGit,
		"codex/../away/f": RuleOutside, "codex/ro/../f": RuleGranted,
	} {
		for _, at := range []string{"$W/real/" + path, strings.NewReplacer("codex", "$W/home/.codex", "hooks", "$W/home/repo/.git/hooks").Replace(path)} {
			if strings.Contains(at, "home/.codex/..") {
				continue // the tree resolves ".." to the parent of the resolved directory
			}
			v, err := Explain(grant, nil, w.path(at))
			if err != nil || v.Rule != want {
				t.Errorf("%s: %s, %v, want %s", at, v.Rule, err, want)
			}
			_, missing := tree.Stat(w.path(at))
			f, errno := tree.OpenFile(w.path(at), experimentalsys.O_RDWR, 0)
			if errno == 0 {
				f.Close()
			}
			if (missing == 0) != v.Read || (errno == 0) != v.Write {
				t.Errorf("%s: the verdict is %s, the tree says %v, %v", at, v.Rule, missing, errno)
			}
		}
	}
}

// The state directory is writable inside of any other grant. Its ancestors are hidden, but can be traversed to reach it.
func TestExplainDecidesOnStateInOtherGrants(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"states/p/sub", "states/q"} {
		if err := os.MkdirAll(filepath.Join(string(w), dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("states/p/sub", w.path("$W/tostate")); err != nil {
		t.Fatal(err)
	}
	grant := w.grant("r $W", "r $W/tostate", "state $W/states/p")
	for path, want := range map[string]Rule{
		"$W/states": RuleAbove, "$W/states/p": RuleGranted, "$W/states/p/sub": RuleGranted, "$W/states/p/sub/f": RuleGranted,
		"$W/tostate/f": RuleGranted, "$W/states/p/../q": RuleOwn, "$W/states/q/f": RuleOwn, "$W/work": RuleReadOnly,
	} {
		v, err := Explain(grant, []string{w.path("$W/states")}, w.path(path))
		if err != nil || v.Rule != want {
			t.Errorf("%s: %s, %v; want %s", path, v.Rule, err, want)
		}
	}
}

func TestExplainChangesNothing(t *testing.T) {
	w := newWorld(t)
	grant := w.grant("rw $W/work/none")
	grant.FS[0].State = true
	v, err := Explain(grant, nil, w.path("$W/work/none/f"))
	if err != nil || !v.Write || v.Mount == nil || v.Mount.Path != grant.FS[0].Path {
		t.Errorf("Explain of a path in an absent directory returned %+v, %v; want it writable", v, err)
	}
	if _, err := os.Lstat(w.path("$W/work/none")); err == nil {
		t.Error("the state directory was made")
	}
}

// TestExplainAgreesOnRandomTrees compares verdicts with what the file tree permits, in trees with symbolic links, git directories, names of
// the host, deny patterns and nested grants.
func TestExplainAgreesOnRandomTrees(t *testing.T) {
	for seed := range testenv.Count(10, 50, 400) {
		w := newWorld(t)
		r := rand.New(rand.NewPCG(uint64(seed), 27))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		randomPath := func(parts int) string {
			path := pick("work", "other", "away", "link", "work")
			for range 1 + r.IntN(parts) {
				path += "/" + pick("a", "b", "sub", "link", ".git", ".env", "hooks", "HEAD", "objects", "refs", "bulkhead.toml", "..")
			}
			return path
		}
		for range 40 {
			path := string(w) + "/" + strings.ReplaceAll(randomPath(3), "..", "b")
			_ = os.MkdirAll(filepath.Dir(path), 0o755) // fails below a file or a link, which is one of the trees wanted
			switch r.IntN(4) {
			case 0:
				_ = os.Mkdir(path, 0o755)
			case 1, 2:
				if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
					_ = f.Close()
				}
			default:
				target := string(w) + "/" + randomPath(3)
				if r.IntN(2) == 0 {
					target = strings.Repeat("../", r.IntN(3)) + randomPath(2)
				}
				_ = os.Symlink(target, path)
			}
		}
		grant := w.grant("rw $W/work")
		for _, more := range []string{"r $W/other", "r $W/work/sub", "rw $W/work/sub/a", "r $W/link", "rw $W/work/a/none", "rw $W/other/.git"} {
			path, _ := strings.CutPrefix(more[strings.Index(more, "$"):], "$W")
			if real, err := filepath.EvalSymlinks(string(w) + path); r.IntN(2) == 0 && (err != nil && os.IsNotExist(err) || err == nil && isDir(real)) {
				grant.FS = append(grant.FS, w.grant(more).FS...)
			}
		}
		for range r.IntN(3) {
			grant.Deny = append(grant.Deny, pick("**/.env", "link", "**/link", "a/*", "sub/**/b", ".git", "b", "**/a/sub"))
		}
		box, err := open(Setup{Plugin: "p", Grant: grant})
		if err != nil {
			continue // a granted path is a dangling link, which the host refuses
		}
		tree := box.FS(&faults{})
		for range 100 {
			checkVerdict(t, tree, grant, string(w)+"/"+randomPath(4))
		}
		if t.Failed() {
			t.Fatalf("seed %d, grants %v, deny %q", seed, grant.FS, grant.Deny)
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkVerdict compares the verdict on a path with what the tree permits, except where the system refuses it.
func checkVerdict(t *testing.T, tree experimentalsys.FS, grant config.Grant, path string) {
	t.Helper()
	v, err := Explain(grant, nil, path)
	if err != nil {
		t.Errorf("Explain of %s: %v", path, err)
		return
	}
	_, errno := tree.Stat(path)
	info, err := os.Stat(v.Path)
	switch visible := v.Read || v.Rule == RuleAbove; {
	case !visible && errno == 0:
		t.Errorf("%s (%s): the verdict is %s, but the module sees it", path, v.Path, v.Rule)
	case visible && err == nil && errno != 0 && errno != experimentalsys.ENOTDIR: // such as file/..
		t.Errorf("%s (%s): the verdict is %s, but the module gets %v", path, v.Path, v.Rule, errno)
	}
	if errno != 0 || err != nil || v.Rule == RuleAbove {
		return
	}
	if info.Mode().IsRegular() {
		var f experimentalsys.File
		if f, errno = tree.OpenFile(path, experimentalsys.O_RDWR, 0); errno == 0 {
			f.Close()
		}
	} else {
		errno = tree.Chmod(path, info.Mode())
	}
	if (errno == 0) != v.Write {
		t.Errorf("%s (%s): the verdict is %s, but a change gets %v", path, v.Path, v.Rule, errno)
	}
}

func TestExplainNamesFirstPatternThatHides(t *testing.T) {
	w := newWorld(t)
	grant := w.grant("r $W/work")
	grant.Deny = []string{"**/other", "**/.env", ".env"}
	if v, err := Explain(grant, nil, w.path("$W/work/.env")); err != nil || v.Rule != RuleHidden || v.Pattern != "**/.env" {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestExplainResolvesNothingOutsideOfGrants has symbolic links outside, which could be those of an automounter.
func TestExplainResolvesNothingOutsideOfGrants(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"$W/link/f", "$W/dangling/f", "$W/loop"} {
		if v, err := Explain(w.grant("r $W/other"), nil, w.path(path)); err != nil || v.Rule != RuleOutside || v.Path == w.path("$W/work/f") {
			t.Errorf("%s: got %+v, %v", path, v, err)
		}
	}
	if real, err := RealPath(w.path("$W/link/f")); err != nil || real != w.path("$W/work/f") {
		t.Errorf("got %s, %v", real, err)
	}
}

// TestExplainNameLooksAtNoFile grants a symbolic link: its name decides, and not its target.
func TestExplainNameLooksAtNoFile(t *testing.T) {
	w := newWorld(t)
	grant := w.grant("rw $W/link", "r $W/link/ro")
	grant.Deny = []string{"**/.env"}
	for path, want := range map[string]Rule{
		"$W/link/f": RuleGranted, "$W/link/ro/f": RuleReadOnly, "$W/link/.env": RuleHidden, "$W/link/own": RuleOwn, "$W/link/.git/config": RuleGit, "$W/work/f": RuleOutside, "$W": RuleAbove,
	} {
		if v, err := ExplainName(grant, []string{w.path("$W/link/own")}, w.path(path)); err != nil || v.Rule != want {
			t.Errorf("%s: got %+v, %v; want %s", path, v, err, want)
		}
	}
}

// A granted file has the rules of a granted directory that does not exist.
func TestExplainDecidesOnGrantedFile(t *testing.T) {
	w := newWorld(t)
	if v, err := Explain(w.grant("rw $W/file"), nil, w.path("$W/file/f")); err != nil || v.Rule != RuleGranted {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestExplainReportsRelativeGrant(t *testing.T) {
	if _, err := Explain(config.Grant{FS: []config.Mount{{Path: "relative"}}}, nil, "/relative"); err == nil || !strings.Contains(err.Error(), "must be absolute") {
		t.Errorf("got %v", err)
	}
}

func TestUnresolvablePathsOfTheHostStayHidden(t *testing.T) {
	w := newWorld(t)
	var got []string
	for _, path := range realPaths([]string{w.path("$W/link/sub"), w.path("$W/dangling"), w.path("$W/loop"), w.path("$W/link/absent/x")}) {
		got = append(got, strings.Replace(path, string(w), "$W", 1))
	}
	if want := []string{"$W/work/sub", "$W/dangling", "$W/loop", "$W/work/absent/x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
