package tools_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// realRoot is the root directory of all paths that the sample data contains.
const realRoot = "/srv/aam"

// testDir is the original working directory of the tests, since each world changes the working directory.
var testDir, _ = os.Getwd()

// realPath returns the path of a file or directory in the sample data. It skips the test if the sample data does not
// exist.
func realPath(t *testing.T, parts ...string) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(testDir)
	path := realdata.Path(t, parts...)
	t.Chdir(at)
	return path
}

// world is a directory with a home directory, a project and registries, together with a host for the plugin.
type world struct {
	t    *testing.T
	host *sdktest.Host
	root string
}

// newWorld creates a world with an empty project and an empty home directory.
func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.New()
	tools.Register(p)
	w := &world{t, sdktest.New(t, p, filepath.Join(testDir, "..", "plugin.toml")), root}
	w.host.Handle(abi.OpFSMode, fileMode)
	for _, dir := range []string{"home", "project"} {
		if err := os.MkdirAll(w.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.enter("project")
	t.Setenv("HOME", w.path("home"))
	return w
}

// fileMode implements the host operation that reads and sets permission bits.
func fileMode(params json.RawMessage) (any, error) {
	var request abi.FileMode
	if err := json.Unmarshal(params, &request); err != nil {
		return nil, err
	}
	if request.Mode != nil {
		if err := os.Chmod(request.Path, fs.FileMode(*request.Mode)); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(request.Path)
	if err != nil {
		return nil, err
	}
	return abi.FileModeResult{Mode: uint32(info.Mode().Perm())}, nil
}

func (w *world) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

// enter makes the directory called name the project.
func (w *world) enter(name string) {
	w.t.Chdir(w.path(name))
	w.t.Setenv("BULKHEAD_PROJECT", w.path(name))
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := w.path(name)
	testenv.WriteFile(w.t, path, text)
}

func (w *world) mkdir(name string) {
	w.t.Helper()
	if err := os.MkdirAll(w.path(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// real copies files of the sample data to a path in the world. In the copies, it replaces realRoot by the root of the
// world.
func (w *world) real(to string, from ...string) {
	w.t.Helper()
	source := realPath(w.t, append([]string{"constructed"}, from...)...)
	w.remove(to)
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(source, path)
		target := filepath.Join(w.path(to), name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if entry.Name() == ".keep" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".yaml") {
			data = []byte(strings.ReplaceAll(string(data), realRoot, w.root))
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// realWorld returns a world with a home directory of the sample data. Unless workspace is "", the project of the world
// is a workspace of the sample data.
func realWorld(t *testing.T, home, workspace string) *world {
	t.Helper()
	realPath(t) // skips the test before files are created
	w := newWorld(t)
	if home != "" {
		w.real("home", "homes", home)
	}
	for _, name := range []string{"team-registry", "docs-registry"} {
		w.real(name, "registries", name)
	}
	if workspace != "" {
		w.real("project", append([]string{"workspaces"}, strings.Split(workspace, "/")...)...)
	}
	w.enter("project")
	return w
}

// read returns the content of all files below a directory. The keys are relative paths. If the directory does not
// exist, read returns no files.
func (w *world) read(folder string) map[string]string {
	w.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(w.path(folder), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(w.path(folder), path)
		found[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// result calls a tool and returns the result. The argument args alternates the names and values of the tool's
// arguments.
func (w *world) result(tool string, args ...any) *sdktest.Result {
	w.t.Helper()
	given := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		given[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(given)
	if err != nil {
		w.t.Fatal(err)
	}
	result, err := w.host.CallTool(tool, string(raw))
	if err != nil {
		w.t.Fatalf("%s %s: %v", tool, raw, err)
	}
	if len(result.Texts) != 1 {
		w.t.Fatalf("%s %s: %d texts", tool, raw, len(result.Texts))
	}
	return result
}

// object is the type of a result that is a JSON object.
type object = map[string]any

// get calls a tool, which must succeed, and returns the result. It fails the test unless text and structured content
// are equal.
func get[T any](w *world, tool string, args ...any) T {
	w.t.Helper()
	result := w.result(tool, args...)
	if result.IsError {
		w.t.Fatalf("%s %v: %s", tool, args, result.Text())
	}
	var value T
	if err := json.Unmarshal([]byte(result.Text()), &value); err != nil {
		w.t.Fatalf("%s: the text is no %T: %v", tool, value, err)
	}
	structured := string(result.Structured)
	if strings.HasPrefix(result.Text(), "[") {
		structured = strings.TrimSuffix(strings.TrimPrefix(structured, `{"result":`), "}")
	}
	if structured != result.Text() {
		w.t.Errorf("%s: text and structured content differ:\n%s\n%s", tool, result.Text(), result.Structured)
	}
	return value
}

// fails calls a tool, which must fail with the given code, and returns the text of the error.
func (w *world) fails(code, tool string, args ...any) string {
	w.t.Helper()
	result := w.result(tool, args...)
	text := result.Text()
	if !result.IsError {
		w.t.Fatalf("%s %v: got %s, want %s", tool, args, text, code)
	}
	if !strings.HasPrefix(text, "["+code+"] ") || strings.Contains(text, "goroutine ") {
		w.t.Errorf("%s %v: got %s, want %s", tool, args, text, code)
	}
	return text
}

// names returns the value of a field in each object of a list.
func names(list []object, field string) []string {
	all := []string{}
	for _, item := range list {
		text, _ := item[field].(string)
		all = append(all, text)
	}
	return all
}

// failures returns the code of each failure in the result of an install. The key is the package.
func failures(result object) map[string]string {
	codes := map[string]string{}
	for _, item := range result["failed"].([]any) {
		failed := item.(object)
		codes[failed["package"].(string)] = failed["code"].(string)
	}
	return codes
}

// installed returns name@version for each package in the result of an install.
func installed(result object) []string {
	all := []string{}
	for _, item := range result["installed"].([]any) {
		all = append(all, item.(object)["name"].(string)+"@"+item.(object)["version"].(string))
	}
	return all
}

// stocked returns a world with a workspace and a registry. The registry has the package kit, with one skill and one
// rule.
func stocked(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.mkdir("registry")
	w.mkdir("project/.aam")
	w.write("home/.aam/config.yaml", "registries: [{name: own, url: 'file://"+w.path("registry")+"'}]\n")
	w.write("kit/aam.yaml", "name: kit\nversion: 1.0.0\ndescription: d\nartifacts: {skills: [{name: look, path: look, description: d}], instructions: [{name: style, path: style.md, description: d}]}\n")
	w.write("kit/look/SKILL.md", "# Look\n")
	w.write("kit/style.md", "Be brief.\n")
	w.enter("kit")
	get[object](w, "aam_publish")
	w.enter("project")
	return w
}
