package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
)

// BenchmarkCommandLine compares openspec's module in a running host with the openspec CLI, which is started for each request,
// as agents do. x-command-line is the ratio of their times. The benchmark needs the program openspec in PATH
// (npm install -g @fission-ai/openspec@1.13.2) and a real project.
func BenchmarkCommandLine(b *testing.B) {
	program, err := exec.LookPath("openspec")
	if err != nil {
		b.Skipf("NOT MEASURED against the command line: %v", err)
	}
	project, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "fixtures", "openspec", "project"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(project); err != nil {
		b.Skipf("NOT MEASURED against the command line: no real project: %v", err)
	}
	pluginsDir := filepath.Join(b.TempDir(), "plugins")
	if _, err := build.Build(b.Context(), filepath.Join("..", "..", "plugins", "openspec"), build.Options{Out: pluginsDir}); err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		tool, arguments string
		command         []string
	}{
		{"openspec_list", `{}`, []string{"list", "--json"}},
		{"openspec_validate", `{"all":true}`, []string{"validate", "--all", "--json"}},
	} {
		b.Run(test.tool, func(b *testing.B) {
			module := subject{plugin: "openspec", tool: test.tool, arguments: test.arguments}.module(b, pluginsDir, project)
			module() // exclude start and compilation from the measurement
			var inModule, byProgram time.Duration
			for b.Loop() {
				inModule += module()
				byProgram += runProgram(b, project, program, test.command...)
			}
			b.ReportMetric(float64(inModule)/float64(byProgram), "x-command-line")
			b.ReportMetric(float64(inModule.Nanoseconds())/float64(b.N), "ns/call")
		})
	}
}

// runProgram runs the openspec CLI in a project and returns the time. It accepts exit code 1, which means that the project
// has invalid items.
func runProgram(b *testing.B, project, program string, arguments ...string) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, arguments...)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "OPENSPEC_TELEMETRY=0", "NO_COLOR=1")
	start := time.Now()
	out, err := cmd.Output()
	took := time.Since(start)
	if len(out) == 0 || out[0] != '{' {
		b.Fatalf("%s %q: %v: %.200s", program, arguments, err, out)
	}
	return took
}
