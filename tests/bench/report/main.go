package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Main is the main function of a command that reads what `go test -bench` prints from stdin, and writes the page that its argument names. update writes
// the page; what it prints besides goes to progress.
func Main(update func(in io.Reader, progress io.Writer, page string) error) {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: %s PAGE.md < OUTPUT-OF-BENCHMARKS\n", filepath.Base(os.Args[0]))
		os.Exit(2)
	}
	if err := update(os.Stdin, os.Stderr, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
