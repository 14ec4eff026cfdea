// Package report reads what `go test -bench` prints, and writes pages of the documentation that show it.
package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Result is one benchmark.
type Result struct {
	Name   string             // without "Benchmark" and the number of processors: Call, reused, 64 at once
	Values map[string]float64 // by unit
}

// Parse reads the lines of benchmarks. It fails if one has failed.
func Parse(in io.Reader) ([]Result, error) {
	var all []Result
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
		r := Result{Name: nameOf(fields[0]), Values: map[string]float64{}}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q is no number in: %s", fields[i], lines.Text())
			}
			r.Values[fields[i+1]] = value
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

// Replace writes section between the comments begin and end of a page.
func Replace(page, begin, end, section string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	from, to := bytes.Index(text, []byte(begin)), bytes.Index(text, []byte(end))
	if from < 0 || to < from {
		return fmt.Errorf("%s has no lines %s and %s", page, begin, end)
	}
	return os.WriteFile(page, slices.Concat(text[:from], []byte(begin+"\n"+section), text[to:]), 0o644)
}
