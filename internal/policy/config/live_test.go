package config

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

func TestLiveStateIsOffByDefault(t *testing.T) {
	for _, c := range []struct {
		system, line string
		want         bool
		problem      string // empty: none
	}{
		{"linux", "", false, ""}, {"linux", "live = true", true, ""}, {"darwin", "live = false", false, ""}, {"windows", "live = false", false, ""},
		{"windows", "live = true", false, "other systems than Windows"}, {"linux", "live = \"yes\"", false, "not true or false"},
	} {
		doc, _ := tomlfile.Parse("c.toml", []byte("[audit]\n"+c.line+"\n"))
		got := readLive(doc.Root().Table("audit"), c.system)
		problems := doc.Problems()
		if got != c.want || (c.problem == "") != (len(problems) == 0) || c.problem != "" && !strings.Contains(problems[0].What, c.problem) {
			t.Errorf("%s, %s: %t, %v", c.system, c.line, got, problems)
		}
	}
	on, off := &Audit{File: "/a", Live: true}, &Audit{File: "/a"}
	if !on.SameLog(off) || on.Equal(off) || (*Audit)(nil).HasLiveState() {
		t.Error("the live state is a part of the log, or of no comparison")
	}
}

// TestCeilingForbidsLiveState also checks that a ceiling adds none.
func TestCeilingForbidsLiveState(t *testing.T) {
	for text, want := range map[string]bool{"[audit]\nlive = false\n": false, "[audit]\nlive = true\n": true, "": true} {
		c, problems := ParseCeiling("/ceiling.toml", []byte(text))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		asked := &Audit{Live: true}
		if got := c.NarrowAudit(asked).HasLiveState(); got != want || !asked.Live {
			t.Errorf("%q: the live state is offered: %v", text, got)
		}
		if c.NarrowAudit(&Audit{}).HasLiveState() {
			t.Errorf("%q offers a live state that the config does not", text)
		}
	}
}
