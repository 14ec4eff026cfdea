package code

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// maxReport bounds the report of a child's confinement, in bytes.
const maxReport = 64 << 10

// writeReport sends the report of the child's confinement to the host, on the standard output. The host then sends the module, if
// the confinement suffices.
func writeReport(report confine.Report) error { return json.NewEncoder(os.Stdout).Encode(report) }

// readReport reads what writeReport sends, and checks it. It returns io.EOF if the child ended without a report.
func readReport(stdout io.Reader, check func(confine.Report) error) error {
	var report confine.Report
	if err := json.NewDecoder(io.LimitReader(stdout, maxReport)).Decode(&report); errors.Is(err, io.EOF) {
		return io.EOF
	} else if err != nil {
		return fmt.Errorf("it reports its confinement in an unknown form: %w", err)
	}
	return check(report)
}
