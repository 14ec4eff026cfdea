package hosttool

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tokens"
)

// nodeDir returns the directory in which .ci/context has installed programs of npm.
func nodeDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BULKHEAD_CONTEXT")
	if dir == "" {
		t.Skip("BULKHEAD_CONTEXT is not set: .ci/context sets it")
	}
	return dir
}

// TestEstimateAgainstTokenizers compares the estimate for each tool of the bundled plugins with tokenizers of models. docs/context.md has the
// differences, which are the bounds here. Those of the last two have a third of the vocabulary of newer ones.
func TestEstimateAgainstTokenizers(t *testing.T) {
	dir := nodeDir(t)
	var texts []string
	var estimates []int
	for _, tool := range bundled(t).tools {
		texts = append(texts, tokens.TextOf(tool.Name, tool.Description, tool.Input))
		estimates = append(estimates, tokens.Estimate(texts[len(texts)-1]))
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	count := exec.Command("node", "tokens.mjs")
	count.Dir, count.Stdin = dir, bytes.NewReader(input)
	out, err := count.Output()
	if err != nil {
		t.Fatal(err)
	}
	var counts map[string][]int
	if err := json.Unmarshal(out, &counts); err != nil {
		t.Fatal(err)
	}
	for name, bound := range map[string]struct{ mean, worst float64 }{
		"GPT (o200k)": {0.06, 0.15}, "Claude 2": {0.06, 0.15}, "Mistral 7B": {0.15, 0.25}, "Llama 2": {0.15, 0.25},
	} {
		sum, worst, all, estimated := 0.0, 0.0, 0, 0
		for i, real := range counts[name] {
			off := math.Abs(float64(estimates[i]-real)) / float64(real)
			sum, worst, all, estimated = sum+off, max(worst, off), all+real, estimated+estimates[i]
		}
		mean := sum / float64(len(texts))
		t.Logf("%-12s %6d tokens, estimate %6d: mean difference of a tool %.1f %%, worst %.1f %%", name, all, estimated, 100*mean, 100*worst)
		if len(counts[name]) != len(texts) || mean > bound.mean || worst > bound.worst {
			t.Errorf("%s: mean %.3f, worst %.3f, want at most %+v", name, mean, worst, bound)
		}
	}
}

// TestDeclarationsAreTypeScript has the compiler check the declarations of all tools of the bundled plugins.
func TestDeclarationsAreTypeScript(t *testing.T) {
	dir := nodeDir(t)
	s := bundled(t)
	text := "interface Tools {\n"
	for i := range s.tools {
		text += s.declaration(&s.tools[i]) + "\n"
	}
	file := filepath.Join(t.TempDir(), "tools.ts")
	text += "}\ndeclare const tools: Tools;\nvoid tools.git_log({ repo_path: \".\", max_count: 3 });\n"
	check := func(text string) string {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := exec.Command("node", filepath.Join(dir, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--target", "es2022", file).CombinedOutput()
		return string(out)
	}
	if out := check(text); out != "" {
		t.Errorf("tsc: %s", out)
	}
	if out := check(text + "void tools.git_log({ repo_path: 3 });\n"); out == "" {
		t.Error("tsc accepts a wrong argument")
	}
}
