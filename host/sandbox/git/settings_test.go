package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/google/go-cmp/cmp"
)

// settingsSeeds are configuration files; those that git refuses too have an empty result.
var settingsSeeds = []string{
	"", "[core]\n\tbare = false\n", "[remote \"origin\"]\n\turl = https://example.com/r.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
	"[A]\nB=c", "[a]b=c", "[a]\nb", "[a]\nb = \"x y\" ; comment\n", "[a]\nb = x y # c\n", "[a]\nb = one \\\n two\n", "[a]\nb = \"a\\\"b\\\\c\\td\\n\"\n",
	"[a \"B\\\"c\"]\nd=e\n", "[a.B]\nc=d\n", "[a.b \"c\"]\nd=e\n", "# only\n; comments\n", "\ufeff[a]\nb=c\n", "[a]\r\nb = c\r\n", "[a]\nb = c\r", "[a]\nb==c\n",
	"[a]\nb = \n", "[a]\nb=\"\"\n", "[a]\nb = \" c \" \n", "[a] ; x\nb=c\n", "[a]\nb=c\\\n", "[a-1]\nb-2=c\n", "[a]\nb = x\\\n", "[a \"\"]\nb=c\n",
	"[a]\nb = c ;\"\n", "[a]\nb = c\" ;d\"\n", "[a]\nb =\"c\" \"\"  \n", "[]\nb=c\n",
	"[a", "[a]\n1=2\n", "[a]\nb c\n", "[a]\nb = \"c\n", "[a]\nb = \\x\n", "[a \"b]\n", "[a \"b\nc\"]\n", "[a b]\n", "a\n", "=\n", "[a]\nb_c=d\n", "[a \"b\"x]\n", "[\"\"]", "[a\"b\"]\n",
}

func TestSettingsAreReadAsGitReadsThem(t *testing.T) {
	for _, seed := range settingsSeeds {
		sameSettings(t, []byte(seed))
	}
}

// FuzzSettings: what is read is what git reads, and what git refuses is refused.
func FuzzSettings(f *testing.F) {
	for _, seed := range settingsSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(sameSettings)
}

func sameSettings(t *testing.T, data []byte) {
	got, err := git.ParseSettings(data)
	if _, lookErr := exec.LookPath("git"); lookErr != nil {
		t.Log("NOT CHECKED against git: the git program is not on PATH")
		return
	}
	// git before 2.45 turned a tab within a value into a space; a NUL is refused here and not there; a
	// section without a name or a value without a line end are of no use.
	text := string(data)
	if strings.ContainsAny(text, "\x00\t\r\v\f") || strings.Contains(text, "[]") || strings.Contains(text, "[.") || strings.Contains(text, ".]") ||
		strings.Contains(text, "..") || strings.Contains(text, `[ `) || strings.Contains(text, `[`+"\n") || strings.Contains(text, ` ""]`) || strings.Contains(text, `"."`) {
		return
	}
	name := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(name, data, 0o600))
	cmd := exec.Command("git", "config", "--file", name, "--no-includes", "--list", "--null")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, gitErr := cmd.Output()
	if (err != nil) != (gitErr != nil) {
		t.Fatalf("%q: got %v, git says %v", data, err, gitErr)
	}
	if err != nil {
		return
	}
	var want []string
	if len(out) > 0 {
		want = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: %s", data, diff)
	}
}

func TestRemoteURL(t *testing.T) {
	const other = "\n[remote \"other\"]\n\turl = https://example.com/other.git\n"
	cases := []struct{ rule, config, remote, want string }{
		{"origin's URL", "[remote \"origin\"]\n\turl = https://example.com/a.git\n", "", "https://example.com/a.git"},
		{"that of another remote", "[remote \"origin\"]\n\turl = x" + other, "other", "https://example.com/other.git"},
		{"the first of several, from which git fetches", "[remote \"origin\"]\n\turl = a\n\turl = b\n", "", "a"},
		{"an empty one takes back those before it", "[remote \"origin\"]\n\turl = a\n\turl =\n\turl = b\n", "", "b"},
		{"a remote's name has its case", "[remote \"Origin\"]\n\turl = a\n", "", ""},
		{"an unknown remote has none", other, "", ""},
		{"a remote without one", "[remote \"origin\"]\n\tfetch = x\n\turl\n", "", ""},
		{"without a configuration there is none", "", "", ""},
		{"user and password are taken out", url("https://me:secret@example.com/a.git"), "", "https://example.com/a.git"},
		{"a token that is the user is taken out", url("https://ghp_secret@example.com/a.git"), "", "https://example.com/a.git"},
		{"an at sign in the password does not end it", url("https://me:sec@ret@example.com/a"), "", "https://example.com/a"},
		{"an at sign in the path is none of a password's", url("https://example.com/@a/b"), "", "https://example.com/@a/b"},
		{"what no parser takes loses its password too", url("https://me:%zz@exa mple.com/a"), "", "https://exa mple.com/a"},
		{"an ssh URL keeps its user", url("ssh://git@example.com/a.git"), "", "ssh://git@example.com/a.git"},
		{"and loses its password", url("SSH://git:secret@example.com:22/a.git"), "", "SSH://git@example.com:22/a.git"},
		{"the short ssh form is as it is", url("git@example.com:a/b.git"), "", "git@example.com:a/b.git"},
		{"a helper's URL loses both", url("helper::http://me:secret@example.com/"), "", "helper::http://example.com/"},
		{"a path is as it is", url("../other.git"), "", "../other.git"},
		{"insteadOf is not applied", "[url \"https://evil/\"]\n\tinsteadOf = gh:\n" + url("gh:a/b"), "", "gh:a/b"},
		{"an include is not followed", "[include]\n\tpath = included\n", "", ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			write(t, r.dot+"/config", c.config)
			write(t, r.dot+"/included", "[remote \"origin\"]\n\turl = https://example.com/included.git\n")
			got, err := granted(r.dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.dir, Remote: c.remote})
			if err != nil || got.URL != c.want {
				t.Errorf("got %q, %v; want %q", got.URL, err, c.want)
			}
		})
	}
	t.Run("a configuration that cannot be read says the line", func(t *testing.T) {
		r := newRepo(t, t.TempDir())
		write(t, r.dot+"/config", "[core]\n\tbare = false\n[remote\n")
		_, err := granted(r.dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.dir})
		if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "config: line 3") {
			t.Errorf("got %v", err)
		}
	})
	for _, name := range []string{"--upload-pack=x", "a b", "a..b", "../x", "a\nb"} {
		t.Run("the remote "+name+" is refused", func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			_, err := granted(r.dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.dir, Remote: name})
			if code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func url(u string) string { return "[remote \"origin\"]\n\turl = \"" + u + "\"\n" }

func TestReadUser(t *testing.T) {
	home := t.TempDir()
	read := func() git.User {
		t.Helper()
		u, err := git.ReadUser(home, "")
		must(t, err)
		return u
	}
	if diff := cmp.Diff(git.User{}, read()); diff != "" {
		t.Errorf("without any file: %s", diff)
	}
	write(t, home+"/.config/git/config", "[user]\n\tname = X\n\temail = x@example.com\n")
	write(t, home+"/.config/git/ignore", "*.bak\n")
	want := git.User{Identity: git.Identity{Name: "X", Email: "x@example.com"}, Excludes: []byte("*.bak\n")}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("from the folder for configuration: %s", diff)
	}
	write(t, home+"/.gitconfig", "[user]\n\tname = Y\n[core]\n\texcludesFile = ~/mine\n[include]\n\tpath = more\n")
	write(t, home+"/mine", "*.tmp\n")
	write(t, home+"/more", "[user]\n\tname = Z\n")
	want = git.User{Identity: git.Identity{Name: "Y", Email: "x@example.com"}, Excludes: []byte("*.tmp\n")}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("the file in the home folder counts more: %s", diff)
	}
	write(t, home+"/.gitconfig", "[user\n")
	if u, err := git.ReadUser(home, ""); err == nil || !strings.Contains(err.Error(), ".gitconfig: line 1") || u.Identity.Name != "X" {
		t.Errorf("a file that cannot be read: got %+v, %v", u, err)
	}
}
