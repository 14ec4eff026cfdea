//go:build unix

package main

import (
	"strings"
	"testing"
)

// TestGoroutineDumpContainsNoArgumentValues checks that the dump does not use pprof with debug=2, which prints arguments.
func TestGoroutineDumpContainsNoArgumentValues(t *testing.T) {
	got := string(goroutineDump())
	if !strings.Contains(got, "TestGoroutineDumpContainsNoArgumentValues") || len(got) > maxDump+100 {
		t.Errorf("the dump does not contain the running test, or is too large: %d bytes: %.300s", len(got), got)
	}
	if strings.Contains(got, "(0x") || strings.Contains(got, "({0x") {
		t.Error("the dump contains values of arguments")
	}
}
