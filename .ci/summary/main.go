// Command summary reads what `go test -json` prints, repeats what failed, and ends with a table of what ran and what was
// left out, with the reasons that tests gave. It exits with 1 if anything failed. Arguments are further rows of the table:
// a name and what became of it, in turn.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// name tells one test from others.
type name struct{ pkg, test string }

func main() {
	output := map[name]*strings.Builder{}
	var failed, skipped []name
	passed, slowest := 0, []event(nil)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Println(lines.Text())
			continue
		}
		n := name{e.Package + e.ImportPath, e.Test}
		switch e.Action {
		case "output", "build-output":
			if output[n] == nil {
				output[n] = &strings.Builder{}
			}
			output[n].WriteString(e.Output)
		case "fail", "build-fail":
			failed = append(failed, n)
		case "skip":
			if e.Test != "" {
				skipped = append(skipped, n)
			}
		case "pass":
			if e.Test == "" {
				slowest = append(slowest, e)
			} else {
				passed++
			}
		}
	}
	for _, n := range failed {
		fmt.Printf("--- FAILED: %s %s\n", n.pkg, n.test)
		if text := output[n]; text != nil {
			fmt.Println(text)
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nran\tseconds")
	slices.SortFunc(slowest, func(a, b event) int { return int(b.Elapsed*1000 - a.Elapsed*1000) })
	for _, e := range slowest[:min(len(slowest), 10)] {
		fmt.Fprintf(table, "%s\t%.0f\n", e.Package, e.Elapsed)
	}
	fmt.Fprintf(table, "%d packages in all\t\n", len(slowest))
	fmt.Fprintln(table, "\nleft out\twhy")
	for _, n := range skipped {
		fmt.Fprintf(table, "%s\t%s\n", n.test, reason(output[n]))
	}
	for i := 1; i+1 < len(os.Args); i += 2 {
		fmt.Fprintf(table, "%s\t%s\n", os.Args[i], os.Args[i+1])
	}
	_ = table.Flush() // standard output that is gone has no reader
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", passed, len(failed), len(skipped))
	if len(failed) > 0 || passed == 0 {
		os.Exit(1)
	}
}

// reason is what a test said when it was skipped.
func reason(output *strings.Builder) string {
	if output == nil {
		return ""
	}
	for line := range strings.Lines(output.String()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			return line
		}
	}
	return ""
}
