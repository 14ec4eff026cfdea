//go:build unix

package tests

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recordedFilesystem has the answers of the server that the plugin filesystem replaces, as plugins/filesystem/testdata/record.mjs writes them.
type recordedFilesystem struct {
	Tree   []treeEntry
	Tools  []map[string]any
	Groups map[string][]recordedCall
}

type treeEntry struct {
	Path, PathBase64, Base64, Link, Repeat string
	Text                                   *string
	Dir                                    bool
	Lines, Times                           int
	Mode                                   *uint32
}

// recordedCall is a call with its answer: a text, the digest of a long one, or a result of another form.
type recordedCall struct {
	Tool   string
	Args   json.RawMessage
	Text   string
	SHA256 string
	Result json.RawMessage
	Error  bool
}

func (c recordedCall) String() string { return describeCall(c.Tool, string(c.Args)) }

func loadFilesystem(t *testing.T) recordedFilesystem {
	t.Helper()
	var recorded recordedFilesystem
	if err := json.Unmarshal([]byte(readFile(t, "../plugins/filesystem/testdata/recorded.json")), &recorded); err != nil {
		t.Fatal(err)
	}
	return recorded
}

// filesystemTree is the tree of the recording in a directory. Its strings have $R for the directory, and $P for the project in it.
type filesystemTree struct{ root, project string }

func (f filesystemTree) fill(s string) string {
	return strings.NewReplacer("$P", f.project, "$R", f.root).Replace(s)
}

func (f filesystemTree) mask(s string) string {
	return strings.NewReplacer(f.project, "$P", f.root, "$R").Replace(s)
}

// newFilesystemTree builds the tree. Its files belong to the user of the test.
func newFilesystemTree(t *testing.T, entries []treeEntry) filesystemTree {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root := newDir(t, nil)
	f := filesystemTree{root, filepath.Join(root, "project")}
	at := func(e treeEntry) string {
		raw, err := base64.StdEncoding.DecodeString(e.PathBase64)
		must(err)
		return filepath.Join(root, e.Path+string(raw))
	}
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, e := range entries {
		content, err := base64.StdEncoding.DecodeString(e.Base64)
		must(err)
		content = append(content, strings.Repeat(e.Repeat, e.Times)...)
		for i := range e.Lines {
			content = fmt.Appendf(content, "line %d\n", i+1)
		}
		if e.Text != nil {
			content = []byte(*e.Text)
		}
		must(os.MkdirAll(filepath.Dir(at(e)), 0o755))
		switch {
		case e.Link != "":
			must(os.Symlink(f.fill(e.Link), at(e)))
			continue
		case e.Dir:
			must(os.MkdirAll(at(e), 0o755))
		case e.Mode != nil && e.Text == nil:
			continue // a directory with files, whose permissions are set last
		default:
			must(os.WriteFile(at(e), content, 0o644))
		}
		must(os.Chtimes(at(e), then, then))
	}
	for _, e := range entries {
		if e.Mode != nil {
			must(os.Chmod(at(e), os.FileMode(*e.Mode)))
			t.Cleanup(func() { _ = os.Chmod(at(e), 0o755) }) // the file may have been moved
		}
	}
	return f
}

var (
	changingTimes = regexp.MustCompile(`(?m)^(created|accessed|modified): [A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT\+0000 \(Coordinated Universal Time\)$`)
	directorySize = regexp.MustCompile(`^size: \d+\n([^$]*\nisDirectory: true)`)
)

// maskInfo masks what differs between two trees: when files were created and read, or written by a call, and sizes of directories.
func maskInfo(text string) string {
	text = changingTimes.ReplaceAllStringFunc(text, func(line string) string {
		name, when, _ := strings.Cut(line, ": ")
		if name == "modified" && strings.HasPrefix(when, "Fri Jan 02 2026 03:04:05 ") {
			return line
		}
		return name + ": TIME"
	})
	return directorySize.ReplaceAllString(text, "size: SIZE\n$1")
}

// answerOf makes a call, and returns the answer in the form of the recording.
func (f filesystemTree) answerOf(s *server, c recordedCall) (got recordedCall) {
	s.t.Helper()
	var response struct {
		Result struct {
			Content           []struct{ Type, Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	line := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, c.Tool, f.fill(string(c.Args))))
	if err := json.Unmarshal([]byte(line), &response); err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	r := response.Result
	got = recordedCall{Tool: c.Tool, Args: c.Args, Error: r.IsError}
	var structured struct{ Content *string }
	plain := len(r.Content) == 1 && r.Content[0].Type == "text"
	if !r.IsError {
		plain = plain && json.Unmarshal(r.StructuredContent, &structured) == nil && structured.Content != nil && *structured.Content == r.Content[0].Text
	}
	if !plain {
		var whole struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(f.mask(line)), &whole); err != nil {
			s.t.Fatal(err)
		}
		got.Result = whole.Result
		return got
	}
	got.Text = f.mask(r.Content[0].Text)
	if len([]rune(got.Text)) > 3000 && c.SHA256 != "" {
		sum := sha256.Sum256([]byte(got.Text))
		got.Text, got.SHA256 = "", hex.EncodeToString(sum[:])
	}
	return got
}

// difference compares an answer with the recorded one; empty if they are the same.
func (c recordedCall) difference(t *testing.T, got recordedCall) string {
	t.Helper()
	form := func(c recordedCall) map[string]any {
		out := map[string]any{"text": maskInfo(c.Text), "sha256": c.SHA256, "error": c.Error}
		if len(c.Result) > 0 {
			var result map[string]any
			if err := json.Unmarshal(c.Result, &result); err != nil {
				t.Fatal(err)
			}
			out["result"] = result
		}
		return out
	}
	return cmp.Diff(form(c), form(got))
}

// TestFilesystemAgreesWithReferenceServer makes the recorded calls to the built plugin, served alone. The groups include the cases of the
// reference server's own tests: lib (sizes, line ends, diffs, paths, stat, searches with exclusions, edits, head and tail),
// directory-tree (exclusions), structured-content (each answer is compared with its structured content), path-validation (prefixes, traversal, special
// characters, links and their chains, files that do not exist) and path-utils (tildes, Windows paths). Cases of those that concern Windows,
// the command line and roots do not apply.
func TestFilesystemAgreesWithReferenceServer(t *testing.T) {
	t.Parallel()
	recorded := loadFilesystem(t)
	calls := 0
	for _, group := range recorded.Groups {
		calls += len(group)
	}
	if calls < 700 {
		t.Fatalf("only %d calls are recorded", calls)
	}
	for name, group := range recorded.Groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFilesystemTree(t, recorded.Tree)
			s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "filesystem", "--project", f.project, "--env", "HOME=/home/me", "--log-level", "error"))
			for i, c := range group {
				diff := c.difference(t, f.answerOf(s, c))
				why, differs := filesystemDepartures[fmt.Sprintf("%s %d", name, i)]
				switch {
				case diff != "" && !differs:
					t.Errorf("%s %d: %s (-recorded +got)\n%s", name, i, c, diff)
				case diff == "" && differs:
					t.Errorf("%s %d: %s: the answers agree, so the departure is obsolete: %s", name, i, c, why)
				}
			}
			s.end()
		})
	}
}

// filesystemDepartures are the calls whose answers differ, by group and index, with the reason. plugins/filesystem/README.md explains them.
var filesystemDepartures = byCall(map[string]string{
	"git directories cannot be changed":       "writing 25, writing 26, writing 64, writing 82, writing 83, editing 55, editing 56",
	"secrets are hidden":                      "writing 27, writing 28, editing 57, lists 0, lists 36, lists 37, lists 42, lists 43, lists 44, search 0, search 1, search 18, search 21, search 22, search 53, search 54, writing 85",
	"files outside do not exist":              "links 26, links 27, links 51, links 54, links 65, links 71",
	"names that are not UTF-8 are left out":   "lists 12, lists 13, lists 64",
	"errors do not name temporary files":      "writing 8, writing 16, editing 46",
	"files that are not UTF-8 are not edited": "editing 58, editing 59",
})

func byCall(calls map[string]string) map[string]string {
	out := map[string]string{}
	for why, list := range calls {
		for call := range strings.SplitSeq(list, ", ") {
			out[call] = why
		}
	}
	return out
}

// TestFilesystemListsToolsOfReferenceServer compares names, titles, schemas and annotations. Descriptions are the plugin's own, and the reference
// server's execution.taskSupport is the default of MCP.
func TestFilesystemListsToolsOfReferenceServer(t *testing.T) {
	t.Parallel()
	recorded := loadFilesystem(t)
	s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "filesystem", "--project", newDir(t, nil)))
	initialized := s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if !containsAll(initialized, `"serverInfo":{"name":"secure-filesystem-server","version":"0.2.0"}`, `"protocolVersion":"2025-11-25"`) {
		t.Errorf("got %s", initialized)
	}
	var list struct {
		Result struct{ Tools []map[string]any }
	}
	if err := json.Unmarshal([]byte(s.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Result.Tools {
		undescribed(tool)
		delete(tool, "icons")
	}
	for _, tool := range recorded.Tools {
		delete(tool, "execution")
	}
	if diff := cmp.Diff(recorded.Tools, list.Result.Tools); diff != "" {
		t.Errorf("-recorded +got\n%s", diff)
	}
	s.end()
}

// TestFilesystemRefusesEscapes makes the attacks of CVE-2025-53109 (symbolic links) and CVE-2025-53110 (a directory whose path begins with that of
// the granted one), and of their classes. Each is refused, changes nothing outside, and is in the audit log with a refused access.
func TestFilesystemRefusesEscapes(t *testing.T) {
	t.Parallel()
	root := newDir(t, map[string]string{"work/a.txt": "a", "work-evil/secret.txt": "secret", "outside/secret.txt": "secret", "work /secret.txt": "secret", "work/.git/hooks/sample": "x", "work/.git/HEAD": "ref: refs/heads/main\n", "work/.env": "secret"})
	for link, target := range map[string]string{
		"work/file": root + "/outside/secret.txt", "work/dir": "../outside", "work/evil": root + "/work-evil", "work/etc": "/etc", "work/chain": "file", "work/new": root + "/outside/created",
		"work/proc": "/proc/self/root" + root + "/outside/secret.txt",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	config := filepath.Join(newDir(t, map[string]string{"bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\n[[plugins]]\npath = %q\nfs = [{ path = %q, access = \"rw\" }]\n",
		audit, filepath.Join(built.plugins(t), "filesystem"), root+"/work")}), "bulkhead.toml")
	s := startServer(t, programCommand(t, "serve", "--config", config))
	before := snapshot(t, root)
	paths := []string{
		root + "/work-evil/secret.txt", root + "/work/../work-evil/secret.txt", "../work-evil/secret.txt", root + "/work /secret.txt", root + "/outside/secret.txt", "/etc/passwd",
		"file", "dir/secret.txt", "evil/secret.txt", "chain", "proc", "etc/passwd", root + "/work/dir/../../outside/secret.txt",
	}
	attacks := map[string]string{}
	for i, path := range paths {
		raw := jsonOf(t, path)
		attacks[fmt.Sprintf("read %d", i)] = `read_text_file {"path":` + raw + `}`
		attacks[fmt.Sprintf("write %d", i)] = `write_file {"path":` + raw + `,"content":"x"}`
		attacks[fmt.Sprintf("edit %d", i)] = `edit_file {"path":` + raw + `,"edits":[{"oldText":"secret","newText":"x"}]}`
		attacks[fmt.Sprintf("info %d", i)] = `get_file_info {"path":` + raw + `}`
		attacks[fmt.Sprintf("move from %d", i)] = `move_file {"source":` + raw + `,"destination":"stolen"}`
		attacks[fmt.Sprintf("move to %d", i)] = `move_file {"source":"a.txt","destination":` + raw + `}`
	}
	attacks["create through a link"] = `write_file {"path":"new","content":"x"}`
	attacks["a directory through a link"] = `create_directory {"path":"dir/made"}`
	attacks["list a prefix"] = `list_directory {"path":` + jsonOf(t, root+"/work-evil") + `}`
	attacks["list through a link"] = `list_directory_with_sizes {"path":"dir"}`
	attacks["search through a link"] = `search_files {"path":"evil","pattern":"**"}`
	attacks["a tree through a link"] = `directory_tree {"path":"etc"}`
	attacks["media through a link"] = `read_media_file {"path":"file"}`
	attacks["a git hook"] = `write_file {"path":".git/hooks/pre-commit","content":"x"}`
	attacks["git's configuration"] = `write_file {"path":".git/config","content":"x"}`
	attacks["a secret"] = `read_text_file {"path":".env"}`
	for name, attack := range attacks {
		tool, arguments, _ := strings.Cut(attack, " ")
		if r := s.call(tool, arguments); !r.IsError || strings.Contains(r.Text, "root:") {
			t.Errorf("%s: %s: got %+v", name, attack, r)
		}
	}
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Errorf("-before +after\n%s", diff)
	}
	s.end()
	records := 0
	for line := range strings.Lines(readFile(t, audit)) {
		var record struct {
			Kind       string
			Operations []struct{ Op, Outcome string }
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record.Kind != "call" {
			continue
		}
		if !slices.ContainsFunc(record.Operations, func(o struct{ Op, Outcome string }) bool {
			return strings.HasPrefix(o.Op, "file/") && o.Outcome == "denied"
		}) {
			t.Errorf("no refusal is recorded: %s", line)
		}
		records++
	}
	if records != len(attacks) || len(attacks) < 80 {
		t.Errorf("%d of %d calls are recorded", records, len(attacks))
	}
}

// TestFilesystemWithSeveralDirectories checks the order of grants, their aliases, relative paths, and moves between them.
func TestFilesystemWithSeveralDirectories(t *testing.T) {
	t.Parallel()
	root := newDir(t, map[string]string{"b/run.sh": "#!/bin/sh\n", "b/dir/x": "x", "a/only-in-a": "a", "real/r": "r"})
	for _, err := range []error{os.Symlink("real", filepath.Join(root, "alias")), os.Chmod(filepath.Join(root, "b/run.sh"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(newDir(t, map[string]string{"bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = %q\nfs = [{ path = %q, access = \"rw\" }, { path = %q, access = \"rw\" }, { path = %q, access = \"r\" }]\n",
		filepath.Join(built.plugins(t), "filesystem"), root+"/b", root+"/a", root+"/alias")}), "bulkhead.toml")
	s := startServer(t, programCommand(t, "serve", "--config", config, "--log-level", "error"))
	all := strings.NewReplacer("$R", root).Replace("$R/b, $R/a, $R/alias, $R/real")
	for _, c := range []struct{ tool, arguments, want string }{
		{"list_allowed_directories", `{}`, "Allowed directories:\n" + strings.ReplaceAll(all, ", ", "\n")},
		{"read_text_file", `{"path":"run.sh"}`, "#!/bin/sh\n"},
		{"read_text_file", `{"path":"$R/alias/r"}`, "r"},
		{"read_text_file", `{"path":"$R/real/r"}`, "r"},
		{"read_text_file", `{"path":"../a/only-in-a"}`, "a"},
		{"read_text_file", `{"path":"only-in-a"}`, "ENOENT: no such file or directory, open '$R/b/only-in-a'"},
		{"read_text_file", `{"path":"$R/none"}`, "Access denied - path outside allowed directories: $R/none not in " + all},
		{"write_file", `{"path":"$R/alias/new","content":"x"}`, "EACCES: permission denied, open '$R/real/new'"},
		{"move_file", `{"source":"run.sh","destination":"$R/a/moved.sh"}`, "Successfully moved run.sh to $R/a/moved.sh"},
		{"move_file", `{"source":"dir","destination":"$R/a/dir"}`, "EXDEV: cross-device link not permitted, rename '$R/b/dir' -> '$R/a/dir'"},
		{"list_directory", `{"path":"$R/b"}`, "[DIR] dir"},
	} {
		if got := s.call(c.tool, strings.ReplaceAll(c.arguments, "$R", root)).Text; got != strings.ReplaceAll(c.want, "$R", root) {
			t.Errorf("%s %s: got %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
	info, err := os.Stat(filepath.Join(root, "a/moved.sh"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the moved file: %v %v", info, err)
	}
	then := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "a/only-in-a"), then, then.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	text := s.mustCall("get_file_info", `{"path":"`+root+`/a/only-in-a"}`)
	if !containsAll(text, "accessed: Sat Feb 03 2001 04:05:06 GMT+0000", "modified: Sat Feb 03 2001 05:05:06") || strings.Contains(text, "created: Sat Feb 03 2001") {
		t.Errorf("got %s", text)
	}
	s.end()
}
