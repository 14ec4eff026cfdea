package dispatch_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
)

// Only a plugin that is being developed learns that it is: its SDK then reports variables that are not granted.
func TestDevelopmentIsInEnvironment(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[capabilities]\nenv = ['TOKEN']\n"+hosttest.Reads("a_reads")))
	for name, c := range map[string]struct {
		development *host.Development
		want        map[string]string
	}{
		"served":    {nil, map[string]string{"TOKEN": "t"}},
		"developed": {&host.Development{Source: w.Dir, Built: func() (string, error) { return w.Dir + "/plugins/a", nil }}, map[string]string{"TOKEN": "t", "BULKHEAD_DEVELOPMENT": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := w.Options()
			o.Development, o.Env = c.development, map[string]string{"TOKEN": "t"}
			found, err := discovery.Find(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := dispatch.Environment(dispatch.New(catalog.New(found)), 0)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// TestSecretsAreReadWhenWorkerStarts checks the values of variables from files and commands, that the catalog has none of them, and that an
// error names the line of the variable and nothing of the value.
func TestSecretsAreReadWhenWorkerStarts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED on Windows: the commands of the test are programs of Unix systems")
	}
	for name, c := range map[string]struct{ env, flag, want, err string }{
		"a file":                   {"{ file = '$W/value' }", "", "hunter2", ""},
		"a command":                {"{ command = ['printf', '%s\\n', 'hunter2 $HOME'] }", "", "hunter2 $HOME", ""},
		"a flag":                   {"{ command = ['false'] }", "given", "given", ""},
		"a file with a reference":  {"{ file = '${env:W}/value' }", "", "hunter2", ""},
		"an absent file":           {"{ file = '$W/none' }", "", "", "the variable TOKEN (bulkhead.toml:3): "},
		"a file that is too large": {"{ file = '$W/large' }", "", "", "the variable TOKEN (bulkhead.toml:3): its file is larger than 8 KiB"},
		"a NUL byte":               {"{ file = '$W/nul' }", "", "", "the variable TOKEN (bulkhead.toml:3): its file contains a NUL byte"},
		"a failing command":        {"{ command = ['sh', '-c', 'echo hunter2; echo hunter2 >&2; exit 4'] }", "", "", "the variable TOKEN (bulkhead.toml:3): its command failed (exit status 4): run it in a terminal"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[capabilities]\nenv = ['TOKEN']\n"+hosttest.Reads("a_reads")))
			w.Write(t, hosttest.Files{
				"value": "hunter2\n", "large": strings.Repeat("hunter2", 2000), "nul": "hunter2\x00",
				"work/bulkhead.toml": strings.ReplaceAll("[[plugins]]\npath = '../plugins/a'\nenv = { TOKEN = "+c.env+" }\n", "$W", w.Dir)})
			o := w.Options()
			lookup := o.System.LookupEnv
			o.System.LookupEnv = func(name string) (string, bool) {
				if name == "W" {
					return w.Dir, true
				}
				return lookup(name)
			}
			if c.flag != "" {
				o.Env = map[string]string{"TOKEN": c.flag}
			}
			offered, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprintf("%+v %+v", offered.Plugins[0].Grant, offered.Plugins[0].Entry); strings.HasPrefix(c.env, "{ file") && strings.Contains(text, "hunter2") {
				t.Errorf("the catalog contains the value: %s", text)
			}
			got, err := dispatch.Environment(dispatch.New(offered), 0)
			if got["TOKEN"] != c.want {
				t.Errorf("got %q, want %q", got["TOKEN"], c.want)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("got the error %v, want %s", err, c.err)
			}
		})
	}
}

// TestSecretFilesAreHidden checks that no plugin reads the file of a variable's value.
func TestSecretFilesAreHidden(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[capabilities]\nenv = ['TOKEN']\n"+hosttest.Reads("a_reads")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = '../plugins/a'\nenv = { TOKEN = { file = %q } }\n", w.Dir+"/work/value")})
	offered, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(offered.HostFiles, filepath.Clean(w.Dir+"/work/value")) {
		t.Errorf("got %v", offered.HostFiles)
	}
}
