//go:build unix

package languages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// sample is a module of the table of costs.
type sample struct {
	name      string
	toolchain string                         // that builds it, as in REQUIRE of .ci/languages; empty: only Go
	plugin    func(t *testing.T, dir string) // builds the plugin into a directory that does not exist
	tool      string
	arguments string
}

// samples returns the modules of the table: those of the conformance kit in each language, and further plugins.
func samples() []sample {
	const echo, hello = "echo", `{"text":"hello"}`
	list := []sample{{"Go", "", func(t *testing.T, dir string) {
		module := filepath.Join(t.TempDir(), "module.wasm")
		run(t, ".", []string{"env", "GOOS=wasip1", "GOARCH=wasm", "go", "build", "-trimpath", "-buildmode=c-shared", "-o", module, "../../internal/authoring/conform/testdata/module"})
		conformancePlugin(t, dir, module)
	}, echo, hello}}
	for _, l := range languages {
		list = append(list, sample{l.name, l.toolchain, func(t *testing.T, dir string) {
			from := filepath.Join(source(t, l), l.conformanceDir)
			run(t, from, l.conformance)
			conformancePlugin(t, dir, filepath.Join(from, l.conformanceModule))
		}, echo, hello})
	}
	// One line for each further plugin, such as one of another kind.
	return append(list,
		sample{"C, a program that prints its argument", "clang", echoProgram, echo, hello},
		sample{"Rust, with extism-pdk", "rust", func(t *testing.T, dir string) { writeFiles(t, dir, importExtism(t, "v1").Files) }, echo, hello},
		sample{"Go, [hello](../examples/hello), which reports progress", "", fromSource("../../examples/hello"), "hello_greet", `{"name":"Ada"}`},
	)
}

// conformancePlugin writes a plugin with a module of the conformance kit.
func conformancePlugin(t *testing.T, dir, module string) {
	t.Helper()
	manifest, err := os.ReadFile("../../internal/authoring/conform/abi-1/plugin.toml")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string][]byte{"plugin.toml": manifest, "module.wasm": code})
}

// writeFiles writes the files of a plugin into a directory that does not exist.
func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// echoProgram writes a plugin that wraps a program, which prints its argument.
func echoProgram(t *testing.T, dir string) {
	t.Helper()
	writeFiles(t, dir, map[string][]byte{
		"echo.c": []byte("#include <stdio.h>\nint main(int argc, char **argv) { return puts(argv[argc - 1]) < 0; }\n"),
		"plugin.toml": []byte(`manifest = 1

[plugin]
name        = "echo"
version     = "0.1.0"
description = "Echoes"

[module]
file = "echo.wasm"
kind = "command"

[[tools]]
name                  = "echo"
description           = "Print a text"
access                = "read"
input.type            = "object"
input.required        = ["text"]
input.properties.text = { type = "string" }
args                  = ["--", { arg = "text" }]
`)})
	run(t, dir, []string{"clang", "--target=wasm32-wasi", "-Oz", "-Wl,--strip-all", "echo.c", "-o", "echo.wasm"})
}

// fromSource returns a function that builds the plugin in a source directory by its manifest.
func fromSource(source string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		out := t.TempDir()
		result, err := build.Build(t.Context(), source, build.Options{Out: out})
		if err == nil {
			err = os.CopyFS(dir, os.DirFS(result.Dir))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// row is what was measured of a sample.
type row struct {
	sample
	kind    string
	report  build.Report
	options host.Options
	host    *host.Host
	first   []time.Duration // processor time of a worker from its start to the answer of its first call
	worker  []time.Duration // processor time of the worker, per call
	server  []time.Duration // processor time of the host, per call
}

// TestCosts measures the samples. With $BULKHEAD_LANGUAGES_TABLE, it writes a table to this file; otherwise it makes a few calls only,
// so that what the table needs is tested.
func TestCosts(t *testing.T) {
	if os.Getenv("BULKHEAD_LANGUAGES_SOURCE") == "" {
		t.Skip("run by .ci/languages")
	}
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("no /proc/self/schedstat on this system")
	}
	file := os.Getenv("BULKHEAD_LANGUAGES_TABLE")
	rounds, calls := 1, 5
	if file != "" {
		rounds, calls = 15, 400
	}
	var rows []*row
	for _, s := range samples() {
		if s.toolchain != "" && !slices.Contains(strings.Split(os.Getenv("BULKHEAD_LANGUAGES_FOUND"), ","), s.toolchain) {
			t.Logf("%s is left out: there is no tool chain %s", s.name, s.toolchain)
			continue
		}
		rows = append(rows, s.prepare(t))
	}
	// The samples take turns, so that other work on the machine affects all of them.
	for range min(rounds, 7) {
		for _, r := range rows {
			r.start(t)
		}
	}
	for range rounds {
		for _, r := range rows {
			r.measure(t, calls)
		}
	}
	for _, r := range rows {
		r.close(t)
	}
	if file != "" {
		var table strings.Builder
		writeTable(&table, rows)
		if err := os.WriteFile(file, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// prepare builds the sample, inspects its module, and fills the cache.
func (s sample) prepare(t *testing.T) *row {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugin")
	s.plugin(t, dir)
	m, problems := manifest.Load(dir)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	r := &row{sample: s, kind: m.Module.Kind}
	w := hosttest.New(t)
	r.options = w.Options()
	r.options.PluginsDir, r.options.Log = dir, nil
	r.open(t)
	r.close(t)
	inspected := build.Options{CacheDir: filepath.Join(w.Dir, "cache", "bulkhead")}
	for range 7 { // from the cache; the fastest one has waited least for other work
		report, err := build.Inspect(t.Context(), m.ModuleFile(), inspected)
		if err != nil {
			t.Fatal(err)
		}
		if r.report.Start == nil || report.Start.Load < r.report.Start.Load {
			r.report = report
		}
	}
	return r
}

// open opens a host and makes the first call.
func (r *row) open(t *testing.T) {
	t.Helper()
	var err error
	if r.host, err = host.Open(r.options); err != nil {
		t.Fatal(err)
	}
	r.call(t)
}

func (r *row) close(t *testing.T) {
	t.Helper()
	if err := r.host.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func (r *row) call(t *testing.T) {
	t.Helper()
	if answer := hosttest.Call(t, r.host, r.tool, r.arguments); answer.IsError || answer.Error != nil {
		t.Fatalf("%s: %+v", r.name, answer)
	}
}

// start measures a worker from its start to the answer of its first call.
func (r *row) start(t *testing.T) {
	t.Helper()
	if r.first != nil {
		r.close(t)
	}
	before := childrensTime(t)
	r.open(t)
	r.first = append(r.first, childrensTimeSince(t, before))
}

// measure measures calls. The workers of the other samples are idle.
func (r *row) measure(t *testing.T, calls int) {
	t.Helper()
	worker, server := childrensTime(t), ownTime(t)
	for range calls {
		r.call(t)
	}
	r.server = append(r.server, (ownTime(t)-server)/time.Duration(calls))
	r.worker = append(r.worker, childrensTimeSince(t, worker)/time.Duration(calls))
}

// writeTable writes the rows as Markdown.
func writeTable(w *strings.Builder, rows []*row) {
	fmt.Fprintln(w, "| | kind | module | start | memory after it | first call | call | and in the host |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, r := range rows {
		start, memory := "–", "–" // a kind that is not asked for its handlers
		if s := r.report.Start; s != nil {
			start = fmt.Sprintf("%s instructions, %.0f ms", thousands(s.StartFuel), float64(s.Load)/1e6)
			memory = fmt.Sprintf("%d KiB", s.Memory>>10)
		}
		fmt.Fprintf(w, "| %s | `%s` | %d kB | %s | %s | %.0f ms | %d µs | %d µs |\n", r.name, r.kind, (r.report.Size+500)/1000, start, memory,
			quartile(r.first).Seconds()*1e3, quartile(r.worker).Microseconds(), quartile(r.server).Microseconds())
	}
}

// thousands formats a number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// quartile returns the lower quartile: other work on the machine slows some of the rounds, by the caches that it shares.
func quartile(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/4]
}

// ownTime returns the processor time of this process.
func ownTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// childrensTime returns the processor time of each child process of this process.
func childrensTime(t *testing.T) map[string]time.Duration {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]time.Duration{}
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(pids)) {
			stats, err := filepath.Glob(fmt.Sprintf("/proc/%s/task/*/schedstat", pid))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range stats {
				if stat, err := os.ReadFile(file); err == nil {
					ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					times[pid] += time.Duration(ns)
				}
			}
		}
	}
	return times
}

// childrensTimeSince returns the processor time of the child processes since an earlier call of childrensTime. It leaves out those
// that have ended, which are workers of a closed host.
func childrensTimeSince(t *testing.T, before map[string]time.Duration) time.Duration {
	t.Helper()
	var used time.Duration
	for pid, now := range childrensTime(t) {
		used += max(0, now-before[pid])
	}
	return used
}
