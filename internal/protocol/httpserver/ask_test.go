package httpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

const elicited = `{"action":"accept","content":{"name":"Ann"}}`

// TestLegacyClientIsAsked checks that a call asks on its own stream, and takes the answer from another POST of its session.
func TestLegacyClientIsAsked(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		opened := f.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"c","version":"1"}}}`)
		id, other := opened.header.Get("Mcp-Session-Id"), f.open("2025-11-25")
		e := f.stream(http.MethodPost, legacyCall(1, "ask"), "Mcp-Session-Id", id)
		e.want("2-0", "")
		_, data := e.next()
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(data), &asked); err != nil || asked.Method != "elicitation/create" {
			t.Fatalf("got %s", data)
		}
		reply := `{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":` + elicited + `}`
		f.post(reply, "Mcp-Session-Id", other).want(t, http.StatusAccepted, "") // has no effect
		f.post(reply, "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		_, data = e.next()
		if !strings.Contains(data, `"id":1,"result"`) || !strings.Contains(data, "Ann") {
			t.Errorf("got %s", data)
		}
	})
}

// askedOver opens a session whose client can be asked, posts a body with a call of the tool "ask", and returns the stream after the
// question.
func (f *fixture) askedOver(ctx context.Context, version, body string) (session, question string, e *events) {
	f.t.Helper()
	opened := f.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	session = opened.header.Get("Mcp-Session-Id")
	r, err := f.send(ctx, http.MethodPost, Path, body, "Mcp-Session-Id", session)
	if err != nil {
		f.t.Fatal(err)
	}
	e = &events{f.t, r.Body, bufio.NewReader(r.Body)}
	for {
		id, data := e.next()
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		if id == "" && data == "" {
			f.t.Fatal("the stream ended before the question")
		}
		if json.Unmarshal([]byte(data), &asked) == nil && asked.Method == "elicitation/create" {
			return session, string(asked.ID), e
		}
	}
}

// rest returns the data of the remaining events of a stream.
func (e *events) rest() string {
	all := ""
	for {
		id, data := e.next()
		if id == "" && data == "" {
			return all
		}
		all += data
	}
}

func response(id, member string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + member + `}` }

func TestEndOfQuestion(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		for name, c := range map[string]struct{ member, want string }{
			"declined":                {`"result":{"action":"decline"}`, `{\"action\":\"decline\"}`},
			"refused":                 {`"error":{"code":-1,"message":"no"}`, `{\"error\":{\"code\":-1,\"message\":\"no\"}}`},
			"answered with no result": {`"result":7`, "its answer is invalid: it is not an object"},
		} {
			id, question, e := f.askedOver(t.Context(), "2025-11-25", legacyCall(1, "ask"))
			f.post(response(question, c.member), "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
			if got := e.rest(); !strings.Contains(got, `"id":1,"result"`) || !strings.Contains(got, c.want) {
				t.Errorf("%s: got %s, want %s", name, got, c.want)
			}
			f.post(response(question, c.member), "Mcp-Session-Id", id).want(t, http.StatusAccepted, "") // has no effect
		}

		// The client cancels the call.
		id, question, e := f.askedOver(t.Context(), "2025-11-25", legacyCall(1, "ask"))
		f.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		if got := e.rest(); strings.Contains(got, `"id":1,`) {
			t.Errorf("cancelled: got %s", got)
		}
		f.post(response(question, `"result":`+elicited), "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		f.post(legacyCall(1, "echo"), "Mcp-Session-Id", id).want(t, http.StatusOK, `"id":1,"result"`)

		// The client ends its session.
		id, question, e = f.askedOver(t.Context(), "2025-11-25", legacyCall(1, "ask"))
		f.do(http.MethodDelete, Path, "", "Mcp-Session-Id", id).want(t, http.StatusNoContent, "")
		if got := e.rest(); strings.Contains(got, `"result"`) {
			t.Errorf("end of the session: got %s", got)
		}
		f.post(response(question, `"result":`+elicited), "Mcp-Session-Id", id).want(t, http.StatusNotFound, "")

		// The client does not answer.
		_, question, e = f.askedOver(t.Context(), "2025-11-25", legacyCall(1, "ask"))
		if got := e.rest(); !strings.Contains(got, `"requestId":`+question) || !strings.Contains(got, "did not answer within 1m0s") {
			t.Errorf("no answer: got %s", got)
		}
	})
}

// TestQuestionSurvivesLostConnection checks that a client whose connection is lost can answer, and resume the stream of the call.
func TestQuestionSurvivesLostConnection(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		ctx, lose := context.WithCancel(t.Context())
		id, question, _ := f.askedOver(ctx, "2025-11-25", legacyCall(1, "ask"))
		lose()
		synctest.Wait()
		resumed := f.stream(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", "2-0", "Content-Type", "")
		resumed.want("2-0", "")
		resumed.want("2-1", question)
		f.post(response(question, `"result":`+elicited), "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		if got := resumed.rest(); !strings.Contains(got, `"id":1,"result"`) || !strings.Contains(got, "Ann") {
			t.Errorf("got %s", got)
		}
	})
}

// TestQuestionsOfBatch checks that the calls of a batch ask on its stream, and that a batch can have the answers.
func TestQuestionsOfBatch(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id, question, e := f.askedOver(t.Context(), "2025-03-26", "["+legacyCall(1, "ask")+","+legacyCall(2, "echo")+"]")
		f.post("["+response(question, `"result":`+elicited)+"]", "Mcp-Session-Id", id).want(t, http.StatusAccepted, "")
		if got := e.rest(); !strings.HasPrefix(got, "[") || !strings.Contains(got, `"id":1,"result"`) || !strings.Contains(got, "Ann") || !strings.Contains(got, `"id":2,"result"`) {
			t.Errorf("got %s", got)
		}
	})
}

// TestClientsThatDoNotAnswerDoNotKeepOthersOut checks that calls that wait for answers leave room for other requests.
func TestClientsThatDoNotAnswerDoNotKeepOthersOut(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		answers := make(chan answered, maxRequests)
		for range maxRequests / 64 {
			id := f.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`).header.Get("Mcp-Session-Id")
			for n := range 64 {
				go func() { answers <- f.post(legacyCall(n, "ask"), "Mcp-Session-Id", id) }()
			}
			synctest.Wait()
		}
		body, headers := modernCall("echo", `{}`)
		f.post(body, headers...).want(t, http.StatusOK, "result")
		refused := 0
		for range maxRequests {
			a := <-answers
			if strings.Contains(a.body, "too_many_asks") {
				refused++
			} else if !strings.Contains(a.body, "ask_timeout") {
				t.Errorf("got %d %s", a.status, a.body)
			}
		}
		if refused != maxRequests/2 {
			t.Errorf("%d calls were refused", refused)
		}
		id := f.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`).header.Get("Mcp-Session-Id")
		f.stream(http.MethodPost, legacyCall(1, "ask"), "Mcp-Session-Id", id).want("2-0", "")
	})
}

func TestModernClientIsAsked(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("ask", `{}`)
		f.post(body, headers...).want(t, http.StatusBadRequest, `"code":-32021`)
		body = strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1)
		got := f.post(body, headers...)
		got.want(t, http.StatusOK, `"resultType":"input_required"`)
		var result struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal([]byte(got.body), &result); err != nil || result.Result.RequestState == "" {
			t.Fatalf("got %s", got.body)
		}
		retry := strings.Replace(body, `"arguments":{},`, `"arguments":{},"inputResponses":{"name":`+elicited+`},"requestState":"`+result.Result.RequestState+`",`, 1)
		f.post(retry, headers...).want(t, http.StatusOK, "Ann")
		f.post(strings.Replace(retry, `"arguments":{}`, `"arguments":{"a":1}`, 1), headers...).want(t, http.StatusBadRequest, "-32602")
	})
}

// TestAnswerBelongsToPrincipalAndProject checks that the state of a question is of no use to another principal, or at the endpoint of another
// project.
func TestAnswerBelongsToPrincipalAndProject(t *testing.T) {
	_, tokens, all := named(t, nil)
	accepted := bearer.NewTokens(gateway.TokenHolder)
	accepted.Set("", all)
	views := map[string]*gateway.View{}
	view := func(_ context.Context, project string, _ *call.Principal) (*gateway.View, context.Context, error) {
		return views[project], nil, nil
	}
	run(t, Config{Auth: ofTokens{accepted}, View: view}, func(t *testing.T, f *fixture) {
		other, err := f.g.NewView(gateway.Config{Name: "other", Version: "1"}, f.b, "other")
		if err != nil {
			t.Fatal(err)
		}
		views[""], views["other"] = f.g.View, other
		body, headers := modernCall("ask", `{}`)
		body = strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1)
		as := func(token string) []string { return append(slices.Clone(headers), authorization(token)...) }
		got := f.post(body, as(tokens[0])...)
		var result struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal([]byte(got.body), &result); err != nil || result.Result.RequestState == "" {
			t.Fatalf("got %s", got.body)
		}
		retry := strings.Replace(body, `"arguments":{},`, `"arguments":{},"inputResponses":{"name":`+elicited+`},"requestState":"`+result.Result.RequestState+`",`, 1)
		for _, token := range tokens[1:] {
			f.post(retry, as(token)...).want(t, http.StatusBadRequest, "not valid for this request")
		}
		f.do(http.MethodPost, Path+"/other", retry, as(tokens[0])...).want(t, http.StatusBadRequest, "not valid for this request")
		f.post(retry, as(tokens[0])...).want(t, http.StatusOK, "Ann")
	})
}
