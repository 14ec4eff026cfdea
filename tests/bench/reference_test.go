package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
)

// chantVariable is the environment variable with the program that the chant plugin reimplements, version 0.13.11.
const chantVariable = "BULKHEAD_BENCH_CHANT"

// settled is the age from which the host trusts the times of a file, plus a margin.
const settled = 2500 * time.Millisecond

// BenchmarkChant compares the chant plugin with the original program over 1,000 specs, as MCP servers, both running: with
// unchanged files, and with files that were all rewritten just before the call.
func BenchmarkChant(b *testing.B) {
	original := os.Getenv(chantVariable)
	if original == "" {
		b.Skipf("%s does not name the original program", chantVariable)
	}
	version, err := exec.Command(original, "--version").Output()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("the original program: %s", strings.TrimSpace(string(version)))
	s := buildAll(b)
	plugins := filepath.Join(b.TempDir(), "plugins")
	if _, err := build.Build(context.Background(), filepath.Join("..", "..", "plugins", "chant"), build.Options{Out: plugins}); err != nil {
		b.Fatal(err)
	}
	for _, call := range []struct{ name, tool, arguments string }{
		{"list", "chant_spec_list", `{}`}, {"ready", "chant_ready", `{}`}, {"status", "chant_status", `{}`}, {"search", "chant_search", `{"query":"nothing has this"}`},
	} {
		for _, changed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/changed=%t", call.name, changed), func(b *testing.B) {
				project := b.TempDir()
				writeSpecs(b, project, 1000)
				if !changed {
					time.Sleep(settled)
				}
				servers := [2]*server{
					start(b, project, s.host, "serve", "--no-config", "--plugins", plugins, "--project", project),
					start(b, project, original, "mcp"),
				}
				line := fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, call.tool, call.arguments)
				for _, p := range servers {
					p.greet()
					p.ask(line)
				}
				var times [2][]time.Duration
				for b.Loop() {
					for i, p := range servers {
						if changed {
							writeSpecs(b, project, 1000)
						}
						began := time.Now()
						if answer := p.ask(line); !strings.Contains(string(answer), `"content"`) {
							b.Fatalf("got %.200s", answer)
						}
						times[i] = append(times[i], time.Since(began))
					}
				}
				for _, p := range servers {
					p.stop()
				}
				now, reference := medianOf(times[0]), medianOf(times[1])
				b.ReportMetric(now/1000, "ms")
				b.ReportMetric(reference/1000, "original-ms")
				b.ReportMetric(now/reference, "x-original")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
