//go:build unix

package tests

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPromisesNameExistingTests detects names of renamed or deleted tests in docs/security.md.
func TestSecurityPromisesNameExistingTests(t *testing.T) {
	describeCall := regexp.MustCompile("`([^`]+_test\\.go)` ((?:Test|Fuzz)\\w+(?:, (?:Test|Fuzz)\\w+)*)")
	tests := 0
	for line := range strings.Lines(readFile(t, filepath.Join("..", "docs", "security.md"))) {
		for _, m := range describeCall.FindAllStringSubmatch(line, -1) {
			source := readFile(t, filepath.Join("..", m[1]))
			for name := range strings.SplitSeq(m[2], ", ") {
				if tests++; !strings.Contains(source, "\nfunc "+name+"(") {
					t.Errorf("%s has no %s, which docs/security.md names: %.100s", m[1], name, line)
				}
			}
		}
	}
	if tests < 80 {
		t.Errorf("found only %d test names in docs/security.md: did its format change?", tests)
	}
}
