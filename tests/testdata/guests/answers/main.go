// Answers is a plugin that answers what its caller chooses, of any form.
package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// chosen are the arguments of all tools.
type chosen struct {
	Ms     int             `json:"ms"`     // to sleep before the answer
	Answer json.RawMessage `json:"answer"` // the response; if absent, a result with the text
	Text   string          `json:"text"`   // repeated
	Times  int             `json:"times"`
	Ask    json.RawMessage `json:"ask"` // questions of the first round
}

// answer returns the response to a request.
func answer(request []byte) []byte {
	if method, _ := rawjson.Unquote(rawjson.Member(request, "method")); method == "bulkhead/describe" {
		return []byte(`{"result":{"tools":["answer","answer_job","answer_write"],"prompts":false,"resources":false,"completions":false}}`)
	}
	params := rawjson.Member(request, "params")
	var c chosen
	if err := json.Unmarshal(rawjson.Member(params, "arguments"), &c); err != nil {
		return []byte(`{"error":{"code":-32602,"message":"the arguments are invalid"}}`)
	}
	time.Sleep(time.Duration(c.Ms) * time.Millisecond)
	switch {
	case c.Ask != nil && rawjson.Member(request, "answers") == nil:
		return append(append([]byte(`{"ask":`), c.Ask...), '}')
	case c.Answer != nil:
		return c.Answer
	}
	text := rawjson.Quote(strings.Repeat(c.Text, max(1, c.Times)))
	return append(append([]byte(`{"result":{"content":[{"type":"text","text":`), text...), `}]}}`...)
}
