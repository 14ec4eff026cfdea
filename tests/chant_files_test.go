//go:build unix

package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	goodID   = "2026-03-01-001-a1b"
	goodFile = ".chant/specs/" + goodID + ".md"
	badID    = "2026-03-01-002-bad"
	badFile  = ".chant/specs/" + badID + ".md"
)

// TestInvalidSpecIsSkippedAndReported checks that lists omit an invalid spec, that calls that name the spec fail with the
// reason, and that its file stays unchanged.
func TestInvalidSpecIsSkippedAndReported(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		want          []string
	}{
		{"broken YAML", "---\nstatus: [pending\nlabels: {\n---\n# Broken\n", []string{badFile + ":", "YAML"}},
		{"a duplicate key", "---\nstatus: pending\ndepends_on: [a]\ndepends_on: [b]\n---\n# Twice\n", []string{badFile + ":4:", "depends_on"}},
		{"an unknown status", "---\nstatus: done\n---\n# Unknown\n", []string{badFile + ":2:", "done"}},
		{"not valid UTF-8", "---\nstatus: pending\n---\n# Latin \xe9\n", []string{badFile + ":4:", "not valid UTF-8"}},
		{"50 MB", "---\nstatus: pending\n---\n# Large\n" + strings.Repeat("All work and no play.\n", 50_000_000/22), []string{badFile, "larger than 4 MiB"}},
		{"deep nesting", "---\nlabels: " + strings.Repeat("[", 10_000) + "\n---\n# Deep\n", []string{badFile}},
		{"nested aliases", "---\na: &a [x, x]\nb: &b [*a, *a]\nlabels: [*b, *b]\n---\n# Laughs\n", []string{badFile + ":4:", "labels"}},
		{"many aliases", "---\na: &a " + strings.Repeat("x", 60_000) + "\nlabels: [*a" + strings.Repeat(", *a", 10_000) + "]\n---\n# Laughs\n", []string{badFile, "frontmatter is larger than 256 KiB with its aliases expanded"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			project := newDir(t, map[string]string{goodFile: specText("pending", "Water the trees"), badFile: test.content})
			s := serveChant(t, project)
			want := "1 pending"
			if last := test.want[len(test.want)-1]; strings.Contains(last, "larger than") { // a spec that is too large may be valid
				want += " | 1 not included: " + badFile + " (" + last + ")"
			}
			if text := s.mustCall("chant_status", `{"brief":true}`); text != want {
				t.Errorf("status: got %s, want %s", text, want)
			}
			for _, tool := range []string{"chant_spec_get", "chant_spec_update", "chant_cancel", "chant_archive", "chant_verify", "chant_diagnose"} {
				s.wantToolError(tool, `{"id":"`+badID+`","status":"completed"}`, test.want...)
			}
			s.waitForLog("1 spec is not loaded: " + badID + ".md")
			s.mustCall("chant_spec_update", `{"id":"a1b","status":"completed"}`)
			s.end()
			if content := readFile(t, filepath.Join(project, badFile)); content != test.content {
				t.Errorf("the file was changed: %d bytes, was %d", len(content), len(test.content))
			}
			if content := readFile(t, filepath.Join(project, goodFile)); !strings.Contains(content, "status: completed") {
				t.Errorf("the valid spec was not saved: %s", content)
			}
		})
	}
}

func TestProjectWithoutSpecsIsNotInitialized(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no .chant":            {"README.md": "An orchard"},
		".chant without specs": {".chant/config.md": "---\nproject:\n  name: orchard\n---\n"},
		".chant is a file":     {".chant": "a file"},
		"only an archive":      {".chant/archive/2026-01-01-001-old.md": specText("completed", "Old")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project := newDir(t, files)
			before := snapshot(t, project)
			s := serveChant(t, project)
			want := "Chant not initialized. Run `chant init` first."
			if strings.Contains(name, "no .chant") || strings.Contains(name, "is a file") {
				want += " Not in a chant project directory: run it in the project's root, or navigate to a directory containing `.chant/`."
			}
			for _, tool := range s.names() {
				if r := s.call(tool, `{}`); r != (result{Text: want, IsError: true}) {
					t.Errorf("%s: %+v", tool, r)
				}
			}
			s.end()
			if diff := cmp.Diff(before, snapshot(t, project)); diff != "" {
				t.Errorf("files were changed (-before +after)\n%s", diff)
			}
		})
	}
}

// TestLargeProjectIsCompletelyLoaded has specs whose total size exceeds the memory of a module.
func TestLargeProjectIsCompletelyLoaded(t *testing.T) {
	t.Parallel()
	files := map[string]string{goodFile: specText("completed", "Newest") + strings.Repeat("Last year's leaves.\n", 10_000)}
	for i := range 60 {
		files[fmt.Sprintf(".chant/specs/2026-01-01-%03d-old.md", i)] = specText("pending", fmt.Sprint("Old ", i)) + strings.Repeat("Dry leaves.\n", 20_000)
	}
	s := serveChant(t, newDir(t, files))
	if text := s.mustCall("chant_status", `{"brief":true}`); text != "60 pending | 1 completed" {
		t.Error(text)
	}
	for query, want := range map[string]string{"last year": goodID, "old 59": "2026-01-01-059-old"} {
		if text := s.mustCall("chant_search", fmt.Sprintf(`{"query":%q}`, query)); strings.Count(text, `"id"`) != 1 || !strings.Contains(text, want) {
			t.Errorf("%s: %s", query, text)
		}
	}
	s.mustCall("chant_cancel", `{"id":"2026-01-01-007-old"}`)
	if text := s.mustCall("chant_spec_list", `{"limit":8}`); !strings.Contains(text, `"total": 61`) || !strings.Contains(text, "cancelled") || !strings.Contains(text, "Old 7") {
		t.Error(text)
	}
	s.end()
}

func TestFileAtSpecsPathIsReported(t *testing.T) {
	t.Parallel()
	s := serveChant(t, newDir(t, map[string]string{".chant/specs": "a file"}))
	s.wantToolError("chant_spec_list", `{}`, "specs is not a directory")
	s.end()
}

// TestConcurrentUpdatesOfOneSpecAreKept checks that two servers do not overwrite each other's acknowledged updates. They
// share a state directory, or have separate ones, like servers of two users.
func TestConcurrentUpdatesOfOneSpecAreKept(t *testing.T) {
	t.Parallel()
	one := t.TempDir()
	for name, states := range map[string][]string{"one state directory": {one, one}, "two state directories": {t.TempDir(), t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			updateConcurrently(t, states)
		})
	}
}

// updateConcurrently updates one spec by a server for each state directory, and checks that a leftover temporary file is
// removed.
func updateConcurrently(t *testing.T, states []string) {
	const temporary = ".chant/specs/.chant-0123456789abcdef.tmp"
	project := newDir(t, map[string]string{goodFile: specText("in_progress", "Shared"), temporary: "of a killed call"})
	const each = 15
	var servers []*server
	for number, state := range states {
		c := chantCommand(t, project)
		c.Env = append(c.Env, "XDG_STATE_HOME="+state)
		servers = append(servers, startServer(t, c))
		for i := range each {
			servers[number].sendCall("chant_spec_update", fmt.Sprintf(`{"id":%q,"output":"output %d-%d."}`, goodID, number, i))
		}
	}
	acknowledged := 0
	for _, s := range servers {
		for range each {
			if _, r := s.nextAnswer(); !r.IsError {
				acknowledged++
			}
		}
		s.end()
	}
	if kept := strings.Count(readFile(t, filepath.Join(project, ".chant", "specs", goodID+".md")), "output "); kept != acknowledged || kept != 2*each {
		t.Errorf("%d updates are in the file, %d were acknowledged, want %d", kept, acknowledged, 2*each)
	}
	if files := filesBelow(snapshot(t, project), ".chant/specs"); len(files) != 1 {
		t.Errorf("files left: %v", files)
	}
}

// TestSymlinksOutOfGrantAreRefused checks that files outside of .chant are neither read nor changed. The host enforces this
// for links out of the project, and the plugin for links from .chant to other directories of the project.
func TestSymlinksOutOfGrantAreRefused(t *testing.T) {
	t.Parallel()
	const secret = "The key is under the third stone"
	tests := []struct {
		name, link, target string // target is relative to the outside directory
		call               [2]string
		refused            bool
	}{
		{"a spec is read", badFile, "secret.md", [2]string{"chant_spec_get", `{"id":"` + badID + `"}`}, true},
		{"a spec is changed", badFile, "secret.md", [2]string{"chant_spec_update", `{"id":"` + badID + `","status":"failed","output":"here"}`}, true},
		{"a spec is archived", badFile, "secret.md", [2]string{"chant_archive", `{"id":"` + badID + `"}`}, true},
		{"specs are searched", badFile, "secret.md", [2]string{"chant_search", `{"query":"stone"}`}, false},
		{"a directory of specs is listed", ".chant/specs/more", ".", [2]string{"chant_spec_list", `{}`}, false},
		{"a spec in a directory is changed", ".chant/specs/more", ".", [2]string{"chant_spec_update", `{"id":"secret","status":"failed"}`}, true},
		{"a log is read", ".chant/logs/" + goodID + ".log", "secret.md", [2]string{"chant_log", `{"id":"a1b"}`}, true},
		{"a directory of logs is read", ".chant/logs", ".", [2]string{"chant_log", `{"id":"a1b"}`}, true},
		{"an archive is written", ".chant/archive", ".", [2]string{"chant_archive", `{"id":"a1b"}`}, true},
		{"a directory of the archive is written", ".chant/archive/2026-03-01", ".", [2]string{"chant_archive", `{"id":"a1b"}`}, true},
	}
	for _, where := range []string{"out of the project", "out of .chant"} {
		for _, test := range tests {
			t.Run(where+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				project := newDir(t, map[string]string{goodFile: specText("completed", "Water the trees")})
				outside := filepath.Join(project, "private")
				if where == "out of the project" {
					outside = newDir(t, nil)
				}
				putFile(t, filepath.Join(outside, "secret.md"), specText("completed", secret))
				putFile(t, filepath.Join(outside, goodID+".log"), secret)
				symlink(t, filepath.Join(outside, test.target), filepath.Join(project, test.link))
				before, inside := snapshot(t, outside), snapshot(t, project)
				s := serveChant(t, project)
				r := s.call(test.call[0], test.call[1])
				if r.IsError != test.refused || strings.Contains(r.Text, "stone") {
					t.Errorf("got %+v", r)
				}
				if text := s.mustCall("chant_status", `{"brief":true}`); text != "1 completed" {
					t.Errorf("status: %s", text)
				}
				s.end()
				if strings.Contains(s.log.String(), "stone") {
					t.Error("the log holds the content")
				}
				if diff := cmp.Diff(before, snapshot(t, outside)); diff != "" {
					t.Errorf("outside (-before +after)\n%s", diff)
				}
				if diff := cmp.Diff(inside, snapshot(t, project)); diff != "" {
					t.Errorf("inside (-before +after)\n%s", diff)
				}
			})
		}
	}
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestChantDirectoryLinkedOutsideIsRefused(t *testing.T) {
	t.Parallel()
	for _, link := range []string{".chant", ".chant/specs"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			outside := newDir(t, map[string]string{goodFile: specText("pending", "Not yours"), goodID + ".md": specText("pending", "Not yours")})
			before := snapshot(t, outside)
			project := newDir(t, nil)
			target := outside
			if link == ".chant" {
				target = filepath.Join(outside, ".chant")
			}
			symlink(t, target, filepath.Join(project, link))
			s := serveChant(t, project)
			for tool, arguments := range map[string]string{"chant_spec_list": `{}`, "chant_add": `{"description":"Mine"}`, "chant_cancel": `{"id":"a1b"}`} {
				if r := s.call(tool, arguments); !r.IsError || strings.Contains(r.Text, "yours") {
					t.Errorf("%s: %+v", tool, r)
				}
			}
			s.end()
			if diff := cmp.Diff(before, snapshot(t, outside)); diff != "" {
				t.Errorf("outside (-before +after)\n%s", diff)
			}
		})
	}
}

func TestSpecialFilesDoNotBlockCalls(t *testing.T) {
	t.Parallel()
	project := newDir(t, map[string]string{goodFile: specText("pending", "Water the trees")})
	if err := syscall.Mkfifo(filepath.Join(project, badFile), 0o644); err != nil {
		t.Fatal(err)
	}
	symlink(t, "/dev/zero", filepath.Join(project, ".chant/specs/zero.md"))
	s := serveChant(t, project)
	if text := s.mustCall("chant_status", `{"brief":true}`); text != "1 pending" {
		t.Error(text)
	}
	s.wantToolError("chant_spec_get", `{"id":"`+badID+`"}`, badFile, "not a regular file")
	s.wantToolError("chant_spec_get", `{"id":"zero"}`, ".chant/specs/zero.md")
	s.end()
}

// TestReadGrantDeniesWrites also checks writes as root, if root runs the test.
func TestReadGrantDeniesWrites(t *testing.T) {
	t.Parallel()
	for name, grant := range map[string]string{
		"directory": `fs = [{ path = "${project}", access = "r" }]`,
		"plugin":    `read_only = true`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project := newDir(t, map[string]string{goodFile: specText("completed", "Water the trees")})
			before := snapshot(t, project)
			config := filepath.Join(newDir(t, nil), "bulkhead.toml")
			putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\n%s\n", filepath.Join(built.plugins(t), "chant"), grant))
			s := startServer(t, programCommand(t, "serve", "--config", config, "--project", project))
			if text := s.mustCall("chant_status", `{"brief":true}`); text != "1 completed" {
				t.Error(text)
			}
			for tool, arguments := range map[string]string{"chant_cancel": `{"id":"a1b"}`, "chant_add": `{"description":"More"}`, "chant_archive": `{"id":"a1b"}`} {
				if name == "plugin" {
					s.wantUnknown(tool)
				} else {
					s.wantToolError(tool, arguments, project, "Permission denied")
					s.waitForLog("denied: op=", "path="+project)
				}
			}
			s.end()
			if diff := cmp.Diff(before, snapshot(t, project)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
		})
	}
}

// TestUnwritableDirectoryFailsWrites runs the server as the user nobody if root runs the test, since root ignores
// permissions.
func TestUnwritableDirectoryFailsWrites(t *testing.T) {
	t.Parallel()
	project := newDir(t, map[string]string{goodFile: specText("pending", "Water the trees")})
	before := snapshot(t, project)
	cmd := chantCommand(t, project)
	if os.Geteuid() == 0 {
		runAsNobody(t, cmd)
	}
	specs := filepath.Join(project, ".chant", "specs")
	if err := os.Chmod(specs, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(specs, 0o755) })
	s := startServer(t, cmd)
	if text := s.mustCall("chant_status", `{"brief":true}`); text != "1 pending" {
		t.Error(text)
	}
	s.wantToolError("chant_spec_update", `{"id":"a1b","status":"completed"}`, "save spec '"+goodID+"'", specs, "Permission denied")
	s.wantToolError("chant_add", `{"description":"More"}`, "create spec", specs, "Permission denied")
	if text := s.mustCall("chant_status", `{"brief":true}`); text != "1 pending" {
		t.Error(text)
	}
	s.end()
	if diff := cmp.Diff(before, snapshot(t, project)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

const nobody = 65534

// cacheOfNobody returns an XDG_CACHE_HOME of the user nobody with the compiled code of chant. The host uses no code of other users.
func cacheOfNobody(t *testing.T) string {
	t.Helper()
	out, err := programCommand(t, "cache", "--plugins", built.plugins(t), "--no-config", "--json").Output()
	var list struct {
		Items []struct{ Kind, Plugin, Path string }
	}
	if err := errors.Join(err, json.Unmarshal(out, &list)); err != nil {
		t.Fatal(err)
	}
	cache, copied := newDir(t, nil), 0
	for _, item := range list.Items {
		if item.Kind == "code" && item.Plugin == "chant" {
			if err := os.CopyFS(filepath.Join(cache, "bulkhead", filepath.Base(item.Path)), os.DirFS(item.Path)); err != nil {
				t.Fatal(err)
			}
			copied++
		}
	}
	if copied != 1 {
		t.Fatalf("the cache has %d entries of chant: %s", copied, out)
	}
	err = filepath.WalkDir(cache, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, nobody, nobody))
	})
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// runAsNobody makes cmd run as the user nobody, with writable directories and access to the program.
func runAsNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cacheOfNobody(t))
	open := []string{filepath.Dir(filepath.Dir(built.program(t))), filepath.Dir(cmd.Dir)}
	for _, variable := range cmd.Env {
		if _, value, _ := strings.Cut(variable, "="); strings.HasPrefix(value, filepath.Dir(cmd.Dir)+"/") {
			if err := os.Chown(value, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range open {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedWriteLeavesFilesUnchanged simulates a full disk: RLIMIT_FSIZE makes writes beyond 64 KiB fail.
func TestFailedWriteLeavesFilesUnchanged(t *testing.T) {
	t.Parallel()
	project := newDir(t, map[string]string{goodFile: specText("pending", "Water the trees")})
	before := snapshot(t, project)
	cmd := chantCommand(t, project)
	// ulimit counts in units of 512 bytes, in some shells of 1024.
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -f 128 && exec "$0" "$@"`}, cmd.Args...)
	s := startServer(t, cmd)
	long := strings.Repeat("0123456789abcdef", 20_000)
	s.wantToolError("chant_spec_update", `{"id":"a1b","status":"completed","output":"`+long+`"}`, "save spec '"+goodID+"'", "\nbulkhead: write", "file too large")
	s.wantToolError("chant_add", `{"description":"`+long+`"}`, "create spec", "\nbulkhead: write", "file too large")
	s.waitForLog("the file system failed", "name=chant_add", "file too large")
	if diff := cmp.Diff(before, snapshot(t, project)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
	s.mustCall("chant_spec_update", `{"id":"a1b","status":"completed"}`)
	s.end()
	if content := readFile(t, filepath.Join(project, goodFile)); !strings.Contains(content, "status: completed") {
		t.Errorf("the call after it: %s", content)
	}
}

// TestConcurrentAddsGiveUniqueIDs adds specs by two servers at the same time and checks that no spec is lost.
func TestConcurrentAddsGiveUniqueIDs(t *testing.T) {
	t.Parallel()
	const each = 30
	project := newDir(t, map[string]string{".chant/specs/.keep": ""})
	var mu sync.Mutex
	titles := map[string]string{} // titles by id
	var both sync.WaitGroup
	for n := range 2 {
		s := serveChant(t, project)
		both.Go(func() {
			var lines bytes.Buffer
			for i := range each {
				fmt.Fprintln(&lines, callLine(i+1, "chant_add", fmt.Sprintf(`{"description":"Task %d of %d"}`, i, n)))
			}
			if _, err := s.stdin.Write(lines.Bytes()); err != nil {
				t.Error(err)
			}
			if err := s.stdin.Close(); err != nil {
				t.Error(err)
			}
			for line := range s.lines {
				number, r, err := readAnswer(line)
				id, ok := strings.CutPrefix(r.Text, "Created spec: ")
				if err != nil || !ok || r.IsError {
					t.Errorf("%v %+v", err, r)
				}
				mu.Lock()
				if other, taken := titles[id]; taken {
					t.Errorf("duplicate id %s, first of %q", id, other)
				}
				titles[id] = fmt.Sprintf("Task %d of %d", number-1, n)
				mu.Unlock()
			}
		})
	}
	both.Wait()
	if len(titles) != 2*each {
		t.Fatalf("got %d ids, want %d", len(titles), 2*each)
	}
	files := snapshot(t, filepath.Join(project, ".chant", "specs"))
	for id, title := range titles {
		if want := "---\ntype: code\nstatus: pending\n---\n\n# " + title + "\n"; files[id+".md"] != want {
			t.Errorf("%s is %q, want %q", id, files[id+".md"], want)
		}
	}
	if len(files) != 2*each+2 { // plus the directory itself and .keep
		t.Errorf("%d names in specs, want %d", len(files), 2*each+2)
	}
}
