package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// TestCopiesOfAuditDependOnSystem reads [audit] as on each system, and as in a ceiling, which must not take the stdout of a host.
func TestCopiesOfAuditDependOnSystem(t *testing.T) {
	inConfig, inCeiling := []string{AuditJournald, AuditSyslog, AuditStdout}, []string{AuditJournald, AuditSyslog}
	for _, c := range []struct {
		system, also string
		allowed      []string
		want         string // the problem; empty: none
	}{
		{"linux", "journald", inConfig, ""},
		{"linux", "syslog", inCeiling, ""},
		{"linux", "stdout", inCeiling, "stdout is not supported here"},
		{"darwin", "syslog", inConfig, "syslog is for Linux"},
		{"windows", "journald", inConfig, "journald is for Linux"},
		{"windows", "stdout", inConfig, ""},
	} {
		doc, _ := tomlfile.Parse("c.toml", []byte("[audit]\nalso = ['"+c.also+"']\n"))
		got := readCopies(doc.Root().Table("audit"), c.system, c.allowed...)
		problems := doc.Problems()
		if c.want == "" && (len(problems) > 0 || !slices.Equal(got, []string{c.also})) {
			t.Errorf("%s, %s: %q, %v", c.system, c.also, got, problems)
		}
		if c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].What, c.want) || problems[0].Remedy == "") {
			t.Errorf("%s, %s: got %v, want %s", c.system, c.also, problems, c.want)
		}
	}
}
