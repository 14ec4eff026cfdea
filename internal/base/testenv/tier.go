package testenv

import (
	"os"
	"testing"
)

// variable selects the last of three tiers of tests, each of which contains those before it:
//
//   - short: `go test -short`, for every change of a package;
//   - normal: `go test`;
//   - all: `BULKHEAD_TESTS=all go test`, which the continuous integration runs.
//
// go test keeps the results of the tiers apart, because tests read the variable.
const variable = "BULKHEAD_TESTS"

// IsAll reports whether all tests run.
func IsAll() bool { return os.Getenv(variable) == "all" }

// All leaves a test out of all tiers but the last: it starts the go command, compiles many modules, or compares thousands of cases.
func All(t testing.TB, why string) {
	t.Helper()
	if !IsAll() {
		t.Skipf("NOT TESTED without %s=all: %s", variable, why)
	}
}

// NotShort leaves a test out of the tier "short".
func NotShort(t testing.TB, why string) {
	t.Helper()
	if testing.Short() && !IsAll() {
		t.Skipf("NOT TESTED with -short: %s", why)
	}
}

// Count returns how many rounds or cases a test has in the current tier.
func Count(short, normal, all int) int {
	switch {
	case IsAll():
		return all
	case testing.Short():
		return short
	}
	return normal
}
