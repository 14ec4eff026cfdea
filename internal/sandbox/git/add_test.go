//go:build unix

package git_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func add(t *testing.T, dir string, paths ...string) (abi.GitAdded, error) {
	t.Helper()
	return gittest.Committer(dir).Add(t.Context(), abi.GitAdd{Repo: dir, Paths: paths}, gittest.Files{})
}

// conflict merges a branch with conflicting changes of notes.txt, of a file that one side deletes, and of a file that both add.
func conflict(r *gittest.Repo) {
	commit := func(message string) {
		gittest.Git(r.TB, r.Dir, "add", ".")
		gittest.Git(r.TB, r.Dir, "commit", "--quiet", "--message="+message)
	}
	gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "-b", "theirs")
	gittest.Write(r.TB, r.Dir+"/notes.txt", "theirs\n")
	gittest.Write(r.TB, r.Dir+"/both", "theirs\n")
	gittest.Write(r.TB, r.Dir+"/dir/deep.txt", "theirs\n")
	commit("theirs")
	gittest.Git(r.TB, r.Dir, "checkout", "--quiet", "main")
	gittest.Write(r.TB, r.Dir+"/notes.txt", "ours\n")
	gittest.Write(r.TB, r.Dir+"/both", "ours\n")
	gittest.Must(r.TB, os.Remove(r.Dir+"/dir/deep.txt"))
	commit("ours")
	_ = exec.Command("git", "-C", r.Dir, "-c", "user.name=A", "-c", "user.email=a@example.com", "merge", "--quiet", "theirs").Run() // fails with conflicts
}

func TestAddIsGits(t *testing.T) {
	write := func(name, content string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Write(r.TB, r.Dir+"/"+name, content) }
	}
	config := func(key, value string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, "config", key, value) }
	}
	remove := func(name string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Must(r.TB, os.RemoveAll(r.Dir+"/"+name)) }
	}
	chmod := func(name string, mode os.FileMode) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Must(r.TB, os.Chmod(r.Dir+"/"+name, mode)) }
	}
	link := func(target, name string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Symlink(r.TB, target, r.Dir+"/"+name) }
	}
	run := func(args ...string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Git(r.TB, r.Dir, args...) }
	}
	all := func(do ...func(*gittest.Repo)) []func(*gittest.Repo) { return do }
	everything := all(write("notes.txt", "changed\n"), write("new/a", "a\n"), write("new/deeper/b", ""), remove("dir/deep.txt"),
		write("tool", "#!/bin/sh\n"), chmod("tool", 0o755), link("notes.txt", "sym"), link("/etc/passwd", "out"), write("ümlaut \"q\"", "x"))
	cases := []struct {
		rule, paths string
		arrange     []func(*gittest.Repo)
		unchanged   bool
	}{
		{"nothing", ".", nil, true},
		{"everything", ".", everything, false},
		{"a changed file", "notes.txt", everything, false},
		{"a new file", "new/a", everything, false},
		{"a new directory", "new", everything, false},
		{"a new directory with a slash", "new/", everything, false},
		{"a deleted file", "dir/deep.txt", everything, false},
		{"a directory with a deleted file", "dir", everything, false},
		{"an executable", "tool", everything, false},
		{"a symbolic link", "sym", everything, false},
		{"a symbolic link to a file outside", "out", everything, false},
		{"several files", "notes.txt|new/a|new/a", everything, false},
		{"unclean paths", "./notes.txt|new/../new/a", everything, false},
		{"a file that has not changed", "notes.txt", nil, true},
		{"a file that is as in the index again", "notes.txt", all(write("notes.txt", "x\n"), run("add", "."), run("restore", "--source=HEAD", "notes.txt")), false},
		{"an empty directory", "empty", all(func(r *gittest.Repo) { gittest.Mkdir(r.TB, r.Dir+"/empty") }), true},
		{"a file becomes a directory", ".", all(remove("notes.txt"), write("notes.txt/x", "x")), false},
		{"a directory becomes a file", ".", all(remove("dir"), write("dir", "x")), false},
		{"a directory becomes a file, named", "dir", all(remove("dir"), write("dir", "x")), false},
		{"a directory becomes a symbolic link", ".", all(remove("dir"), write("other/deep.txt", "x"), link("other", "dir")), false},
		{"a file becomes a symbolic link", ".", all(remove("notes.txt"), link("nowhere", "notes.txt")), false},
		{"an execute bit", ".", all(chmod("notes.txt", 0o755)), false},
		{"an execute bit that does not matter", ".", all(config("core.fileMode", "false"), chmod("notes.txt", 0o755), write("new", "x"), chmod("new", 0o755)), false},
		{"ignored files", ".", all(write(".gitignore", "*.log\nbuild/\n!keep.log\n"), write("a.log", "x"), write("keep.log", "x"), write("build/x", "x")), false},
		{"a tracked file that is ignored", "notes.txt", all(write(".gitignore", "notes.txt\n"), write("notes.txt", "x")), false},
		{"a tracked file in an ignored directory", ".", all(write(".gitignore", "dir/\n"), write("dir/deep.txt", "x"), write("dir/new", "x")), false},
		{"ignored by info/exclude", ".", all(write(".git/info/exclude", "secret\n"), write("secret", "x"), write("open", "x")), false},
		{"intent to add", ".", all(write("later", "x\n"), run("add", "--intent-to-add", "later")), false},
		{"intent to add, deleted", ".", all(write("later", "x\n"), run("add", "--intent-to-add", "later"), remove("later")), false},
		{"an index of version 4", ".", append(everything, run("update-index", "--index-version", "4")), false},
		{"assumed unchanged", ".", all(run("update-index", "--assume-unchanged", "notes.txt"), write("notes.txt", "x")), true},
		{"no index", ".", all(remove(".git/index"), write("new", "x")), false},
		{"an unborn branch", ".", all(run("checkout", "--quiet", "--orphan", "other"), run("rm", "-rfq", "--cached", "."), write("new", "x")), false},
		{"a conflict", ".", all(conflict, write("notes.txt", "resolved\n")), false},
		{"a conflict, one file", "notes.txt", all(conflict, write("notes.txt", "resolved\n")), false},
		{"a conflict, a deleted file", "dir/deep.txt", all(conflict, remove("dir/deep.txt")), false},
		{"a conflict, resolved as ours", "both", all(conflict, write("both", "ours\n")), false},
		{"a conflict, resolved in two steps", "notes.txt", all(conflict, write("both", "resolved\n"), run("add", "both"), write("notes.txt", "resolved\n")), false},
		{"a conflict, replaced by a directory", ".", all(conflict, remove("notes.txt"), write("notes.txt/x", "x\n")), false},
		{"a name with brackets", "app/[id]/page", all(write("app/[id]/page", "x")), false},
		{"line endings that are kept", ".", all(write("crlf", "a\r\nb\r\n")), false},
		{"line endings that an attribute keeps", ".", all(config("core.autocrlf", "input"), write(".gitattributes", "crlf -text\n"), write("crlf", "a\r\n")), false},
		{"line endings of a binary file", ".", all(write(".gitattributes", "* text=auto\n"), write("png", "\x89PNG\r\n\x1a\n\x00\x00")), false},
		{"line endings that the index has", ".", all(write("crlf", "a\r\n"), run("add", "crlf"), config("core.autocrlf", "input"), write("crlf", "a\r\nb\r\n")), false},
		{"text without CRLF", ".", all(write(".gitattributes", "* text=auto eol=lf\n"), write("lf", "a\nb\n")), false},
		{"a filter of other files", ".", all(write(".gitattributes", "*.psd filter=lfs -text\n"), write("a.txt", "x\r\n")), false},
		{"an identity without content", ".", all(write(".gitattributes", "* ident\n"), write("a.c", "$Id$\n")), false},
		{"an encoding that is UTF-8", ".", all(write(".gitattributes", "* working-tree-encoding=UTF-8\n"), write("a.c", "ü\n")), false},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			for _, arrange := range c.arrange {
				arrange(r)
			}
			copied := copyOf(t, r)
			before := gittest.Git(t, r.Dir, "ls-files", "--stage")
			done, err := add(t, r.Dir, strings.Split(c.paths, "|")...)
			gittest.Must(t, err)
			gittest.Git(t, copied, append([]string{"add", "--"}, strings.Split(c.paths, "|")...)...)
			sameAsGit(t, r.Dir, copied)
			changed := gittest.Git(t, r.Dir, "ls-files", "--stage") != before
			if done.Changed != changed || changed == c.unchanged || done.Skipped != 0 {
				t.Errorf("got %+v; the index has changed: %t", done, changed)
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	write := func(name, content string) func(*gittest.Repo) {
		return func(r *gittest.Repo) { gittest.Write(r.TB, r.Dir+"/"+name, content) }
	}
	config := func(key, value string, more ...func(*gittest.Repo)) func(*gittest.Repo) {
		return func(r *gittest.Repo) {
			gittest.Git(r.TB, r.Dir, "config", key, value)
			for _, do := range more {
				do(r)
			}
		}
	}
	given := func(attributes, name, content string) func(*gittest.Repo) {
		return func(r *gittest.Repo) {
			gittest.Write(r.TB, r.Dir+"/.gitattributes", attributes)
			gittest.Write(r.TB, r.Dir+"/"+name, content)
		}
	}
	nested := func(r *gittest.Repo) {
		gittest.Mkdir(r.TB, r.Dir+"/sub")
		gittest.Git(r.TB, r.Dir+"/sub", "init", "--quiet", ".")
		gittest.Write(r.TB, r.Dir+"/sub/file", "x")
	}
	cases := []struct {
		rule, path string
		arrange    func(*gittest.Repo)
		why        string
	}{
		{"a filter", ".", given("*.psd filter=lfs -text\n", "a.psd", "x"), "filter=lfs"},
		{"a filter of a macro", ".", given("[attr]big filter=lfs -text\n*.psd big\n", "a.psd", "x"), "filter=lfs"},
		{"a filter in info/attributes", ".", func(r *gittest.Repo) {
			write(".git/info/attributes", "* filter=x\n")(r)
			given("* -filter\n", "a", "x")(r)
		}, "filter=x"},
		{"attributes that only the index has", ".", func(r *gittest.Repo) {
			given("a filter=x\n", "b", "x")(r)
			gittest.Git(r.TB, r.Dir, "add", ".gitattributes")
			gittest.Must(r.TB, os.Remove(r.Dir+"/.gitattributes"))
			write("a", "x")(r)
		}, "filter=x"},
		{"attributes in a link", ".", func(r *gittest.Repo) {
			write("real", "* text\n")(r)
			gittest.Symlink(r.TB, "real", r.Dir+"/.gitattributes")
		}, "is no regular file"},
		{"text", ".", given("*.txt text\n", "a.txt", "a\r\n"), "convert the file's line endings"},
		{"crlf, the old name", ".", given("*.txt crlf\n", "a.txt", "a\r\n"), "line endings"},
		{"eol", ".", given("*.txt eol=crlf\n", "a.txt", "a\r\n"), "line endings"},
		{"text=auto", ".", given("* text=auto\n", "a.txt", "a\r\n"), "text=auto"},
		{"text=auto of a file with LF in the index", ".", given("* text=auto\n", "notes.txt", "a\r\n"), "text=auto"},
		{"core.autocrlf", ".", config("core.autocrlf", "true", write("a", "a\r\n")), "core.autocrlf"},
		{"core.autocrlf=input", ".", config("core.autocrlf", "input", write("a", "a\r\n")), "core.autocrlf"},
		{"ident", ".", given("* ident\n", "a.c", "$Id: 1234 $\n"), "ident"},
		{"an encoding", ".", given("* working-tree-encoding=UTF-16\n", "a", "x"), "working-tree-encoding"},
		{"a nested repository", ".", nested, "sub: a repository of its own"},
		{"a nested repository, named", "sub", nested, "sub: a repository of its own"},
		{"a file of a nested repository", "sub/file", nested, "sub: a repository of its own"},
		{"a path beyond a link", "sym/deep.txt", func(r *gittest.Repo) { gittest.Symlink(r.TB, "dir", r.Dir+"/sym") }, "beyond a symbolic link"},
		{"an ignored file", "a.log", func(r *gittest.Repo) {
			write(".gitignore", "*.log\n")(r)
			write("a.log", "x")(r)
		}, "a.log: ignored"},
		{"an ignored directory", "build", func(r *gittest.Repo) {
			write(".gitignore", "build/\n")(r)
			write("build/x", "x")(r)
		}, "build: ignored"},
		{"an absent file", "absent", write("a", "x"), "pathspec 'absent' did not match any files"},
		{"a pattern", "*.txt", write("a", "x"), "patterns"},
		{"magic", ":!a", write("a", "x"), "pathspecs"},
		{"a named pipe", "pipe", func(r *gittest.Repo) { gittest.Must(r.TB, syscall.Mkfifo(r.Dir+"/pipe", 0o600)) }, "can only add regular files"},
		{"a named pipe in the place of a file", ".", func(r *gittest.Repo) {
			gittest.Must(r.TB, os.Remove(r.Dir+"/notes.txt"))
			gittest.Must(r.TB, syscall.Mkfifo(r.Dir+"/notes.txt", 0o600))
		}, "can only add regular files"},
		{"an alias of .git", "GIT~1/x", write("GIT~1/x", "x"), "into .git"},
		{"a large file", ".", func(r *gittest.Repo) {
			write("large", "")(r)
			gittest.Must(r.TB, os.Truncate(r.Dir+"/large", 33<<20))
		}, "files of more than"},
		{"another case", ".", config("core.ignoreCase", "true", write("NOTES.txt", "x")), "only in case"},
		{"a sparse checkout", ".", config("core.sparseCheckout", "true", write("a", "x")), "core.sparseCheckout"},
		{"an active hook", ".", func(r *gittest.Repo) {
			write(".git/hooks/post-index-change", "#!/bin/sh\n")(r)
			gittest.Must(r.TB, os.Chmod(r.Dot+"/hooks/post-index-change", 0o755))
		}, "post-index-change is active"},
		{"a locked index", ".", write(".git/index.lock", ""), "index.lock exists"},
		{"no index of another size", ".", write(".git/index", "x"), "not an index"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.GitSample(t)
			c.arrange(r)
			index, err := os.ReadFile(r.Dot + "/index")
			gittest.Must(t, err)
			_, err = add(t, r.Dir, c.path)
			if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error with %q", err, c.why)
			}
			if after, err := os.ReadFile(r.Dot + "/index"); err != nil || string(after) != string(index) {
				t.Errorf("the index has changed, or %v", err)
			}
		})
	}
}

// Attributes of the user and of the system count, too.
func TestAddObeysUserAttributes(t *testing.T) {
	for rule, user := range map[string]git.User{"user": {Attributes: []byte("* filter=x\n")}, "system": {SystemAttributes: []byte("* filter=x\n")}} {
		r := gittest.GitSample(t)
		gittest.Write(t, r.Dir+"/new", "x")
		ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir, Commit: true}}, User: gittest.User(user)})
		_, err := ops.Add(t.Context(), abi.GitAdd{Repo: r.Dir, Paths: []string{"."}}, gittest.Files{})
		if err == nil || !strings.Contains(err.Error(), "filter=x") {
			t.Errorf("%s: got %v", rule, err)
		}
	}
}

func TestAddRefusesPathsOutside(t *testing.T) {
	r := gittest.GitSample(t)
	for _, path := range []string{"", "..", "../x", "/etc/passwd", "/", ".git/config", "dir/../../x", "dir/.git", "a\x00b", strings.Repeat("x", 5000)} {
		if _, err := add(t, r.Dir, path); gittest.Code(err) != abi.HostInvalid {
			t.Errorf("%q: got %v", path, err)
		}
	}
	if _, err := add(t, r.Dir); gittest.Code(err) != abi.HostInvalid {
		t.Errorf("no path: got %v", err)
	}
	if _, err := add(t, r.Dir, make([]string, 1001)...); gittest.Code(err) != abi.HostInvalid {
		t.Errorf("1,001 paths: got %v", err)
	}
}

// What the module may not read is not staged: left out below a directory, an error if it is named.
func TestAddLeavesOutWhatModuleMayNotRead(t *testing.T) {
	r := gittest.GitSample(t)
	for _, name := range []string{"a", "dir/.env", "notes.txt"} {
		gittest.Write(t, r.Dir+"/"+name, "secret\n")
	}
	gittest.Symlink(t, "x", r.Dir+"/hidden-link")
	files := gittest.Files{Hidden: []string{".env", "notes.txt", "hidden-link"}}
	done, err := gittest.Committer(r.Dir).Add(t.Context(), abi.GitAdd{Repo: r.Dir, Paths: []string{"."}}, files)
	gittest.Must(t, err)
	if diff := cmp.Diff(abi.GitAdded{Changed: true, Skipped: 3, Names: []string{"notes.txt", "dir/.env", "hidden-link"}}, done); diff != "" {
		t.Error(diff)
	}
	if got := gittest.Git(t, r.Dir, "diff", "--cached", "--name-only"); got != "a" {
		t.Errorf("staged: %q", got)
	}
	for _, name := range files.Hidden {
		if name == ".env" {
			name = "dir/.env"
		}
		_, err = gittest.Committer(r.Dir).Add(t.Context(), abi.GitAdd{Repo: r.Dir, Paths: []string{name}}, files)
		if err == nil || !strings.Contains(err.Error(), name+": permission denied") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The file that is staged is the one below the repository, whatever the module's file tree has at its path.
func TestAddRefusesFileThatIsNotTheRepositorys(t *testing.T) {
	r := gittest.GitSample(t)
	gittest.Write(t, r.Dir+"/a", "x")
	gittest.Symlink(t, "a", r.Dir+"/sym")
	for _, name := range []string{"a", "sym"} {
		_, err := gittest.Committer(r.Dir).Add(t.Context(), abi.GitAdd{Repo: r.Dir, Paths: []string{name}}, otherFiles{r.Dir + "/notes.txt"})
		if err == nil || !strings.Contains(err.Error(), "changed in between") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// otherFiles are Files that open one file at every path.
type otherFiles struct{ file string }

func (o otherFiles) Identify(string) (beneath.FileID, error) { return gittest.Files{}.Identify(o.file) }

func (o otherFiles) Open(string) (io.ReadCloser, beneath.FileID, error) {
	return gittest.Files{}.Open(o.file)
}
