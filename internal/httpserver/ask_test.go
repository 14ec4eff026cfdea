package httpserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
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
