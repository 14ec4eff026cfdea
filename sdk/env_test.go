package sdk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

func TestLookupEnvReportsMissingVariablesInDevelopment(t *testing.T) {
	var lines []string
	imports.SetHost(&imports.Host{Log: func(level int32, line string) { lines = append(lines, fmt.Sprint(level, " ", line)) }})
	t.Cleanup(func() { imports.SetHost(nil) })
	t.Setenv("PRESENT", "")
	read := func() {
		if value, set := sdk.LookupEnv("PRESENT"); value != "" || !set {
			t.Errorf("PRESENT is %q, %v", value, set)
		}
		if value, set := sdk.LookupEnv("MISSING_FOR_TEST"); value != "" || set {
			t.Errorf("MISSING_FOR_TEST is %q, %v", value, set)
		}
	}
	if read(); len(lines) > 0 {
		t.Errorf("logged outside of development: %q", lines)
	}
	t.Setenv("BULKHEAD_DEVELOPMENT", "1")
	read()
	if slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "4 the variable MISSING_FOR_TEST is not set: ") && strings.Contains(line, "--env MISSING_FOR_TEST=VALUE")
	}) != 0 || len(lines) != 1 {
		t.Errorf("logged %q, want one warning about MISSING_FOR_TEST", lines)
	}
}
