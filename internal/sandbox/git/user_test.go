//go:build unix

package git_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
)

// effective returns the configuration of a user for a repository.
func effective(t *testing.T, files git.UserFiles, r *gittest.Repo) (git.User, error) {
	t.Helper()
	config, readErr := files.Read()
	user, err := config.For(t.Context(), gittest.Open(t, r.Dir))
	gittest.Must(t, err)
	return user, readErr
}

func TestReadUser(t *testing.T) {
	home, system := t.TempDir(), t.TempDir()
	r := gittest.Sample(t, t.TempDir())
	files := git.UserFiles{Home: home, System: []string{system + "/gitconfig", system + "/absent/gitconfig"}}
	read := func() git.User {
		t.Helper()
		u, err := effective(t, files, r)
		gittest.Must(t, err)
		return u
	}
	if diff := cmp.Diff(git.User{}, read()); diff != "" {
		t.Errorf("without any file: %s", diff)
	}
	gittest.Write(t, system+"/gitconfig", "[user]\n\tname = S\n\temail = s@example.com\n[core]\n\thooksPath = /hooks\n")
	gittest.Write(t, system+"/gitattributes", "*.s filter=s\n")
	settings := git.Settings{"core.hookspath": {Value: "/hooks", File: system + "/gitconfig"}}
	want := git.User{Identity: git.Identity{Name: "S", Email: "s@example.com"}, SystemAttributes: []byte("*.s filter=s\n\n"), Settings: settings}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("from the system's files: %s", diff)
	}
	gittest.Write(t, home+"/.config/git/config", "[user]\n\tname = X\n\temail = x@example.com\n")
	gittest.Write(t, home+"/.config/git/ignore", "*.bak\n")
	gittest.Write(t, home+"/.config/git/attributes", "*.x text\n")
	want.Identity, want.Excludes, want.Attributes = git.Identity{Name: "X", Email: "x@example.com"}, []byte("*.bak\n"), []byte("*.x text\n")
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("from the directory for configuration: %s", diff)
	}
	gittest.Write(t, home+"/.gitconfig", "[core]\n\texcludesFile = ~/mine\n\tattributesFile = ~/none\n[include]\n\tpath = more\n[user]\n\tname = Y\n")
	gittest.Write(t, home+"/mine", "*.tmp\n")
	gittest.Write(t, home+"/more", "[user]\n\tname = Z\n[commit]\n\tgpgSign\n")
	settings["commit.gpgsign"] = git.Setting{Value: "true", File: home + "/more"}
	want.Identity.Name, want.Excludes, want.Attributes = "Y", []byte("*.tmp\n"), []byte{}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("the file in the home directory does not take precedence: %s", diff)
	}
	gittest.Write(t, home+"/more", "[user\n")
	if u, err := effective(t, files, r); err == nil || !strings.Contains(err.Error(), "more: line 1") || u.Identity.Name != "Y" || u.Settings["?unreadable"].File != home+"/more" {
		t.Errorf("a file that cannot be read: got %+v, %v", u, err)
	}
}

// TestIncludesAreGits compares the address of the user with the one that git has.
func TestIncludesAreGits(t *testing.T) {
	for rule, config := range map[string]string{
		"before":                             "[include]\n\tpath = other\n[user]\n\temail = own\n",
		"after":                              "[user]\n\temail = own\n[include]\n\tpath = other\n",
		"in the home directory":              "[include]\n\tpath = ~/other\n",
		"absent":                             "[include]\n\tpath = nothing\n[user]\n\temail = own\n",
		"nested":                             "[include]\n\tpath = dir/nested\n",
		"without a value":                    "[include]\n\tpath\n[user]\n\temail = own\n",
		"another key":                        "[user]\n\temail = own\n[include]\n\tpaths = other\n",
		"git directory":                      "[user]\n\temail = own\n[includeIf \"gitdir:$R/.git\"]\n\tpath = other\n",
		"git directory, too short":           "[user]\n\temail = own\n[includeIf \"gitdir:$R\"]\n\tpath = other\n",
		"above the git directory":            "[user]\n\temail = own\n[includeIf \"gitdir:$R/\"]\n\tpath = other\n",
		"far above the git directory":        "[user]\n\temail = own\n[includeIf \"gitdir:$H/\"]\n\tpath = other\n",
		"below the home directory":           "[user]\n\temail = own\n[includeIf \"gitdir:~/src/\"]\n\tpath = other\n",
		"below the file's directory":         "[user]\n\temail = own\n[includeIf \"gitdir:./src/\"]\n\tpath = other\n",
		"by an alias":                        "[user]\n\temail = own\n[includeIf \"gitdir:~/alias/\"]\n\tpath = other\n",
		"relative":                           "[user]\n\temail = own\n[includeIf \"gitdir:src/\"]\n\tpath = other\n",
		"relative, another directory":        "[user]\n\temail = own\n[includeIf \"gitdir:sr/\"]\n\tpath = other\n",
		"relative, other case":               "[user]\n\temail = own\n[includeIf \"gitdir:SRC/\"]\n\tpath = other\n",
		"case is ignored":                    "[user]\n\temail = own\n[includeIf \"gitdir/i:SRC/\"]\n\tpath = other\n",
		"a wildcard":                         "[user]\n\temail = own\n[includeIf \"gitdir:s?c/*/.git\"]\n\tpath = other\n",
		"a wildcard for one directory":       "[user]\n\temail = own\n[includeIf \"gitdir:~/*/.git\"]\n\tpath = other\n",
		"branch":                             "[user]\n\temail = own\n[includeIf \"onbranch:feature/x\"]\n\tpath = other\n",
		"branches below":                     "[user]\n\temail = own\n[includeIf \"onbranch:feature/\"]\n\tpath = other\n",
		"another branch":                     "[user]\n\temail = own\n[includeIf \"onbranch:x\"]\n\tpath = other\n",
		"a condition in an included file":    "[user]\n\temail = own\n[include]\n\tpath = conditional\n",
		"a condition that does not hold":     "[user]\n\temail = own\n[includeIf \"onbranch:x\"]\n\tpath = conditional\n",
		"a condition that git does not know": "[user]\n\temail = own\n[includeIf \"moon:full\"]\n\tpath = other\n",
	} {
		t.Run(rule, func(t *testing.T) {
			home, err := filepath.EvalSymlinks(t.TempDir())
			gittest.Must(t, err)
			r := gittest.Sample(t, home+"/src/repo")
			gittest.Git(t, r.Dir, "checkout", "--quiet", "feature/x")
			gittest.Symlink(t, "src", home+"/alias")
			gittest.Write(t, home+"/other", "[user]\n\temail = other\n")
			gittest.Write(t, home+"/conditional", "[includeIf \"gitdir:~/src/\"]\n\tpath = other\n")
			gittest.Write(t, home+"/dir/nested", "[include]\n\tpath = ../other\n")
			gittest.Write(t, home+"/.gitconfig", strings.NewReplacer("$R", r.Dir, "$H", home).Replace(config))
			command := exec.Command("git", "config", "user.email")
			command.Dir, command.Env = r.Dir, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "GIT_CONFIG_NOSYSTEM=1")
			out, err := command.CombinedOutput()
			want := strings.TrimSpace(string(out))
			if err != nil && rule != "without a value" {
				t.Fatalf("git: %v %s", err, out)
			}
			user, _ := effective(t, git.UserFiles{Home: home}, r)
			if err != nil { // git ends with an error, too
				if _, refused := user.Settings["?unreadable"]; !refused {
					t.Errorf("got %+v, git ends with %s", user, want)
				}
				return
			}
			if user.Identity.Email != want {
				t.Errorf("the address is %q, git's is %q", user.Identity.Email, want)
			}
			if _, unknown := user.Settings["?include"]; unknown != strings.Contains(rule, "git does not know") {
				t.Errorf("an unknown condition: got %+v", user.Settings)
			}
		})
	}
}

// TestReadUserIsBounded checks that a file is read up to the limit for its size, and includes up to the limit for their depth and number.
func TestReadUserIsBounded(t *testing.T) {
	home := t.TempDir()
	r := gittest.Sample(t, t.TempDir())
	cases := map[string]func(){
		"larger than":                  func() { gittest.Write(t, home+"/.gitconfig", "[user]\n\tname = X\n"+strings.Repeat("#\n", 16<<20)) },
		"nested deeper than 10 levels": func() { gittest.Write(t, home+"/.gitconfig", "[include]\n\tpath = .gitconfig\n") },
		"more than 100 files": func() {
			gittest.Write(t, home+"/.gitconfig", strings.Repeat("[include]\n\tpath = one\n", 200))
			gittest.Write(t, home+"/one", strings.Repeat("[include]\n\tpath = two\n", 200))
			gittest.Write(t, home+"/two", "")
		},
		"~someone": func() { gittest.Write(t, home+"/.gitconfig", "[include]\n\tpath = ~someone/x\n") },
	}
	for why, arrange := range cases {
		arrange()
		u, err := effective(t, git.UserFiles{Home: home}, r)
		if err == nil || !strings.Contains(err.Error(), why) || u.Identity.Name != "" || u.Settings["?unreadable"].File == "" {
			t.Errorf("%s: got %+v, %v", why, u, err)
		}
	}
	gittest.Write(t, home+"/.gitconfig", "")
	gittest.Write(t, home+"/.config/git/ignore", strings.Repeat("#\n", 16<<20))
	if u, err := effective(t, git.UserFiles{Home: home}, r); err == nil || u.Excludes != nil {
		t.Errorf("got %d bytes, %v", len(u.Excludes), err)
	}
}

// Each bound is reached exactly, and then exceeded by one.
func TestUserMayReachBounds(t *testing.T) {
	const levels, files, size = 10, 100, 4 << 20
	for name, arrange := range map[string]func(home string, more int){
		"levels": func(home string, more int) {
			gittest.Write(t, home+"/.gitconfig", "[include]\n\tpath = 1\n")
			for n := 1; n < levels+more; n++ {
				gittest.Write(t, fmt.Sprintf("%s/%d", home, n), fmt.Sprintf("[include]\n\tpath = %d\n", n+1))
			}
			gittest.Write(t, fmt.Sprintf("%s/%d", home, levels+more), "")
		},
		"files": func(home string, more int) {
			gittest.Write(t, home+"/.gitconfig", strings.Repeat("[include]\n\tpath = one\n", files-1+more))
			gittest.Write(t, home+"/one", "")
		},
		"bytes": func(home string, more int) {
			config := strings.Repeat("[include]\n\tpath = one\n", 7) + "[include]\n\tpath = two\n"
			gittest.Write(t, home+"/.gitconfig", config)
			gittest.Write(t, home+"/one", strings.Repeat("\n", size/8))
			gittest.Write(t, home+"/two", strings.Repeat("\n", size/8-len(config)+more))
		},
	} {
		for more := range 2 {
			home := t.TempDir()
			arrange(home, more)
			if _, err := (git.UserFiles{Home: home}).Read(); (err != nil) != (more == 1) {
				t.Errorf("%s, and %d more: got %v", name, more, err)
			}
		}
	}
}

// A relative path would be one of the host's working directory, which is the project in many cases.
func TestRelativeIgnoreFileIsNotRead(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	t.Chdir(work)
	gittest.Write(t, work+"/mine", "*\n")
	gittest.Write(t, home+"/.gitconfig", "[core]\n\texcludesFile = mine\n")
	if u, err := effective(t, git.UserFiles{Home: home}, gittest.Sample(t, t.TempDir())); err != nil || len(u.Excludes) > 0 {
		t.Errorf("got %q, %v", u.Excludes, err)
	}
}

// Users disable a setting that names a file by /dev/null.
func TestDeviceInPlaceOfIgnoreFileIsEmpty(t *testing.T) {
	home := t.TempDir()
	gittest.Write(t, home+"/.gitconfig", "[core]\n\texcludesFile = /dev/null\n")
	if u, err := effective(t, git.UserFiles{Home: home}, gittest.Sample(t, t.TempDir())); err != nil || len(u.Excludes) > 0 {
		t.Errorf("got %q, %v", u.Excludes, err)
	}
}

func TestConfigurationOfUserEndsWithCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (git.UserConfig{git.Layer{}}).For(ctx, nil); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestDirectoryOfConfigurationIsTheUsers(t *testing.T) {
	home, xdg := t.TempDir(), t.TempDir()
	gittest.Write(t, home+"/.config/git/config", "[user]\n\tname = H\n")
	gittest.Write(t, xdg+"/git/config", "[user]\n\tname = X\n")
	r := gittest.Sample(t, t.TempDir())
	for dir, want := range map[string]string{"": "H", xdg: "X"} {
		if u, err := effective(t, git.UserFiles{Home: home, XDG: dir}, r); err != nil || u.Identity.Name != want {
			t.Errorf("XDG_CONFIG_HOME %q: got %+v, %v; want %s", dir, u, err, want)
		}
	}
}

// A condition that cannot be decided is an error: the configuration behind it could forbid a change.
func TestUndecidedConditionIsReported(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	opened := gittest.Open(t, r.Dir)
	gittest.Write(t, r.Dot+"/HEAD", "x\n")
	config := git.UserConfig{{When: []git.Condition{{Branch: true, Pattern: "main"}}, User: git.User{Identity: gittest.Someone}}}
	if user, err := config.For(t.Context(), opened); err == nil || user.Identity.Name != "" {
		t.Errorf("got %+v, %v", user, err)
	}
}
