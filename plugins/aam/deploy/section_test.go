package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// markerCase is a recorded edit of a file with sections. A nil text means that the file does not exist.
type markerCase struct {
	Before    *string `json:"before"`
	Operation string  `json:"operation"`
	Name      string  `json:"name"`
	Content   string  `json:"content"`
	After     *string `json:"after"`
}

func TestSections(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "sections.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []markerCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	checkMarkers(t, cases)
}

func TestRecordedSections(t *testing.T) {
	var cases []markerCase
	realdata.Recorded(t, "marker-cases.json", &cases)
	checkMarkers(t, cases)
}

func checkMarkers(t *testing.T, cases []markerCase) {
	if len(cases) == 0 {
		t.Fatal("the recorded cases are missing")
	}
	for i, c := range cases {
		before, present := "", c.Before != nil
		if present {
			before = *c.Before
		}
		m, got := marksOf(manifest.Instruction, c.Name), ""
		if c.Operation == "deploy" {
			got = m.put(before, present, c.Content)
		} else {
			got = m.cut(before)
		}
		want := ""
		if c.After != nil {
			want = *c.After
		}
		if got != want {
			t.Errorf("case %d, %s in %q: got %q, want %q", i, c.Operation, before, got, want)
		}
	}
}

// TestSectionMarkersInWrongOrder has an end marker before the begin marker. As the aam program does, put then appends a
// second section. Later calls of put replace that section, and cut removes it.
func TestSectionMarkersInWrongOrder(t *testing.T) {
	m := marksOf(manifest.Instruction, "a")
	first := m.put(m.end+"\nmid\n"+m.begin+"\n", true, "new")
	if got, want := m.put(first, true, "newer"), strings.Replace(first, "new\n", "newer\n", 1); got != want {
		t.Errorf("second put: got %q, want %q", got, want)
	}
	if got := m.cut(first); strings.Contains(got, "new") || !strings.Contains(got, "mid") {
		t.Errorf("cut returned %q", got)
	}
}

// FuzzSections checks that cutting a section that put has added restores the user's lines.
func FuzzSections(f *testing.F) {
	f.Add("# Mine\r\n\r\ntext", "body\n")
	f.Add("", "")
	f.Add("<!-- BEGIN AAM: a agent -->\nx\n<!-- END AAM: a agent -->\n", "b")
	f.Fuzz(func(t *testing.T, text, body string) {
		m := marksOf(manifest.Agent, "a")
		if HasMarks(body) {
			t.Skip("a body with markers is refused")
		}
		if strings.Contains(text, m.begin) || strings.Contains(text, m.end) {
			t.Skip("the text already contains a marker")
		}
		with := m.put(text, true, body)
		if begin, end, ok := m.find(with); !ok || end < begin {
			t.Fatalf("put returned %q", with)
		}
		if again := m.put(with, true, body); m.cut(again) != m.cut(with) {
			t.Errorf("the first put returned %q, the second put %q", with, again)
		}
		if got := m.cut(with); strings.TrimSpace(got) != strings.TrimSpace(text) {
			t.Errorf("cut returned %q for %q", got, text)
		}
	})
}
