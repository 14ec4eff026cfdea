// The command charts reads the output of benchmarks from stdin and writes what a page of the documentation shows of it: an SVG file for each unit
// of comparison, beside the page, and between two comments of the page the images, with the same numbers in tables.
//
//	go test ./tests/bench -run '^$' -bench . | go run ./tests/bench/charts docs/cost.md
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/tests/bench/report"
)

// comparisons are the units that the page shows, and what they say.
var comparisons = []struct{ unit, file, title string }{
	{"x-native", "native", "Bulkhead's time as a multiple of a native server's"},
	{"x-original", "original", "Bulkhead's time as a multiple of the original program's"},
	{"x-command-line", "command-line", "A command's time in its module as a multiple of the program's"},
}

// The comments around what is generated.
const begin, end = "<!-- charts: begin -->", "<!-- charts: end -->"

func main() { report.Main(run) }

func run(in io.Reader, progress io.Writer, page string) error {
	all, err := report.Parse(io.TeeReader(in, progress))
	if err != nil {
		return err
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
	return report.Replace(page, begin, end, section)
}

// render returns the section of the page, and the files that it names.
func render(all []report.Result) (section string, files map[string]string) {
	files = map[string]string{}
	var b strings.Builder
	fmt.Fprintf(&b, "Made by `just bench` on %s/%s with %d processors.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, c := range comparisons {
		plot := chart.Comparison{ID: c.file, Title: c.title, Description: "The table below has the same numbers.", Reference: 1}
		var table strings.Builder
		for _, r := range all {
			if value, ok := r.Values[c.unit]; ok {
				text := strconv.FormatFloat(value, 'g', 3, 64) + " ×"
				plot.Rows = append(plot.Rows, chart.Bar{Name: r.Name, Value: value, Text: text})
				fmt.Fprintf(&table, "| %s | %s |\n", r.Name, text)
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
