package scenario_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
)

// TestFilesStayInDirectoriesOfScenario checks that symbolic links beside a scenario file lead neither a file of the scenario nor the
// copied directory out of where they belong.
func TestFilesStayInDirectoriesOfScenario(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	outside, tests := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(tests, "copied"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"all", filepath.Join("copied", "link")} {
		if err := os.Symlink(outside, filepath.Join(tests, link)); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"from = \"copied\"\n[scenario.files]\n\"link/new\" = \"x\"":   `it.toml:5: scenario[0].files."link/new": cannot be made: `,
		"from = \"copied\"\n[scenario.files]\n\"link/below/\" = \"\"": `it.toml:5: scenario[0].files."link/below/": cannot be made: `,
		"from = \"all\"":  "it.toml:3: scenario[0].from: cannot be made: ",
		"from = \"none\"": "it.toml:3: scenario[0].from: cannot be made: ",
		"[scenario.files]\n\"a\" = \"x\"\n\"a/b\" = \"x\"":                 `it.toml:5: scenario[0].files."a/b": cannot be made: `,
		"[scenario.files]\n\"${state}/a\" = \"x\"\n\"${state}/a/\" = \"\"": `it.toml:5: scenario[0].files."${state}/a/": cannot be made: `,
	} {
		f, ps := scenario.Parse(filepath.Join(tests, "it.toml"), []byte("[[scenario]]\nname = \"it\"\n"+text+"\n[[scenario.step]]\nlist = \"tools\"\n"))
		if ps.Err() != nil {
			t.Errorf("%s: %v", text, ps)
			continue
		}
		if _, err := scenario.Run(t.Context(), probe(t), []scenario.File{f}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if found, err := os.ReadDir(outside); err != nil || len(found) > 0 {
		t.Errorf("outside: %v, %v", found, err)
	}
}
