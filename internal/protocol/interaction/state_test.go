package interaction

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

var now = time.UnixMilli(1_000_000)

func TestSealer(t *testing.T) {
	s := NewSealer()
	want := State{
		Round: 3, Plugin: "notes@1", Asked: map[string]Kind{"q": Roots}, Module: "<&>",
		Answers: map[string]json.RawMessage{"a": json.RawMessage(`{"n":9007199254740993,"t":"<"}`)}, Expires: now.UnixMilli() + 1,
	}
	token, err := s.Seal(want, []byte("binding"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Open(token, []byte("binding"), now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if other, _ := s.Seal(want, []byte("binding")); other == token {
		t.Error("two tokens are equal")
	}
	if _, err := s.Open(token, []byte("binding"), now.Add(time.Millisecond)); !errors.Is(err, ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	for name, open := range map[string]func() (State, error){
		"another binding": func() (State, error) { return s.Open(token, []byte("other"), now) },
		"another server":  func() (State, error) { return NewSealer().Open(token, []byte("binding"), now) },
		"nothing":         func() (State, error) { return s.Open("", []byte("binding"), now) },
		"too much":        func() (State, error) { return s.Open(strings.Repeat("A", maxToken+1), []byte("binding"), now) },
		"padding":         func() (State, error) { return s.Open(token+"=", []byte("binding"), now) },
		"a line break":    func() (State, error) { return s.Open(token[:9]+"\n"+token[9:], []byte("binding"), now) },
		"the end is cut":  func() (State, error) { return s.Open(token[:len(token)-1], []byte("binding"), now) },
	} {
		if got, err := open(); !errors.Is(err, errToken) || got.Plugin != "" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Servers that share a key open each other's states, while one of the keys that encrypted is among theirs; a state with an approval is for the
// Sealer that made it.
func TestSharedKeys(t *testing.T) {
	sealer := func(secrets ...string) *Sealer {
		s := NewSealer()
		s.Share(secrets)
		return s
	}
	state := State{Plugin: "notes@1", Expires: now.UnixMilli() + 1}
	approved := state
	approved.Approval = (&Approval{Shown: []byte("text"), Decision: Approved}).Sealed()
	first := sealer("a", "b")
	for name, c := range map[string]struct {
		opener *Sealer
		state  State
		ok     bool
	}{
		"the same":                    {first, state, true},
		"the same keys":               {sealer("a", "b"), state, true},
		"the key that encrypts":       {sealer("c", "a"), state, true},
		"a key that does not encrypt": {sealer("b"), state, false},
		"no shared key":               {NewSealer(), state, false},
		"keys that were removed":      {sealer(), state, false},
		"an approval":                 {sealer("a", "b"), approved, false},
		"an approval at its server":   {first, approved, true},
	} {
		token, err := first.Seal(c.state, []byte("binding"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.opener.Open(token, []byte("binding"), now); (err == nil) != c.ok || !c.ok && (!errors.Is(err, errToken) || got.Plugin != "") {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if _, err := c.opener.Open(token, []byte("other"), now); !errors.Is(err, errToken) {
			t.Errorf("%s, with another binding: got %v", name, err)
		}
	}
	// A holder of the shared key could make a state with an approval, which no server accepts.
	key := *first.shared.Load()
	forged := base64.RawURLEncoding.EncodeToString(key[0].Seal([]byte{byShared}, nil, []byte(`{"plugin":"notes@1","approval":{"id":"x","shown":"","decision":"approved"},"expires":9000000000000000}`), nil))
	if _, err := first.Open(forged, nil, now); !errors.Is(err, errToken) {
		t.Errorf("an approval with the shared key: got %v", err)
	}
}

// TestSealLargest checks that a State at the bounds of package abi can be sealed and opened, however it is encoded.
func TestSealLargest(t *testing.T) {
	s := NewSealer()
	state := State{Module: strings.Repeat("\x01", abi.MaxAskState), Asked: map[string]Kind{}, Expires: now.UnixMilli() + 1,
		Answers: map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("x", abi.MaxAskAnswers-3) + `"`)}}
	for i := range abi.MaxAskRequests {
		state.Asked[strings.Repeat(string(rune('a'+i)), abi.MaxAskID)] = Elicitation
	}
	token, err := s.Seal(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(token, nil, now); err != nil {
		t.Fatal(err)
	}
}

func TestBind(t *testing.T) {
	bind := func(params string) string { return string(Bind("local", "tools/call", "t", []byte(params))) }
	const base = `{"name":"t","arguments":{"a":[1,{"b":"é"}],"c":null}}`
	for _, same := range []string{
		`{"arguments": {"c": null, "a": [1, {"b": "\u00e9"}]}, "name": "t"}`,
		`{"name":"t","arguments":{"a":[1,{"b":"é"}],"c":null},"_meta":{"progressToken":1},"inputResponses":{},"requestState":"x"}`,
	} {
		if bind(same) != bind(base) {
			t.Errorf("%s has a different binding", same)
		}
	}
	for _, other := range []string{
		`{"name":"t","arguments":{"a":[1,{"b":"é"}]}}`,
		`{"name":"t","arguments":{"a":[{"b":"é"},1],"c":null}}`,
		`{"name":"t","arguments":{"a":[1,{"b":"é"}],"c":"null"}}`,
		`{"name":"t","arguments":{"a":["1",{"b":"é"}],"c":null}}`,
		`{"name":"t","arguments":{"a":[1,{"b":"é"}],"c":null,"_meta":1}}`,
		`{"name":"t","arguments":{"a":[[1],{"b":"é"}],"c":null}}`,
		`{}`,
	} {
		if bind(other) == bind(base) {
			t.Errorf("%s has the same binding", other)
		}
	}
	// The last of duplicate members is the one that most modules use.
	if bind(`{"arguments":{"a":1,"a":2}}`) == bind(`{"arguments":{"a":2,"a":1}}`) {
		t.Error("the order of duplicate members does not count")
	}
	fields := func(principal, method, name string) string { return string(Bind(principal, method, name, nil)) }
	if fields("a", "b", "c") == fields("ab", "", "c") || fields("a", "b", "c") == fields("x", "b", "c") || bind(`{}`) == string(Bind("local", "tools/call", "t", nil)) {
		t.Error("different requests have the same binding")
	}
}

// TestBindLargeParams checks that a request cannot make Bind take many times the request's size in memory.
func TestBindLargeParams(t *testing.T) {
	bind := func(params string) string { return string(Bind("local", "tools/call", "t", []byte(params))) }
	for name, params := range map[string]string{
		"elements": `{"arguments":{"a":[` + strings.Repeat("0,", 1<<20) + `0]}}`,
		"members":  `{"arguments":{` + strings.Repeat(`"a":0,`, 1<<18) + `"a":0}}`,
		"params":   `{` + strings.Repeat(`"a":0,`, 1<<18) + `"a":0}`,
		"nesting":  `{"arguments":` + strings.Repeat("[", 1<<16) + strings.Repeat("]", 1<<16) + `}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		bound := bind(params)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(16*len(params)) {
			t.Errorf("%s: the digest of %d bytes took %d bytes", name, len(params), used)
		}
		if bind(`{"requestState":"x",`+params[1:]) != bound || bind(`{"_meta":{},`+params[1:]) != bound {
			t.Errorf("%s: a further round has a different binding", name)
		}
		if bind(`{"more":1,`+params[1:]) == bound {
			t.Errorf("%s: a different request has the same binding", name)
		}
	}
}

// FuzzOpen checks that Open accepts nothing that Seal has not made, whatever a client makes of a token, and that a token is
// opened with its own binding only.
func FuzzOpen(f *testing.F) {
	s := NewSealer()
	state := State{Plugin: "p", Expires: now.UnixMilli() + 1}
	genuine, err := s.Seal(state, []byte("b"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("", "b", 0, byte(0))
	f.Add("AQ", "b", 1, byte(1))
	f.Add(strings.Repeat("A", 200), "b", 5, byte(0x80))
	f.Add("AQ"+strings.Repeat("_", 100), "", 40, byte(7))
	f.Fuzz(func(t *testing.T, token, binding string, at int, flip byte) {
		if got, err := s.Open(token, []byte(binding), now); err == nil && token != genuine || err != nil && (got.Plugin != "" || got.Answers != nil) {
			t.Fatalf("Open(%q): %v, %v", token, got, err)
		}
		changed := []byte(genuine)
		changed[uint(at)%uint(len(changed))] ^= flip
		got, err := s.Open(string(changed), []byte(binding), now)
		if accepted := err == nil; accepted != (flip == 0 && binding == "b") {
			t.Fatalf("a token changed by %d at %d with the binding %q: %v, %v", flip, at, binding, got, err)
		}
	})
}

// FuzzParse checks that a valid ask stays within the bounds of package abi.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"state":"x"}`, `{"requests":{"q":{"method":"roots/list"}}}`, form(`{"type":"object","properties":{}}`), sampling(`{"messages":[],"maxTokens":1}`)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		ask, err := Parse(raw)
		if err != nil {
			return
		}
		if len(ask.Requests) > abi.MaxAskRequests || len(ask.State) > abi.MaxAskState {
			t.Fatalf("exceeds the bounds: %d requests, %d bytes of state", len(ask.Requests), len(ask.State))
		}
		for _, r := range ask.Requests {
			var params map[string]json.RawMessage
			if err := json.Unmarshal(r.Params, &params); err != nil {
				t.Fatalf("params are no object: %s", r.Params)
			}
			if r.Needs == (Client{}) || r.ID == "" || len(r.ID) > abi.MaxAskID {
				t.Fatalf("request %+v", r)
			}
		}
	})
}
