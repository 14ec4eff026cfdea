//go:build unix

package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestCommandLine runs the scripts in testdata/cli. In a script
//
//	bulkhead             is the built program
//	code N COMMAND …     runs a command that must exit with code N
//	pack DIR FILE        packs the built plugin in DIR
//	$PLUGINS             is the directory of the built plugins, $PROBE the built plugin of testdata/cli/probe
//	$REPOSITORY          is the root of this repository
//	[!all] skip REASON   leaves the script out unless all tests run
//
// State directories are in $WORK/state, plugins that are fetched in $WORK/data. $HOME is an empty directory outside $WORK, since an ancestor of $HOME is never
// taken as the project.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	probe := filepath.Join(builtPlugins(t, "testdata/cli/probe"), "probe")
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	golang, homes := goEnvironment(t), filepath.Join(root, "homes")
	if err := os.Mkdir(homes, 0o755); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:         filepath.Join("testdata", "cli"),
		WorkdirRoot: root,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(built.program(t))+string(os.PathListSeparator)+e.Getenv("PATH"))
			home := filepath.Join(homes, filepath.Base(e.WorkDir))
			e.Setenv("HOME", home)
			e.Setenv("TZ", "UTC")
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("XDG_CACHE_HOME", built.cache(t))
			e.Setenv("PLUGINS", built.plugins(t))
			e.Setenv("PROBE", probe)
			e.Setenv("REPOSITORY", repository)
			for _, variable := range golang {
				name, value, _ := strings.Cut(variable, "=")
				e.Setenv(name, value)
			}
			return os.Mkdir(home, 0o755)
		},
		Condition: func(condition string) (bool, error) {
			if condition != "all" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return testenv.IsAll(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": exitsWith, "pack": packPlugin},
	})
}

// packPlugin implements the script command "pack".
func packPlugin(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) != 2 {
		ts.Fatalf("usage: pack directory file")
	}
	dir := ts.MkAbs(args[0])
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	var files []archive.File
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		ts.Check(err)
		files = append(files, archive.File{Name: e.Name(), Data: data})
	}
	data, err := archive.Encode(files)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// exitsWith implements the script command "code".
func exitsWith(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) < 2 {
		ts.Fatalf("usage: code N command [argument…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
