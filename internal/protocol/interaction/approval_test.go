package interaction

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

func TestDecisionOf(t *testing.T) {
	for answer, want := range map[string]Decision{
		`{"action":"accept","content":{"approve":true}}`:                    Approved,
		`{"action":"accept","content":{"approve":true,"more":1}}`:           Approved,
		`{"action":"accept","content":{"approve":false}}`:                   Declined,
		`{"action":"accept","content":{"approve":1}}`:                       Declined,
		`{"action":"accept","content":{"approve":"true"}}`:                  Declined,
		`{"action":"accept","content":{"a":{"approve":true}}}`:              Declined,
		`{"action":"accept","content":{}}`:                                  Declined,
		`{"action":"accept","content":null}`:                                Declined,
		`{"action":"accept"}`:                                               Declined,
		`{"action":"decline","content":{"approve":true}}`:                   Declined,
		`{"action":"cancel","content":{"approve":true}}`:                    Cancelled,
		`{"action":"accept","action":"decline","content":{"approve":true}}`: Unasked,
		`{"action":"accept","content":{"approve":true,"Approve":false}}`:    Unasked,
		`{"action":"accept","content":[true]}`:                              Unasked,
		`{"action":"yes"}`:                                                  Unasked,
		`{"error":{"code":-1,"message":"no"}}`:                              Unasked,
		`true`:                                                              Unasked,
	} {
		if got, _ := DecisionOf([]byte(answer)); got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
}

// FuzzDecisionOf checks that encoding/json, which ignores case and takes the last of duplicates, finds an approval in whatever approves.
func FuzzDecisionOf(f *testing.F) {
	f.Add(`{"action":"accept","content":{"approve":true}}`)
	f.Add(`{"action":"accept","content":{"approve":true,"APPROVE":false}}`)
	f.Fuzz(func(t *testing.T, answer string) {
		if !rawjson.Valid([]byte(answer)) {
			return
		}
		var read struct {
			Action  string
			Content struct{ Approve bool }
		}
		d, _ := DecisionOf([]byte(answer))
		if err := json.Unmarshal([]byte(answer), &read); d == Approved && (err != nil || read.Action != "accept" || !read.Content.Approve) {
			t.Errorf("%s is an approval", answer)
		}
	})
}
