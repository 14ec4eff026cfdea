package extism

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const everything = `"client":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}`

func asking(method, members string) *Translation {
	return Translate(complete(V2), call.Request{Method: method, Params: []byte(`{"name":"a"}`), Members: []byte("{" + members + "}")})
}

// onlyRequest returns the id and the request of an ask, which package interaction must accept.
func onlyRequest(t *testing.T, r Reply) (string, abi.ClientRequest) {
	t.Helper()
	var response abi.Response
	if err := json.Unmarshal(r.Response, &response); err != nil || response.Ask == nil || len(response.Ask.Requests) != 1 {
		t.Fatalf("the reply is %+v, which is no ask with one request", r)
	}
	ask, err := json.Marshal(response.Ask)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := interaction.Parse(ask); err != nil {
		t.Errorf("%s: %v", ask, err)
	}
	for id, request := range response.Ask.Requests {
		return id, request
	}
	panic("unreachable")
}

const form = `{"message":"Name?","requestedSchema":{"type":"object","properties":{"n":{"type":"string","title":null},"d":{"type":"string","format":"date_time"}}},"timeout":30}`

func TestElicitationIsAnsweredByReplay(t *testing.T) {
	id, request := onlyRequest(t, asking("tools/call", everything).Host("create_elicitation", []byte(form)))
	const params = `{"message":"Name?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"},"d":{"type":"string","format":"date-time"}}}}`
	if request.Method != abi.MethodElicit || string(request.Params) != params {
		t.Errorf("it asks %s %s", request.Method, request.Params)
	}
	again := asking("tools/call", everything+fmt.Sprintf(`,"answers":{%q:{"action":"accept","content":{"n":"Ada","d":null}}}`, id))
	// A map is encoded in a different order in each run.
	reordered := `{"timeout":30, "requestedSchema":{"properties":{"d":{"format":"date_time","type":"string"},"n":{"type":"string"}},"type":"object"},"message":"Name?"}`
	if got := again.Host("create_elicitation", []byte(reordered)); string(got.Output) != `{"action":"accept","content":{"n":"Ada"}}` {
		t.Errorf("the recorded answer became %+v", got)
	}
	second, _ := onlyRequest(t, again.Host("create_elicitation", []byte(form)))
	if !strings.HasPrefix(second, "1-") || second[2:] != id[2:] {
		t.Errorf("the same request at the second position has the id %s, the first has %s", second, id)
	}
}

func TestReplayThatAsksSomethingElseFails(t *testing.T) {
	id, _ := onlyRequest(t, asking("tools/call", everything).Host("create_elicitation", []byte(form)))
	answers := fmt.Sprintf(`,"answers":{%q:{"action":"accept"}}`, id)
	for function, input := range map[string]string{
		"create_elicitation": strings.Replace(form, "Name?", "Age?", 1),
		"list_roots":         "",
	} {
		if got := asking("tools/call", everything+answers).Host(function, []byte(input)); !strings.Contains(got.Problem, "differs from the one that the client answered") {
			t.Errorf("%s after a different request: %+v", function, got)
		}
	}
}

func TestSamplingAndRootsAreAsked(t *testing.T) {
	const input = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10,"includeContext":"none","tools":[],"toolChoice":{"mode":"auto"},"temperature":null}`
	id, request := onlyRequest(t, asking("prompts/get", `"client":{"sampling":{}}`).Host("create_message", []byte(input)))
	if want := `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}`; request.Method != abi.MethodSample || string(request.Params) != want {
		t.Errorf("a client without tools and context is asked %s %s", request.Method, request.Params)
	}
	_, request = onlyRequest(t, asking("prompts/get", everything).Host("create_message", []byte(input)))
	if !strings.Contains(string(request.Params), `"tools":[]`) || !strings.Contains(string(request.Params), "includeContext") {
		t.Errorf("a client with tools and context is asked %s", request.Params)
	}
	const answer = `{"role":"assistant","content":{"type":"text","text":"yes"},"model":"m"}`
	got := asking("prompts/get", `"client":{"sampling":{}},"answers":{`+fmt.Sprintf("%q:%s", id, answer)+`}`).Host("create_message", []byte(input))
	if string(got.Output) != answer {
		t.Errorf("the recorded message became %+v", got)
	}

	id, request = onlyRequest(t, asking("resources/read", everything).Host("list_roots", nil))
	if request.Method != abi.MethodListRoots {
		t.Errorf("list_roots asks %s", request.Method)
	}
	got = asking("resources/read", everything+fmt.Sprintf(`,"answers":{%q:{"roots":[{"uri":"file:///a","name":null}]}}`, id)).Host("list_roots", nil)
	if string(got.Output) != `{"roots":[{"uri":"file:///a"}]}` {
		t.Errorf("the recorded roots became %+v", got)
	}
}

func TestClientThatCannotBeAsked(t *testing.T) {
	const sample = `{"messages":[],"maxTokens":1}`
	noSample := `{"role":"assistant","content":{"type":"text","text":"` + noSampling + `"},"model":"","stopReason":"error"}`
	url := strings.Replace(form, "{", `{"mode":"url","url":"https://example.com",`, 1)
	for _, c := range []struct{ method, members, function, input, want string }{
		{"tools/call", "", "create_elicitation", form, string(declined(noForm))},
		{"tools/call", `"client":{"elicitation":{"url":{}}}`, "create_elicitation", form, string(declined(noForm))},
		{"tools/call", `"client":{"elicitation":{"form":{}}}`, "create_elicitation", url, string(declined(noURL))},
		{"tools/call", `"client":{"elicitation":{"form":{}}}`, "create_message", sample, noSample},
		{"tools/call", `"client":{"sampling":{}}`, "list_roots", "", `{"roots":[]}`},
		{"prompts/list", everything, "list_roots", "", `{"roots":[]}`},
		{"completion/complete", everything, "create_message", sample, noSample},
	} {
		if got := asking(c.method, c.members).Host(c.function, []byte(c.input)); string(got.Output) != c.want || got.Response != nil {
			t.Errorf("%s with {%s} %s: %s %s, want %s", c.method, c.members, c.function, got.Output, got.Response, c.want)
		}
	}
}

func TestClientThatRefuses(t *testing.T) {
	for function, c := range map[string]struct{ input, want string }{
		"create_elicitation": {form, string(declined("no time"))},
		"create_message":     {`{"messages":[],"maxTokens":1}`, string(stopped("no time"))},
		"list_roots":         {"", `{"roots":[]}`},
	} {
		id, _ := onlyRequest(t, asking("tools/call", everything).Host(function, []byte(c.input)))
		again := asking("tools/call", everything+fmt.Sprintf(`,"answers":{%q:{"error":{"code":-1,"message":"no time"}}}`, id))
		if got := again.Host(function, []byte(c.input)); string(got.Output) != c.want {
			t.Errorf("%s: %s, want %s", function, got.Output, c.want)
		}
	}
}

func TestNotifications(t *testing.T) {
	for function, c := range map[string]struct{ input, want string }{
		"notify_logging_message":       {`{"level":"info","data":{"a":1},"logger":null}`, `{"op":"notify","params":{"method":"notifications/message","params":{"level":"info","data":{"a":1}}}}`},
		"notify_progress":              {`{"progress":0.5,"progressToken":"guessed"}`, `{"op":"notify","params":{"method":"notifications/progress","params":{"progress":0.5}}}`},
		"notify_prompt_list_changed":   {"", `{"op":"notify","params":{"method":"notifications/prompts/list_changed"}}`},
		"notify_resource_list_changed": {"", `{"op":"notify","params":{"method":"notifications/resources/list_changed"}}`},
		"notify_resource_updated":      {`{"uri":"a:b"}`, `{"op":"notify","params":{"method":"notifications/resources/updated","params":{"uri":"a:b"}}}`},
	} {
		got := asking("tools/call", "").Host(function, []byte(c.input))
		if diff := cmp.Diff(Reply{Operation: []byte(c.want)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", function, diff)
		}
	}
}

func TestRefusedFunctions(t *testing.T) {
	for function, output := range map[string]string{
		"get_keyring_secret": "", "get_access_token": "null", "notify_tool_list_changed": "", "notify_url_elicitation_completed": "",
	} {
		got := asking("tools/call", everything).Host(function, []byte(`{"service":"s"}`))
		if string(got.Output) != output || got.Note == "" || got.Operation != nil || got.Response != nil || got.Problem != "" {
			t.Errorf("%s: %+v", function, got)
		}
	}
}

func TestInvalidInputsOfFunctions(t *testing.T) {
	for _, f := range UserFunctions {
		for _, input := range []string{"", "{", "[]", `"text"`, "null"} {
			if !f.Input && input == "" {
				continue
			}
			if got := asking("tools/call", everything).Host(f.Name, []byte(input)); !strings.HasSuffix(got.Problem, "not a JSON object") {
				t.Errorf("%s(%s): %+v", f.Name, input, got)
			}
		}
	}
	deep := `{"message":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}"
	if got := asking("tools/call", everything).Host("create_elicitation", []byte(deep)); !strings.Contains(got.Problem, "too many values") {
		t.Errorf("deeply nested parameters: %+v", got)
	}
	large := `{"message":"` + strings.Repeat("x", abi.MaxAskBytes) + `"}`
	if got := asking("tools/call", everything).Host("create_elicitation", []byte(large)); !strings.Contains(got.Problem, "the limit is") {
		t.Errorf("large parameters: %.80s", got.Problem)
	}
}

// FuzzHost checks that a function has exactly one effect, whatever its input and the recorded answers are.
func FuzzHost(f *testing.F) {
	f.Add(0, []byte(form), []byte(`{"0-ab":{"action":"accept"}}`))
	f.Add(4, []byte(""), []byte(`{"0-ab":null,"-":1,"x":2}`))
	f.Fuzz(func(t *testing.T, n int, input, answers []byte) {
		if !json.Valid(answers) {
			t.Skip()
		}
		function := UserFunctions[(n%len(UserFunctions)+len(UserFunctions))%len(UserFunctions)]
		c := asking("tools/call", everything+`,"answers":`+string(answers))
		for range 2 {
			r := c.Host(function.Name, input)
			effects := 0
			for _, is := range []bool{r.Output != nil, r.Operation != nil, r.Response != nil, r.Problem != ""} {
				if is {
					effects++
				}
			}
			if effects > 1 || function.Value && effects == 0 && r.Note == "" {
				t.Errorf("%s(%q) with %q: %+v", function.Name, input, answers, r)
			}
			if r.Operation != nil && !json.Valid(r.Operation) || r.Response != nil && !json.Valid(r.Response) {
				t.Errorf("%s(%q): %+v is not JSON", function.Name, input, r)
			}
		}
	})
}
