//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
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
