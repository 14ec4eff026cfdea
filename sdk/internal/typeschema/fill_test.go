package typeschema_test

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/internal/typeschema"
)

type member struct {
	Parent *member   `json:"-"`
	Peers  []*member `json:"-"`
	Kids   []*member
	Next   *member `json:",omitempty"`
	Tags   []string
	Notes  []string       `json:",omitzero"`
	Extra  map[string]int `json:",omitempty,omitzero"`
}

// TestFillVisitsEachValueOnce checks that values which refer to each other are filled, without a visit for each of the paths to them.
func TestFillVisitsEachValueOnce(t *testing.T) {
	root := &member{}
	for range 3 {
		kid := &member{Parent: root}
		root.Kids = append(root.Kids, kid)
		kid.Peers = root.Kids
	}
	typeschema.Fill(&root)
	text, err := json.Marshal(root)
	const kid = `{"Kids":[],"Tags":[]}`
	if want := `{"Kids":[` + kid + "," + kid + "," + kid + `],"Tags":[]}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}

	a, b := &member{}, &member{}
	a.Kids, a.Next, b.Kids, b.Next = []*member{a, b}, b, []*member{b, a}, a
	typeschema.Fill(a)
	if _, err := json.Marshal(a); err == nil || a.Tags == nil || b.Tags == nil {
		t.Errorf("a cycle: %v; the tags are %v and %v", err, a.Tags, b.Tags)
	}
}
