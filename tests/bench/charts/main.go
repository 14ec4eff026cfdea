// The command charts reads the output of benchmarks from stdin and writes what a page of the documentation shows of it: an SVG file for each unit
// of comparison, beside the page, and between two comments of the page the images, with the same numbers in tables.
//
//	go test ./tests/bench -run '^$' -bench . | go run ./tests/bench/charts docs/cost.md
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
)

// comparisons are the units that the page shows, and what they say.
var comparisons = []struct{ unit, file, title string }{
	{"x-native", "native", "Bulkhead's time as a multiple of a native server's"},
	{"x-original", "original", "Bulkhead's time as a multiple of the original program's"},
	{"x-command-line", "command-line", "A command's time in its module as a multiple of the program's"},
}

// The comments around what is generated.
const begin, end = "<!-- charts: begin -->", "<!-- charts: end -->"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: charts PAGE.md < OUTPUT-OF-BENCHMARKS")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stderr, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// result is one benchmark with its values by unit.
type result struct {
	name   string
	values map[string]float64
}

func run(in io.Reader, progress io.Writer, page string) error {
	all, err := parse(io.TeeReader(in, progress))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	from, to := bytes.Index(text, []byte(begin)), bytes.Index(text, []byte(end))
	if from < 0 || to < from {
		return fmt.Errorf("%s has no lines %s and %s", page, begin, end)
	}
	section, files := render(all)
	if len(files) == 0 {
		return fmt.Errorf("no benchmark has one of the units that %s shows", page)
	}
	for name, svg := range files {
		if err := os.WriteFile(filepath.Join(filepath.Dir(page), name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(page, slices.Concat(text[:from], []byte(begin+"\n"+section), text[to:]), 0o644)
}

// parse reads the lines of benchmarks. It fails if one has failed.
func parse(in io.Reader) ([]result, error) {
	var all []result
	for lines := bufio.NewScanner(in); ; {
		if !lines.Scan() {
			return all, lines.Err()
		}
		fields := strings.Fields(lines.Text())
		if len(fields) > 0 && (fields[0] == "FAIL" || fields[0] == "panic:") {
			return nil, fmt.Errorf("the benchmarks have failed: %s", lines.Text())
		}
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		r := result{name: nameOf(fields[0]), values: map[string]float64{}}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q is no number in: %s", fields[i], lines.Text())
			}
			r.values[fields[i+1]] = value
		}
		all = append(all, r)
	}
}

// nameOf returns the name of a benchmark without the number of processors at its end.
func nameOf(name string) string {
	name = strings.TrimPrefix(name, "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i]
		}
	}
	return strings.NewReplacer("/", ", ", "_", " ").Replace(name)
}

// render returns the section of the page, and the files that it names.
func render(all []result) (section string, files map[string]string) {
	files = map[string]string{}
	var b strings.Builder
	fmt.Fprintf(&b, "Made by `just bench` on %s/%s with %d processors.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, c := range comparisons {
		plot := chart.Comparison{ID: c.file, Title: c.title, Description: "The table below has the same numbers.", Reference: 1}
		var table strings.Builder
		for _, r := range all {
			if value, ok := r.values[c.unit]; ok {
				text := strconv.FormatFloat(value, 'g', 3, 64) + " ×"
				plot.Rows = append(plot.Rows, chart.Bar{Name: r.name, Value: value, Text: text})
				fmt.Fprintf(&table, "| %s | %s |\n", r.name, text)
			}
		}
		if plot.Rows == nil {
			continue
		}
		name := "cost-" + c.file + ".svg"
		files[name] = chart.Document(plot.SVG())
		fmt.Fprintf(&b, "\n![%s](%s)\n\n| %s | |\n| --- | --- |\n%s", c.title, name, c.title, table.String())
	}
	b.WriteByte('\n')
	return b.String(), files
}
