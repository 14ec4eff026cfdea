package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestModernReplacesMetaThatIsNoObject checks results that a worker process which was taken over sends: the host does not check what their
// members are.
func TestModernReplacesMetaThatIsNoObject(t *testing.T) {
	info := serverInfo("n", "v")
	want := `{"resultType":"complete","content":[],"_meta":{` + string(info) + `}}`
	for _, meta := range []string{`5`, `0`, `null`, `true`, `""`, `"},{"`, `[]`, `[1]`, ` 5 `} {
		for _, body := range []string{`{"content":[],"_meta":` + meta + `}`, `{"\u005fmeta":` + meta + `,"content":[]}`} {
			r := call.Result{Body: []byte(body)}
			if why := r.Validate(); why != "" {
				t.Fatalf("%s is refused: %s", body, why)
			}
			if got := string(modern(r, info, false, false)); got != want {
				t.Errorf("%s became\n%s, want\n%s", body, got, want)
			}
		}
	}
}

// TestPrivateResultIsNotForOthers checks that a plugin cannot have a cache give to one client what it answered to another one.
func TestPrivateResultIsNotForOthers(t *testing.T) {
	info := serverInfo("n", "v")
	for body, want := range map[string]string{
		`{"contents":[],"ttlMs":9,"cacheScope":"public"}`:      `"contents":[],"ttlMs":9,"cacheScope":"private"`,
		`{"contents":[],"\u0063acheScope":"public","ttlMs":9}`: `"contents":[],"cacheScope":"private","ttlMs":9`,
		`{"contents":[],"ttlMs":9,"cacheScope":"private"}`:     `"contents":[],"ttlMs":9,"cacheScope":"private"`,
		`{"contents":[],"cacheScope":"public"}`:                listHints + `,"contents":[]`,
	} {
		want = `{"resultType":"complete",` + want + `,"_meta":{` + string(info) + `}}`
		if got := string(modern(call.Result{Body: []byte(body)}, info, true, true)); got != want {
			t.Errorf("%s became\n%s, want\n%s", body, got, want)
		}
		if got := string(modern(call.Result{Body: []byte(body)}, info, true, false)); (got == want) == strings.Contains(body, "public") && strings.Contains(body, "ttlMs") {
			t.Errorf("%s became %s where all clients get the same", body, got)
		}
	}
}

// FuzzCheckToolResult checks that a result that passes, converted for protocol versions from 2026-07-28 on, is valid JSON,
// passes again, and has all of its members.
func FuzzCheckToolResult(f *testing.F) {
	f.Add([]byte(`{"content":[]}`))
	f.Add([]byte(` { "_meta" : { } , "content":[{"type":"text","text":"a\"b"}] } `))
	f.Add([]byte(`{"_meta":{"io.modelcontextprotocol/serverInfo":1},"content":[],"resultType":"complete","_meta":{"a":1}}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"\\","blob":""}}],"\"":[{}]}`))
	info := serverInfo("n\n", "v")
	f.Fuzz(func(t *testing.T, result []byte) {
		if call.Check(abi.MethodToolsCall, result) != "" {
			return
		}
		decorated := modern(call.Result{Body: result}, info, false, false)
		if why := call.Check(abi.MethodToolsCall, decorated); why != "" {
			t.Fatalf("%s\nbecame\n%s\nwhich cannot be read: %s", result, decorated, why)
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(result, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(decorated, &after); err != nil {
			t.Fatal(err)
		}
		for key, value := range before {
			if key != "_meta" && string(after[key]) != string(value) {
				t.Errorf("member %q was %s and became %s", key, value, after[key])
			}
		}
		if after["_meta"] == nil || string(after["resultType"]) != `"complete"` && before["resultType"] == nil {
			t.Errorf("%s has no _meta or no resultType", decorated)
		}
	})
}
